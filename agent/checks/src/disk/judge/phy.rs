//! Ends of SAS links: errors that come too fast are an Event; whether a disk suffers from them, its own state shows.

use nodewell_faults::message;

use super::assessment::Assessment;
use crate::disk::{
    baseline::{Baseline, LinkErrors, ReadTime},
    reading::PhyReading,
};

pub(super) fn assess(phy: &PhyReading, baseline: &mut Baseline, moment: ReadTime, found: &mut Assessment) {
    let errors = baseline.link_errors(phy, moment);
    if errors.is_empty() {
        return;
    }
    let figure = |errors: &LinkErrors| {
        let LinkErrors { counter, count, limit } = errors;
        message("SasLinkErrors/figure", &[("counter", counter), ("count", count), ("limit", limit)])
    };
    let counters: Vec<String> = errors.iter().map(figure).collect();
    let rate = phy.rate.as_deref().unwrap_or_default();
    found.own_event("SasLinkErrors", &[("counters", &counters.join(", ")), ("rate", &rate)]);
}
