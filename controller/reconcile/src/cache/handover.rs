//! What one leader leaves to the next, on its way between the loop, which knows it, and the Lease, which carries it.

use std::{collections::BTreeMap, time::Duration};

use nodewell_remediation::{
    decide::{CountedPods, Handover},
    snapshot::PodSource,
    time::Moment,
};

use super::Cache;

/// The one that was found with the Lease, and the one that goes with its next renewal.
#[derive(Debug, Default)]
pub(super) struct Handovers {
    found: Handover,
    next: Option<Decided>,
    /// When that was decided which the Lease has.
    in_lease: Option<Moment>,
}

/// What a decision leaves.
#[derive(Debug, Clone)]
pub(crate) struct Decided {
    pub(crate) at: Moment,
    pub(crate) handover: Handover,
    /// Pods that count for the rates.
    pub(crate) pods: BTreeMap<PodSource, CountedPods>,
}

impl Cache {
    /// A term begins: what the leader before left, `elapsed` before now at least; it may have acted for `unseen` of
    /// that.
    pub(crate) fn inherit(&self, found: Handover, elapsed: Duration, unseen: Duration) {
        self.lock().handovers = Handovers { found: found.aged(elapsed, unseen), ..Handovers::default() };
    }

    /// What the leader before left.
    pub(crate) fn inherited(&self) -> Handover {
        self.lock().handovers.found.clone()
    }

    /// What would be left if this term ended now.
    pub(crate) fn leave(&self, decided: Decided) {
        self.lock().handovers.next = Some(decided);
    }

    /// When that was decided, and what, for who writes it; nothing before this term has decided anything.
    pub(crate) fn left(&self) -> Option<(Moment, Handover)> {
        self.lock().handovers.next.as_ref().map(|next| (next.at, next.handover.clone()))
    }

    /// The Lease has what was decided then, so that the next leader knows of it.
    pub(crate) fn wrote_handover(&self, decided: Moment) {
        self.lock().handovers.in_lease = Some(decided);
    }

    /// When the last decision was made, and whether the next leader would know of it.
    pub(crate) fn decided_at(&self) -> Option<Moment> {
        self.lock().handovers.next.as_ref().map(|next| next.at)
    }

    pub(crate) fn is_in_lease(&self, decided: Option<Moment>) -> bool {
        let in_lease = self.lock().handovers.in_lease;
        decided.zip(in_lease).is_some_and(|(decided, in_lease)| in_lease >= decided)
    }

    /// Pods that the last decision counted for this policy's rate, but for those that a drain of this node evicted or
    /// awaits: it knows them better. Of drains that were begun later it does not hold the room that they wait for free:
    /// where a person lowers the rate each would wait for the other.
    pub(crate) fn pods_beside(&self, of: &PodSource) -> usize {
        let handovers = &self.lock().handovers;
        let Some(next) = &handovers.next else { return 0 };
        let own = next.pods.get(of).and_then(|pods| Some((pods.draining_since?, of)));
        let is_later = |other: &PodSource, pods: &CountedPods| {
            let other = pods.draining_since.map(|since| (since, other));
            own.zip(other).is_some_and(|(own, other)| own < other)
        };
        let beside = next.pods.iter().filter(|(other, _)| other.policy == of.policy).map(|(other, pods)| match other {
            other if other == of => pods.released,
            other if is_later(other, pods) => pods.moved(),
            _ => pods.sum(),
        });
        beside.fold(0, usize::saturating_add)
    }
}
