//! What one leader leaves to the next, on its way between the loop, which knows it, and the Lease, which carries it.

use std::time::Duration;

use nodewell_remediation::decide::{Handover, MovedPods};

use super::Cache;

/// The one that was found with the Lease, and the one that goes with its next renewal.
#[derive(Debug, Default)]
pub(super) struct Handovers {
    found: Handover,
    saved: Option<Handover>,
    /// The one that the Lease has.
    written: Handover,
}

impl Cache {
    /// A term begins: what the leader before left, `elapsed` before now at least.
    pub(crate) fn inherit(&self, found: Handover, elapsed: Duration) {
        self.lock().handovers = Handovers { found: found.aged(elapsed), ..Handovers::default() };
    }

    /// The Lease has it, so that the next leader knows of it.
    pub(crate) fn handed_over(&self, handover: Handover) {
        self.lock().handovers.written = handover;
    }

    /// The next leader would know that pods of this node were moved for this policy. An entry that is merged from many nodes may
    /// be this one's.
    pub(crate) fn is_handed_over(&self, policy: &str, node: &str) -> bool {
        let handovers = &self.lock().handovers;
        let is_it = |moved: &MovedPods| moved.policy == policy && (moved.node == node || moved.node.is_empty());
        handovers.written.moved_pods().iter().any(is_it)
    }

    /// What the leader before left.
    pub(crate) fn inherited(&self) -> Handover {
        self.lock().handovers.found.clone()
    }

    /// What would be left if this term ended now.
    pub(crate) fn leave(&self, handover: Handover) {
        self.lock().handovers.saved = Some(handover);
    }

    /// Pods of other nodes that the last decision counted for this policy's rate. Entries that are merged from many nodes are left
    /// out: this one's may be among them, and would hold it up for ever.
    pub(crate) fn moved_elsewhere(&self, policy: &str, node: &str) -> usize {
        let handovers = &self.lock().handovers;
        let counted = handovers.saved.as_ref().map(Handover::moved_pods).unwrap_or_default();
        let elsewhere =
            counted.iter().filter(|moved| moved.policy == policy && !moved.node.is_empty() && moved.node != node);
        elsewhere.fold(0, |sum, moved| sum.saturating_add(moved.pods))
    }

    /// The same, for who writes it; nothing before this term has decided anything.
    pub(crate) fn left(&self) -> Option<Handover> {
        self.lock().handovers.saved.clone()
    }
}
