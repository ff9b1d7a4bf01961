//! What `plan` and `kubectl describe` show of each node: what would be done now, or why nothing is.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    api::fence::{Blocker, Phase},
    facts::Node,
    guard::life::{self, Life},
    snapshot::Snapshot,
    time::Moment,
};

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeReport {
    pub node: String,
    /// The policy whose predicate is true of it and that has the say, or that opened its record.
    pub policy: Option<String>,
    /// Other policies whose predicates are true of it as well. They decide nothing while that one does.
    pub also: Vec<String>,
    pub phase: Option<Phase>,
    /// What is done, or would be if nothing blocked it: `cordon`, `drain`, `powerCycle`, `restore`.
    pub next: Option<String>,
    /// It is healthy again: when it is given back, if it stays so. No step is next until then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restored_at: Option<Timestamp>,
    /// Everything that speaks against it, not only the first.
    pub blockers: Vec<Blocker>,
    /// Predicates that could not be judged: policy and error.
    pub errors: Vec<(String, String)>,
}

impl NodeReport {
    /// What a person looks for first: what is done at once, what is under way, what only waits, what cannot be judged.
    #[must_use]
    pub fn urgency(&self) -> u8 {
        match (&self.next, self.blockers.is_empty(), self.phase) {
            (Some(_), true, _) => 0,
            (_, false, Some(_)) => 1,
            (_, true, Some(_)) => 2,
            (Some(_), false, None) => 3,
            (None, false, None) => 4,
            (None, true, None) if !self.errors.is_empty() => 5,
            (None, true, None) if self.policy.is_some() => 6,
            (None, true, None) => 7,
        }
    }

    /// Whether there is anything to report of the node.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.urgency() == 7
    }
}

/// Whether the node has died: it is not Ready, and its kubelet has not renewed its Lease for as long as the Lease lasts.
#[must_use]
pub fn is_dead(snapshot: &Snapshot, node: &Node, now: Moment) -> bool {
    life::of(snapshot, node, now) == Life::Dead
}
