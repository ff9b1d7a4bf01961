//! What one leader leaves to the next.

use std::collections::BTreeMap;

use super::Memory;
pub use crate::guard::history::{CountedPods, Cycles, Handover, forget_evicted, moment as cycle_moment};
use crate::{
    guard::{history::History, storm::StormState},
    snapshot::{PodSource, Snapshot},
    time::Now,
};

impl Memory {
    /// What the next leader has to know, in case there is one.
    #[must_use]
    pub fn handover(&self, snapshot: &Snapshot, now: Now) -> Handover {
        let storms = self.storms.iter().map(|(policy, state)| (policy.clone(), state.handover(now.moment)));
        self.history.handover(snapshot, now).with_storms(storms.collect())
    }

    /// Pods that count for the rates of their policies, as this decision counted them.
    #[must_use]
    pub fn counted_pods(&self, snapshot: &Snapshot, now: Now) -> BTreeMap<PodSource, CountedPods> {
        self.history.counted_pods(snapshot, now.moment)
    }

    /// As the leader before left it.
    #[must_use]
    pub fn inherited(handover: &Handover, now: Now) -> Self {
        let storms = handover.storms.iter();
        let storms = storms.map(|(policy, past)| (policy.clone(), StormState::inherited(past, now.moment))).collect();
        Self { history: History::inherited(handover, now), storms, ..Self::default() }
    }

    /// And what this replica saw itself: power cycles, by node, of records that are gone.
    #[must_use]
    pub fn with_cycles(mut self, cycles: &BTreeMap<String, Cycles>) -> Self {
        self.history.remember_departed(cycles);
        self
    }
}
