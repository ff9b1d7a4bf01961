//! What this program decided and did, and how long it took.

use nodewell_metrics::Exposition;
use nodewell_reconcile::cache::{self, Acts, Cache};

use super::table;

/// What cannot be undone.
const ALERTED: [&str; 4] = ["power_off", "power_on", "release", "reap"];
const ENDS: [&str; 4] = ["done", "refused", "in_doubt", "timeout"];

pub(super) fn show(page: &mut Exposition, cache: &Cache) {
    activity(page, cache);
    spans(page, cache);
}

fn activity(page: &mut Exposition, cache: &Cache) {
    let counters = cache.activity_counters();
    histogram(page.metric(&table::DECISION_DURATION), &[], &counters.decisions);
    page.metric(&table::ACTIONS);
    // An increase from nothing is none to Prometheus, and the first of these is worth an alert.
    let unseen = ALERTED.iter().flat_map(|action| ENDS.iter().map(|outcome| ((*action, *outcome), 0)));
    let acts: Acts = unseen.chain(counters.acts).collect();
    for ((action, outcome), count) in &acts {
        page.sample(&[("action", action), ("outcome", outcome)], *count);
    }
    page.metric(&table::ACTION_DURATION);
    for (action, seconds) in &counters.act_seconds {
        histogram(page, &[("action", action)], seconds);
    }
    page.metric(&table::POWER_READS);
    for state in ["on", "off", "unknown"] {
        page.sample(&[("state", state)], counters.power_reads.get(state).copied().unwrap_or_default());
    }
}

/// A name for each span, so that the help names what ends it.
fn spans(page: &mut Exposition, cache: &Cache) {
    let spans = cache.spans();
    histogram(page.metric(&table::CAUSE_TO_CORDONED), &[], &spans.cordoned);
    histogram(page.metric(&table::CAUSE_TO_OFF), &[], &spans.off);
    histogram(page.metric(&table::CAUSE_TO_RELEASED), &[], &spans.released);
}

fn histogram(page: &mut Exposition, labels: &[(&str, &str)], values: &cache::Histogram) {
    page.histogram(labels, values.buckets(), values.sum(), values.count());
}
