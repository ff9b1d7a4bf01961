//! Whether a kubelet lives on a node, by what no other client can report for it: its own Lease, and Ready beside it.

use std::time::Duration;

use super::stage::{DisruptionLevel, is_under_way};
use crate::{
    facts::{ConditionStatus, LeaseView, Node, kubelet},
    snapshot::Snapshot,
    time::Moment,
};

/// What is known of a node's kubelet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Life {
    /// It renews its Lease, or it is Ready; what it reports of itself may be a lie.
    Lives,
    /// Neither alive nor dead for certain. It takes a slot among the dead, and gets none of theirs.
    Unknown,
    /// The Lease was not renewed for as long as it lasts, and Ready is there and not True.
    Dead,
}

/// Of a node without a Lease, or without Ready, nothing proves that it is dead.
pub(crate) fn of(snapshot: &Snapshot, node: &Node, now: Moment) -> Life {
    let lease = snapshot.kubelet_leases.get(&node.name);
    if lease.is_some_and(|lease| lease.stale_for(now) <= kubelet::OVERDUE_AFTER) {
        Life::Lives
    } else if node.is_not_ready() && lease.is_some_and(|lease| has_expired(lease, now)) {
        Life::Dead
    } else if node.is_ready() && !is_power_act_under_way(snapshot, &node.name) {
        Life::Lives
    } else {
        Life::Unknown
    }
}

/// How long a kubelet that was out of hearing may still be late.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Late {
    pub(crate) time: Duration,
    /// It has renewed since, and Ready is Unknown still.
    pub(crate) renews: bool,
}

/// First it may not have had the time to renew, unless it was silent before all were, and what is known of one that has just
/// renewed may be of before. Then, while it renews, Ready may be Unknown still. Where its Lease or Ready is not known, either
/// may be so.
pub(crate) fn late_for(snapshot: &Snapshot, name: &str, now: Moment) -> Option<Late> {
    let absence = snapshot.host.absence?;
    let lease = snapshot.kubelet_leases.get(name);
    let renews =
        |lease: &LeaseView| lease.change_seen_at >= absence.since && lease.stale_for(now) < lease.alive_within();
    let was_silent = lease.is_some_and(|lease| lease.stale_for(absence.since) > lease.alive_within());
    let ready = snapshot.nodes.get(name).and_then(|node| node.condition("Ready"));
    let is_unknown = ready.is_none_or(|ready| ready.status == ConditionStatus::Unknown);
    let within = match () {
        () if lease.is_none_or(renews) && is_unknown => kubelet::REPORTS_AGAIN_WITHIN,
        () if was_silent => return None,
        () => kubelet::RENEWS_AGAIN_WITHIN,
    };
    let time = within.checked_sub(now.since(absence.until)).filter(|left| !left.is_zero())?;
    Some(Late { time, renews: lease.is_some_and(renews) })
}

/// Not renewed for as long as it lasts. A Lease shorter than the kubelet's usual 40 s counts as one of 40 s: its silence
/// proves no more.
pub(crate) fn has_expired(lease: &LeaseView, now: Moment) -> bool {
    lease.stale_for(now) >= lease.duration.max(kubelet::LEASE_DURATION)
}

/// The controller itself is turning it off or on, or its provider replaces it: that it is silent proves nothing.
fn is_power_act_under_way(snapshot: &Snapshot, name: &str) -> bool {
    snapshot.fences.get(name).is_some_and(|fence| is_under_way(fence, DisruptionLevel::Power))
}
