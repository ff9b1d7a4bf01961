//! How a source is → what its monitors report of themselves, and when: on each change, and as a heartbeat.

use std::{sync::Arc, time::Duration};

use nodewell_rules::{Reader, RuleSet};
use tokio::sync::watch;

use super::{LogSetup, checkpoint::Checkpoint, daemons::daemon_reports};
use crate::{
    monitors::ledger_sender::{LedgerSender, Report},
    runtime::clock,
    sources::SourceState,
};

/// A monitor sends a heartbeat so often; three times without is silence.
const HEARTBEAT: Duration = Duration::from_secs(60);
/// What there was at the start is read first; a log that never pauses is not waited for.
const CATCH_UP_GRACE: Duration = Duration::from_secs(10);

/// Reports how one source is, once that can be relied on.
pub(super) struct HealthReporter {
    rules: watch::Receiver<Arc<RuleSet>>,
    reader: Reader,
    ledger_sender: LedgerSender,
    checkpoint: Checkpoint,
    caught_up: bool,
    /// The source can see, and reads what was there: reported once it has.
    held_back: Option<SourceState>,
    pub(super) begun_at: Duration,
    pub(super) heartbeat_at: Duration,
}

impl HealthReporter {
    pub(super) fn new(setup: &LogSetup, now: Duration) -> Self {
        Self {
            rules: setup.rules.clone(),
            reader: setup.reader.clone(),
            ledger_sender: setup.ledger_sender.clone(),
            checkpoint: setup.checkpoint.clone(),
            caught_up: false,
            held_back: None,
            begun_at: now,
            heartbeat_at: now,
        }
    }

    /// The source is in `state` now.
    pub(super) fn change(&mut self, state: SourceState) {
        if state == SourceState::Running && !self.caught_up {
            self.held_back = Some(state);
        } else {
            self.held_back = None;
            self.report(state);
        }
    }

    /// What was there at the start has been read.
    pub(super) fn catch_up(&mut self) {
        self.caught_up = true;
        if let Some(state) = self.held_back.take() {
            self.report(state);
        }
    }

    /// A monitor that reports nothing for long is taken for dead.
    pub(super) fn send_heartbeat(&mut self, now: Duration) {
        if now >= self.begun_at + CATCH_UP_GRACE
            && let Some(state) = self.held_back.take()
        {
            self.report(state);
        }
        if now >= self.heartbeat_at + HEARTBEAT {
            self.heartbeat_at = now;
            if let Some(state) = self.checkpoint.state().filter(|_| self.held_back.is_none()) {
                self.report(state);
            }
        }
    }

    fn report(&mut self, state: SourceState) {
        self.heartbeat_at = clock::boottime();
        let reports = daemon_reports(&self.rules.borrow(), &self.reader, &state);
        reports.into_iter().for_each(|report| self.ledger_sender.blocking_send(Report::Daemon(Box::new(report))));
        self.checkpoint.save_state(state);
    }
}
