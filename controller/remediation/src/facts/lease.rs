//! A Lease, and when this controller saw it renewed.

use std::time::Duration;

use jiff::Timestamp;

use super::kubelet;
use crate::time::Moment;

/// A node's Lease (the kubelet's in `kube-node-lease`, our agent's in `nodewell`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseView {
    /// Empty where none is known.
    pub resource_version: String,
    pub holder: String,
    /// `renewTime`, by the holder's clock: it shows only whether the Lease was renewed, not when.
    pub renewed: Option<Timestamp>,
    /// `leaseDurationSeconds`.
    pub duration: Duration,
    /// When this controller last saw `renewTime` change, or first saw the Lease, by its own clock.
    pub change_seen_at: Moment,
}

impl LeaseView {
    /// For how long this controller has seen no renewal. After a start of the controller it is shorter than the truth, never
    /// longer.
    #[must_use]
    pub fn stale_for(&self, now: Moment) -> Duration {
        now.since(self.change_seen_at)
    }

    /// A kubelet that renewed within this, two intervals, is alive.
    #[must_use]
    pub fn alive_within(&self) -> Duration {
        (self.duration / 2).max(kubelet::ALIVE_WITHIN)
    }
}
