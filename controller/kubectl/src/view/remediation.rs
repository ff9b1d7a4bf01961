//! What the controller does about nodes: by their records, and by what it decides where there is none yet.

use jiff::Timestamp;
use nodewell_remediation::{
    api::fence::{Blocker, Phase},
    node_report::NodeReport,
};
use serde::Serialize;

use super::{controller, words};
use crate::facts::{Facts, RecordFacts};

/// One node that is under remediation, or would be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RemediationView {
    pub(crate) node: String,
    /// Empty if a person asked for it.
    pub(crate) policy: String,
    /// Nothing where there is no record: only what would be done is known then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) phase: Option<Phase>,
    /// The phase in plain words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) doing: Option<&'static str>,
    /// When this phase was entered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) since: Option<Timestamp>,
    /// When the record was opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) opened: Option<Timestamp>,
    /// What the policy was true of.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) cause: String,
    /// The step that comes next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
    /// The node is healthy again: when it is given back, if it stays so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) restored_at: Option<Timestamp>,
    /// Everything that speaks against it.
    pub(crate) blocked_by: Vec<Blocker>,
    /// A person has it stopped.
    pub(crate) aborted: bool,
    /// Pods that could not be evicted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) refused_evictions: Vec<String>,
    /// How many pods were released.
    pub(crate) released: u32,
}

impl RemediationView {
    fn of_record(record: &RecordFacts, decided: Option<&NodeReport>) -> Self {
        let (spec, status) = (&record.fence.spec, &record.fence.status);
        let stored = || status.blocked_by.clone();
        Self {
            node: record.node().to_owned(),
            policy: spec.policy.clone(),
            phase: Some(status.phase),
            doing: Some(words::phase(status.phase)),
            since: status.since,
            opened: record.begun(),
            cause: spec.cause.clone(),
            next: decided.and_then(|decided| decided.next.clone()),
            restored_at: decided.and_then(|decided| decided.restored_at),
            // What the leader decides now is no older than what it has stored.
            blocked_by: decided.map_or_else(stored, |decided| decided.blockers.clone()),
            aborted: spec.abort,
            refused_evictions: status.drain.iter().flat_map(|drain| drain.refused_evictions.clone()).collect(),
            released: status.released,
        }
    }

    fn of_decision(decided: &NodeReport) -> Self {
        Self {
            node: decided.node.clone(),
            policy: decided.policy.clone().unwrap_or_default(),
            phase: None,
            doing: None,
            since: None,
            opened: None,
            cause: String::new(),
            next: decided.next.clone(),
            restored_at: decided.restored_at,
            blocked_by: decided.blockers.clone(),
            aborted: false,
            refused_evictions: Vec::new(),
            released: 0,
        }
    }
}

/// Of one node.
pub(crate) fn of(facts: &Facts, node: &str, now: Timestamp) -> Option<RemediationView> {
    let decided = controller::decision(facts, node, now);
    match facts.open_record(node) {
        Some(record) => Some(RemediationView::of_record(record, decided)),
        None => decided.filter(|decided| is_worth_showing(decided)).map(RemediationView::of_decision),
    }
}

/// Of all nodes that were read: records first, the oldest on top, then what would be done.
pub(crate) fn all(facts: &Facts, now: Timestamp) -> Vec<RemediationView> {
    let mut all: Vec<RemediationView> = facts.nodes.iter().filter_map(|node| of(facts, &node.name, now)).collect();
    all.sort_by(|a, b| (a.phase.is_none(), a.opened, &a.node).cmp(&(b.phase.is_none(), b.opened, &b.node)));
    all
}

/// A policy whose predicate is true, with a step or a reason why there is none.
fn is_worth_showing(decided: &NodeReport) -> bool {
    decided.next.is_some() || !decided.blockers.is_empty()
}
