//! What this program decided and did, and how long it took.

use nodewell_metrics::{
    Exposition,
    MetricType::{Counter, Histogram},
};
use nodewell_reconcile::cache::{self, Acts, Cache};

/// What cannot be undone.
const ALERTED: [&str; 4] = ["power_off", "power_on", "release", "reap"];
const ENDS: [&str; 4] = ["done", "refused", "in_doubt", "timeout"];

pub(super) fn show(page: &mut Exposition, cache: &Cache) {
    activity(page, cache);
    spans(page, cache);
}

fn activity(page: &mut Exposition, cache: &Cache) {
    let counters = cache.activity_counters();
    const DECISIONS: &str = "Decisions of the whole cluster, in seconds.";
    let decisions = page.metric("nodewell_controller_decision_duration_seconds", Histogram, DECISIONS);
    histogram(decisions, &[], &counters.decisions);
    page.metric("nodewell_controller_actions_total", Counter, "Actions of this program, by kind and outcome.");
    // An increase from nothing is none to Prometheus, and the first of these is worth an alert.
    let unseen = ALERTED.iter().flat_map(|action| ENDS.iter().map(|outcome| ((*action, *outcome), 0)));
    let acts: Acts = unseen.chain(counters.acts).collect();
    for ((action, outcome), count) in &acts {
        page.sample(&[("action", action), ("outcome", outcome)], *count);
    }
    const ACTIONS: &str = "Actions of this program by kind, in seconds until their end was known.";
    page.metric("nodewell_controller_action_duration_seconds", Histogram, ACTIONS);
    for (action, seconds) in &counters.act_seconds {
        histogram(page, &[("action", action)], seconds);
    }
    const READS: &str = "Answers to the question whether a machine is on; unknown is none, or neither.";
    page.metric("nodewell_controller_power_reads_total", Counter, READS);
    for state in ["on", "off", "unknown"] {
        page.sample(&[("state", state)], counters.power_reads.get(state).copied().unwrap_or_default());
    }
}

/// A name for each span, so that the help names what ends it.
fn spans(page: &mut Exposition, cache: &Cache) {
    let spans = cache.spans();
    const CORDONED: &str = "Seconds from a policy being true of a node to the node being cordoned.";
    histogram(page.metric("nodewell_controller_cause_to_cordoned_seconds", Histogram, CORDONED), &[], &spans.cordoned);
    const OFF: &str = "Seconds from a policy being true of a node to its power being confirmed off.";
    histogram(page.metric("nodewell_controller_cause_to_off_seconds", Histogram, OFF), &[], &spans.off);
    const RELEASED: &str = "Seconds from a policy being true of a node to its pods being released.";
    histogram(page.metric("nodewell_controller_cause_to_released_seconds", Histogram, RELEASED), &[], &spans.released);
}

fn histogram(page: &mut Exposition, labels: &[(&str, &str)], values: &cache::Histogram) {
    page.histogram(labels, values.buckets(), values.sum(), values.count());
}
