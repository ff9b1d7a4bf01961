//! What one leader leaves to the next.

use std::collections::BTreeMap;

use super::Memory;
pub use crate::guard::history::{Cycles, Ledger, moment as cycle_moment};
use crate::{
    guard::{history::History, storm::StormState},
    snapshot::Snapshot,
    time::Now,
};

impl Memory {
    /// What the next leader has to know, in case there is one.
    #[must_use]
    pub fn ledger(&self, snapshot: &Snapshot, now: Now) -> Ledger {
        let storms = self.storms.iter().map(|(policy, state)| (policy.clone(), state.past(now.moment)));
        self.history.ledger(snapshot, now).with_storms(storms.collect())
    }

    /// As the leader before left it.
    #[must_use]
    pub fn inherited(ledger: &Ledger, now: Now) -> Self {
        let storms = ledger.storms.iter();
        let storms = storms.map(|(policy, past)| (policy.clone(), StormState::inherited(past, now.moment))).collect();
        Self { history: History::inherited(ledger, now), storms, ..Self::default() }
    }

    /// And what this replica saw itself: power cycles, by node, of records that are gone.
    #[must_use]
    pub fn with_cycles(mut self, cycles: &BTreeMap<String, Cycles>) -> Self {
        self.history.remember_departed(cycles);
        self
    }
}
