//! Whether kubelets were out of hearing a moment ago. After the API server was away each takes its time to be heard,
//! and the node lifecycle controller may call it Unknown meanwhile, as soon as the API server is back.
//!
//! What shows it is that the watch of their Leases was broken for a while, or that a Lease moves after most did not: the
//! kubelet beside an API server may have been heard all the time. A bookmark shows nothing, and where no kubelet lives no
//! Lease moves: there nothing is waited for. A controller that begins has heard none: it may begin together with the API
//! server, on a host that was rebooted.

use std::{collections::BTreeMap, time::Duration};

use nodewell_remediation::{
    facts::{LeaseView, kubelet},
    snapshot::Absence,
    time::Moment,
};

/// A watch that is opened again sooner missed no renewal for long.
const BROKEN: Duration = Duration::from_secs(5);
/// One way may be back before another, as by a load balancer: so long the beginning may be postponed.
const POSTPONED: Duration = Duration::from_secs(30);
/// Of a watch that breaks all the time, or kubelets that renew seldom, the next one counts later: a dead node has its turn.
/// One that was long took that turn itself.
const LEAST_INTERVAL: Duration = Duration::from_secs(120);
const LONG_BROKEN: Duration = Duration::from_secs(20);

#[derive(Debug, Default)]
pub(super) struct Renewals {
    /// Since when there is no complete watch.
    broken: Option<Moment>,
    /// They were listed once.
    has_begun: bool,
    last: Option<Absence>,
    /// When the last one was first seen to be over. Nothing for the beginning, after which each counts.
    noticed: Option<Moment>,
}

impl Renewals {
    /// A list is asked for, or the watch broke.
    pub(super) fn miss(&mut self, now: Moment) {
        self.broken.get_or_insert(now);
    }

    pub(super) fn listed(&mut self, now: Moment) {
        let Some(since) = self.broken.take() else { return };
        let (lasted, absence) = (now.since(since), Absence { since, until: now });
        if !std::mem::replace(&mut self.has_begun, true) {
            // What was listed is no renewal.
            self.last = Some(Absence { since: now, ..absence });
        } else if lasted > BROKEN {
            self.hear_again(absence, lasted >= LONG_BROKEN);
        }
    }

    /// The Lease of `node` is stored, and stood like this `before`.
    pub(super) fn apply(&mut self, node: &str, before: &LeaseView, leases: &BTreeMap<String, LeaseView>, now: Moment) {
        let Some(lease) = leases.get(node).filter(|lease| lease.renewed != before.renewed) else { return };
        if now.since(before.change_seen_at) <= lease.alive_within() {
            return;
        }
        let others = leases.iter().filter(|(name, _)| *name != node).map(|(_, other)| other);
        if let Some(since) = most_silent_since(before.change_seen_at, others, now) {
            let is_long = now.since(since) >= lease.duration.max(kubelet::LEASE_DURATION) * 3 / 4;
            self.hear_again(Absence { since, until: now }, is_long);
        }
    }

    fn hear_again(&mut self, absence: Absence, is_long: bool) {
        let before = self.last.zip(self.noticed).map(|(last, noticed)| (last.since, absence.until.since(noticed)));
        let since = match before {
            Some((since, elapsed)) if elapsed < POSTPONED => since.min(absence.since),
            Some((_, elapsed)) if elapsed < LEAST_INTERVAL && !is_long => return,
            _ => {
                self.noticed = Some(absence.until);
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

/// Whether most that lived when this one fell silent have been silent too; when the last of them was heard.
fn most_silent_since<'a>(
    fell_silent: Moment,
    others: impl Iterator<Item = &'a LeaseView>,
    now: Moment,
) -> Option<Moment> {
    let (mut silent, mut speaking, mut since) = (1, 0, fell_silent);
    for other in others.filter(|other| fell_silent.since(other.change_seen_at) <= other.alive_within()) {
        match other.stale_for(now) > other.alive_within() {
            true => (silent, since) = (silent + 1, since.max(other.change_seen_at)),
            false => speaking += 1,
        }
    }
    (silent > speaking).then_some(since)
}

#[cfg(test)]
mod tests;
