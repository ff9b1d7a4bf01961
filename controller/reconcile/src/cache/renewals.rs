//! Whether kubelets were out of hearing a moment ago. After the API server was away each takes its time to be heard,
//! and the node lifecycle controller may call it Unknown meanwhile, as soon as the API server is back.
//!
//! What shows it is that the watch of their Leases was broken for a while, or that a Lease moves after none did. A
//! bookmark shows nothing, and where no kubelet lives none moves: there nothing is waited for.

use std::time::Duration;

use nodewell_remediation::{
    facts::{LeaseView, kubelet},
    snapshot::Absence,
    time::Moment,
};

/// A watch that is opened again sooner missed no renewal for long.
const BROKEN: Duration = Duration::from_secs(5);
/// Every kubelet renews every 10 s: two rounds without a renewal of any of them are our own deafness, or the kubelets'.
const STILL: Duration = Duration::from_secs(20);
/// One way may be back before another, as by a load balancer: so long the beginning may be postponed.
const POSTPONED: Duration = Duration::from_secs(30);
/// Of a watch that breaks all the time, or kubelets that renew seldom, the next one counts later: a dead node has its turn.
/// One that was long took that turn itself.
const LEAST_INTERVAL: Duration = Duration::from_secs(120);
const LONG_BROKEN: Duration = Duration::from_secs(20);
const LONG_STILL: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub(super) struct Renewals {
    /// Since when there is no complete watch.
    broken: Option<Moment>,
    /// When a Lease was last seen to move.
    moved: Option<Moment>,
    last: Option<Absence>,
    /// When the last one was first seen to be over.
    noticed: Moment,
}

impl Renewals {
    /// A list is asked for, or the watch broke.
    pub(super) fn miss(&mut self, now: Moment) {
        self.broken.get_or_insert(now);
    }

    pub(super) fn listed(&mut self, now: Moment) {
        let Some(since) = self.broken.take() else { return };
        let lasted = now.since(since);
        if lasted > BROKEN {
            self.hear_again(Absence { since, until: now }, lasted >= LONG_BROKEN);
        }
    }

    pub(super) fn apply(&mut self, before: Option<&LeaseView>, lease: &LeaseView, now: Moment) {
        if before.is_none_or(|before| before.renewed == lease.renewed) {
            return;
        }
        let since = self.moved.replace(now).unwrap_or(now);
        let lasted = now.since(since);
        if lasted > STILL {
            self.hear_again(Absence { since, until: now }, lasted >= LONG_STILL);
        }
    }

    fn hear_again(&mut self, absence: Absence, is_long: bool) {
        let before = self.last.map(|last| (last.since, absence.until.since(self.noticed)));
        let since = match before {
            Some((since, elapsed)) if elapsed < POSTPONED => since.min(absence.since),
            Some((_, elapsed)) if elapsed < LEAST_INTERVAL && !is_long => return,
            _ => {
                self.noticed = absence.until;
                absence.since
            }
        };
        self.last = Some(Absence { since, ..absence });
    }

    /// The last one, if it has not been over for long.
    pub(super) fn absence(&self, now: Moment) -> Option<Absence> {
        self.last.filter(|last| now.since(last.until) < kubelet::REPORTS_AGAIN_WITHIN)
    }
}

#[cfg(test)]
mod tests;
