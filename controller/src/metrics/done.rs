//! What this program decided and did, and how long it took.

use nodewell_reconcile::cache::{Acts, Cache};

use super::page::{Kind, Page};

/// What cannot be undone.
const ALERTED: [&str; 4] = ["power_off", "power_on", "release", "reap"];
const ENDS: [&str; 4] = ["done", "refused", "in_doubt", "timeout"];

pub(super) fn show(page: &mut Page, cache: &Cache) {
    activity(page, cache);
    spans(page, cache);
}

fn activity(page: &mut Page, cache: &Cache) {
    let counters = cache.activity_counters();
    const DECISIONS: &str = "Decisions of the whole cluster, in seconds.";
    page.metric("nodewell_controller_decision_duration_seconds", Kind::Histogram, DECISIONS)
        .histogram(&[], &counters.decisions);
    page.metric("nodewell_controller_actions_total", Kind::Counter, "Actions of this program, by kind and outcome.");
    // An increase from nothing is none to Prometheus, and the first of these is worth an alert.
    let unseen = ALERTED.iter().flat_map(|action| ENDS.iter().map(|outcome| ((*action, *outcome), 0)));
    let acts: Acts = unseen.chain(counters.acts).collect();
    for ((action, outcome), count) in &acts {
        page.sample(&[("action", action), ("outcome", outcome)], *count);
    }
    const ACTIONS: &str = "Actions of this program by kind, in seconds until their end was known.";
    page.metric("nodewell_controller_action_duration_seconds", Kind::Histogram, ACTIONS);
    for (action, seconds) in &counters.act_seconds {
        page.histogram(&[("action", action)], seconds);
    }
    const READS: &str = "Answers to the question whether a machine is on; unknown is none, or neither.";
    page.metric("nodewell_controller_power_reads_total", Kind::Counter, READS);
    for state in ["on", "off", "unknown"] {
        page.sample(&[("state", state)], counters.power_reads.get(state).copied().unwrap_or_default());
    }
}

/// A name for each span, so that the help names what ends it.
fn spans(page: &mut Page, cache: &Cache) {
    let spans = cache.spans();
    const CORDONED: &str = "Seconds from a policy being true of a node to the node being cordoned.";
    page.metric("nodewell_controller_cause_to_cordoned_seconds", Kind::Histogram, CORDONED)
        .histogram(&[], &spans.cordoned);
    const OFF: &str = "Seconds from a policy being true of a node to its power being confirmed off.";
    page.metric("nodewell_controller_cause_to_off_seconds", Kind::Histogram, OFF).histogram(&[], &spans.off);
    const RELEASED: &str = "Seconds from a policy being true of a node to its pods being released.";
    page.metric("nodewell_controller_cause_to_released_seconds", Kind::Histogram, RELEASED)
        .histogram(&[], &spans.released);
}
