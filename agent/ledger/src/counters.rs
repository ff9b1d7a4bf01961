//! What metrics show: counters that only grow, and a gauge for each reason of a condition.

use std::collections::BTreeMap;

use nodewell_model::Name;

/// Node Problem Detector's two metrics, and our own losses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counters {
    /// `problem_counter`: how many records reported it, for each reason, events and conditions alike.
    pub raised: BTreeMap<Name, u64>,
    /// `problem_gauge`: every reason that has held a condition since it was loaded.
    pub gauges: Vec<Gauge>,
    /// Events that no exporter took in time.
    pub events_dropped: u64,
}

/// One `problem_gauge{type, reason}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gauge {
    pub condition: Name,
    pub reason: Name,
    pub active: bool,
}

/// Counts a reason; past `limit` reasons the rest shares one counter, so that names from outside cannot grow it. Returns
/// whose counter it was.
pub(crate) fn count(totals: &mut BTreeMap<Name, u64>, reason: &Name, records: u64, limit: usize) -> Name {
    let known = totals.contains_key(reason) || totals.len() < limit;
    let name = if known { reason.clone() } else { Name::fixed("Others") };
    let total = totals.entry(name.clone()).or_default();
    *total = total.saturating_add(records);
    name
}
