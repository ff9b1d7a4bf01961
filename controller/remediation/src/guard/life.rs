//! Whether a kubelet lives on a node, by what no other client can report for it: its own Lease, and Ready beside it.

use super::stage::{DisruptionLevel, is_under_way};
use crate::{
    facts::{LeaseView, Node, kubelet},
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
    if lease.is_some_and(|lease| lease.stale_for(now) <= kubelet::LATE) {
        Life::Lives
    } else if node.is_not_ready() && lease.is_some_and(|lease| is_over(lease, now)) {
        Life::Dead
    } else if node.is_ready() && !is_powered(snapshot, &node.name) {
        Life::Lives
    } else {
        Life::Unknown
    }
}

/// Not renewed for as long as it lasts. A shorter Lease would not make silence mean more.
pub(crate) fn is_over(lease: &LeaseView, now: Moment) -> bool {
    lease.stale_for(now) >= lease.duration.max(kubelet::LEASE)
}

/// We turn it off or on just now: its silence is not news, and Ready will follow.
fn is_powered(snapshot: &Snapshot, name: &str) -> bool {
    snapshot.fences.get(name).is_some_and(|fence| is_under_way(fence, DisruptionLevel::Power))
}
