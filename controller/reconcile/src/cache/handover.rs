//! What one leader leaves to the next, on its way between the loop, which knows it, and the Lease, which carries it.

use std::time::Duration;

use nodewell_remediation::decide::Handover;

use super::Cache;

/// The one that was found with the Lease, and the one that goes with its next renewal.
#[derive(Debug, Default)]
pub(super) struct Handovers {
    found: Handover,
    saved: Option<Handover>,
}

impl Cache {
    /// A term begins: what the leader before left, `elapsed` before now at least.
    pub(crate) fn inherit(&self, found: Handover, elapsed: Duration) {
        self.lock().handovers = Handovers { found: found.aged(elapsed), saved: None };
    }

    /// What the leader before left.
    pub(crate) fn inherited(&self) -> Handover {
        self.lock().handovers.found.clone()
    }

    /// What would be left if this term ended now.
    pub(crate) fn leave(&self, handover: Handover) {
        self.lock().handovers.saved = Some(handover);
    }

    /// The same, for who writes it; nothing before this term has decided anything.
    pub(crate) fn left(&self) -> Option<Handover> {
        self.lock().handovers.saved.clone()
    }
}
