//! How long the leader may still act: an agent process must not outlive it.

use nodewell_remediation::time::Moment;
use tokio::sync::watch;

/// Moves on as the leader's Lease is renewed; a closed channel or a moment that has passed ends what hangs on it.
#[derive(Debug, Clone)]
pub struct LeaseDeadline {
    pub epoch: u64,
    until: watch::Receiver<Moment>,
}

impl LeaseDeadline {
    #[must_use]
    pub fn new(epoch: u64, until: watch::Receiver<Moment>) -> Self {
        Self { epoch, until }
    }

    /// The last moment at which something of this term may run.
    #[must_use]
    pub fn until(&self) -> Moment {
        *self.until.borrow()
    }

    #[must_use]
    pub fn is_ahead(&self, now: Moment) -> bool {
        now < self.until() && self.until.has_changed().is_ok()
    }

    /// Waits until `until` moves; false when the term is over for good.
    pub async fn moved(&mut self) -> bool {
        self.until.changed().await.is_ok()
    }
}
