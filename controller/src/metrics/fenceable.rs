//! Whether nodes could be fenced, as their condition `FenceReady` reports.

use std::collections::BTreeMap;

use nodewell_metrics::Exposition;
use nodewell_remediation::{
    facts::{Condition, ConditionStatus},
    snapshot::Snapshot,
};

use super::table;

const CONDITION: &str = "FenceReady";
/// The reasons that the leader writes; any client may write a condition, and none of theirs makes a series.
const REASONS: [&str; 7] =
    ["FenceReady", "FenceNotReady", "IdentityUnproven", "NoAnswer", "NoMethods", "ReadsOff", "SupplyOff"];
const OTHER: &str = "Other";
/// Of so many nodes the names are shown. Where it is more, the cause is none of a node.
const NAMED: usize = 100;

pub(super) fn show(page: &mut Exposition, snapshot: &Snapshot) {
    let all = || snapshot.nodes.values().filter_map(|node| Some((&node.name, node.condition(CONDITION)?)));
    let mut counts: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for (_, condition) in all() {
        *counts.entry((status(condition), reason(condition))).or_default() += 1;
    }
    page.metric(&table::FENCE_READY_NODES);
    for ((status, reason), count) in counts {
        page.sample(&[("status", status), ("reason", reason)], count);
    }
    page.metric(&table::UNFENCEABLE);
    for (node, condition) in all().filter(|(_, condition)| condition.status == ConditionStatus::False).take(NAMED) {
        page.sample(&[("node", node), ("reason", reason(condition))], 1);
    }
}

fn status(condition: &Condition) -> &'static str {
    match condition.status {
        ConditionStatus::True => "True",
        ConditionStatus::False => "False",
        ConditionStatus::Unknown => "Unknown",
    }
}

fn reason(condition: &Condition) -> &'static str {
    REASONS.into_iter().find(|known| *known == condition.reason).unwrap_or(OTHER)
}
