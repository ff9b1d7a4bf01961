//! Whether kubelets were out of hearing a moment ago. After the API server was away each takes its time to be heard,
//! and the node lifecycle controller may call it Unknown meanwhile, as soon as the API server is back.
//!
//! What shows it is that the watch of their Leases was broken for a while, or that a Lease moves after none did. A
//! bookmark shows nothing, and where no kubelet lives none moves: there nothing is waited for.

use std::time::Duration;

use nodewell_remediation::{
    facts::{LeaseView, kubelet},
    time::Moment,
};

/// A watch that is opened again sooner missed no renewal for long.
const BROKEN: Duration = Duration::from_secs(5);
/// Every kubelet renews every 10 s: two rounds without a renewal of any of them are our own deafness, or the kubelets'.
const STILL: Duration = Duration::from_secs(20);
/// One way may be back before another, as by a load balancer: so long the beginning may be postponed.
const POSTPONED: Duration = Duration::from_secs(30);
/// Of a watch that breaks all the time, or kubelets that renew seldom, no longer wait is made: a dead node has its
/// turn.
const LEAST_INTERVAL: Duration = Duration::from_secs(120);

#[derive(Debug, Default)]
pub(super) struct Renewals {
    /// Since when there is no complete watch.
    broken: Option<Moment>,
    /// When a Lease was last seen to move.
    moved: Option<Moment>,
    absence: Option<Absence>,
}

/// The last one.
#[derive(Debug, Clone, Copy)]
struct Absence {
    /// When it was first seen to be over.
    noticed: Moment,
    /// Since when all kubelets can be heard, as far as is known.
    over: Moment,
}

impl Renewals {
    /// A list is asked for, or the watch broke.
    pub(super) fn miss(&mut self, now: Moment) {
        self.broken.get_or_insert(now);
    }

    pub(super) fn listed(&mut self, now: Moment) {
        if self.broken.take().is_some_and(|since| now.since(since) > BROKEN) {
            self.hear_again(now);
        }
    }

    pub(super) fn apply(&mut self, before: Option<&LeaseView>, lease: &LeaseView, now: Moment) {
        if before.is_none_or(|before| before.renewed == lease.renewed) {
            return;
        }
        if self.moved.is_some_and(|moved| now.since(moved) > STILL) {
            self.hear_again(now);
        }
        self.moved = Some(now);
    }

    fn hear_again(&mut self, now: Moment) {
        let noticed = match self.absence {
            Some(Absence { noticed, .. }) if now.since(noticed) < POSTPONED => noticed,
            Some(Absence { noticed, .. }) if now.since(noticed) < LEAST_INTERVAL => return,
            _ => now,
        };
        self.absence = Some(Absence { noticed, over: now });
    }

    /// Since when kubelets are heard again, if that is not long ago.
    pub(super) fn heard_again(&self, now: Moment) -> Option<Moment> {
        self.absence.map(|absence| absence.over).filter(|over| now.since(*over) < kubelet::REPORTS_AGAIN_WITHIN)
    }
}

#[cfg(test)]
mod tests;
