//! What one leader leaves to the next, on its way between the loop, which knows it, and the Lease, which carries it.

use std::time::Duration;

use nodewell_remediation::decide::Ledger;

use super::Cache;

/// The one that was found with the Lease, and the one that goes with its next renewal.
#[derive(Debug, Default)]
pub(super) struct Ledgers {
    found: Ledger,
    saved: Option<Ledger>,
}

impl Cache {
    /// A term begins: what the leader before left, `elapsed` before now at least.
    pub(crate) fn inherit(&self, found: Ledger, elapsed: Duration) {
        self.lock().ledgers = Ledgers { found: found.aged(elapsed), saved: None };
    }

    /// What the leader before left.
    pub(crate) fn inherited(&self) -> Ledger {
        self.lock().ledgers.found.clone()
    }

    /// What would be left if this term ended now.
    pub(crate) fn leave(&self, ledger: Ledger) {
        self.lock().ledgers.saved = Some(ledger);
    }

    /// The same, for who writes it; nothing before this term has decided anything.
    pub(crate) fn left(&self) -> Option<Ledger> {
        self.lock().ledgers.saved.clone()
    }
}
