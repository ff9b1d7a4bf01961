//! A Lease, and when we saw it move.

use std::time::Duration;

use jiff::Timestamp;

use crate::time::Moment;

/// A node's Lease (the kubelet's in `kube-node-lease`, our agent's in `nodewell`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseView {
    /// Empty where none is known.
    pub resource_version: String,
    pub holder: String,
    /// `renewTime`, by the holder's clock: only its changes mean anything to us.
    pub renewed: Option<Timestamp>,
    /// `leaseDurationSeconds`.
    pub duration: Duration,
    /// When we last saw `renewTime` change, or first saw the Lease.
    pub seen: Moment,
}

impl LeaseView {
    /// For how long this process has seen no renewal. Shorter than the truth after a start of ours, never longer.
    #[must_use]
    pub fn stale_for(&self, now: Moment) -> Duration {
        now.since(self.seen)
    }
}
