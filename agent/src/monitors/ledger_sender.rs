//! The way from every monitor to the ledger: one bounded channel of findings, gaps and the monitors' own states.

mod room;

use std::sync::Arc;

use nodewell_ledger::{DaemonReport, Gap};
use nodewell_model::{Finding, Origin};
use tokio::sync::{mpsc, oneshot};

use room::{Permit, Room};

/// What a monitor sends to the ledger.
#[derive(Debug)]
pub enum Report {
    Finding(Box<Finding>),
    /// What a log showed, and how far it was read for that: saved together or not at all.
    Found(Found),
    /// Records of this monitor's source were lost.
    Gap(Gap),
    /// How the monitor itself is.
    Daemon(Box<DaemonReport>),
    /// This monitor exists no longer (its rules were reloaded away).
    Retired(Arc<str>),
    /// The ledger has received everything that was sent before once this is answered.
    Drained(oneshot::Sender<()>),
}

/// Findings of one log and the cursors of the records that they are from.
#[derive(Debug)]
pub struct Found {
    pub findings: Vec<Finding>,
    pub log: Arc<str>,
    /// The newest record that was judged, for each file of the log.
    pub cursors: Vec<Origin>,
    /// Dropped when the ledger has applied the findings.
    _permit: Permit,
}

/// How many reports, and how many findings in them, may wait for the ledger. Findings are merged before they wait, so
/// this is many floods' worth.
const CHANNEL_LIMIT: usize = 1024;

/// The monitors' end of the channel.
#[derive(Debug, Clone)]
pub struct LedgerSender {
    reports: mpsc::Sender<Report>,
    room: Room,
}

impl LedgerSender {
    /// The channel; the receiver belongs to the ledger task.
    #[must_use]
    pub fn channel() -> (Self, mpsc::Receiver<Report>) {
        let (sender, receiver) = mpsc::channel(CHANNEL_LIMIT);
        (Self { reports: sender, room: Room::new(CHANNEL_LIMIT) }, receiver)
    }

    /// From a thread: waits while the ledger is behind. An agent that is shutting down has no ledger any more, and then
    /// the report is dropped.
    pub fn blocking_send(&self, report: Report) {
        let _ = self.reports.blocking_send(report);
    }

    /// From a thread: findings with their cursors; waits while too many others wait.
    pub fn blocking_send_found(&self, findings: Vec<Finding>, log: &Arc<str>, cursors: Vec<Origin>) {
        let _permit = self.room.acquire(findings.len());
        self.blocking_send(Report::Found(Found { findings, log: Arc::clone(log), cursors, _permit }));
    }

    /// From a thread: `false` if `wanted` findings would have to wait right now.
    #[must_use]
    pub fn has_room(&self, wanted: usize) -> bool {
        self.reports.capacity() > 0 && self.room.has(wanted)
    }

    /// From a task.
    pub async fn send(&self, report: Report) {
        let _ = self.reports.send(report).await;
    }
}
