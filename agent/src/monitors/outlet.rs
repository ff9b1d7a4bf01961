//! The way from every monitor to the ledger: one bounded channel of findings, gaps and the monitors' own states.

use std::sync::Arc;

use nodewell_ledger::{DaemonReport, Gap};
use nodewell_model::Finding;
use tokio::sync::mpsc;

/// What a monitor tells the ledger.
#[derive(Debug)]
pub enum Report {
    Finding(Box<Finding>),
    /// Records of this monitor's source were lost.
    Gap(Gap),
    /// How the monitor itself is.
    Daemon(Box<DaemonReport>),
    /// This monitor exists no longer (its rules were reloaded away).
    Retired(Arc<str>),
}

/// How many reports may wait for the ledger. Findings are merged before they wait, so this is many floods' worth.
const CHANNEL_LIMIT: usize = 1024;

/// The monitors' end of the channel.
#[derive(Debug, Clone)]
pub struct Outlet(mpsc::Sender<Report>);

impl Outlet {
    /// The channel; the receiver belongs to the ledger task.
    #[must_use]
    pub fn channel() -> (Self, mpsc::Receiver<Report>) {
        let (sender, receiver) = mpsc::channel(CHANNEL_LIMIT);
        (Self(sender), receiver)
    }

    /// From a thread: waits while the ledger is behind. An agent that is shutting down has no ledger any more, and
    /// then there is nobody to tell.
    pub fn send(&self, report: Report) {
        let _ = self.0.blocking_send(report);
    }

    /// From a thread: `false` if the channel has no room for `wanted` reports right now.
    #[must_use]
    pub fn has_room(&self, wanted: usize) -> bool {
        self.0.capacity() >= wanted
    }

    /// From a task.
    pub async fn tell(&self, report: Report) {
        let _ = self.0.send(report).await;
    }
}
