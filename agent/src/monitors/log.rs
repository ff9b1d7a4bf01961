//! A log monitor, on its source's thread: a record moves the log's cursor, is judged, and what it shows is merged until
//! it goes to the ledger together with the cursor behind it.

mod checkpoint;
mod cursors;
mod daemons;
mod health;
mod judge;

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use nodewell_model::{Finding, Origin, Record};
use nodewell_rules::{Reader, RuleSet};
use tokio::sync::watch;

pub use checkpoint::Checkpoint;
pub use daemons::{daemon_reports, dead_reports, monitor_names, starting_reports};

use crate::{
    detectors::proof::Prover,
    monitors::{
        coalesce::Coalescer,
        ledger_sender::{LedgerSender, Report},
    },
    runtime::{clock, panics, stats::MonitorStats},
    sources::{Gap, Sink, SourceState},
};
use cursors::Cursors;
use health::HealthReporter;
use judge::Judge;

/// Merged findings go out at least this often while a source never goes idle and the ledger keeps up.
const FLUSH_EVERY_RECORDS: u32 = 512;
/// With so many different findings waiting, the source waits for the ledger: a ring that overruns meanwhile is a
/// counted gap, memory that grows is not.
const WAITING_LIMIT: usize = 4096;
/// A log that shows nothing is still read: its cursor is sent so often, for a store that writes it when it likes.
const CURSOR_EVERY: Duration = Duration::from_secs(600);

/// What a log monitor needs from outside.
#[derive(Clone)]
pub struct LogSetup {
    /// The rules in force; a reload sends new ones.
    pub rules: watch::Receiver<Arc<RuleSet>>,
    /// The source it listens to, as the rule set names it.
    pub reader: Reader,
    pub prover: Prover,
    pub ledger_sender: LedgerSender,
    pub stats: MonitorStats,
    /// When the agent started, not this thread: what was written in between must not become history.
    pub started: Timestamp,
    /// Events of records older than this at the start are not reported again.
    pub lookback: Duration,
    /// What the log is called in the store.
    pub log: Arc<str>,
    /// How far an earlier run of the agent has judged it.
    pub saved_cursors: Vec<Origin>,
    /// What outlives a restart of the thread.
    pub checkpoint: Checkpoint,
}

/// Listens to one source, on that source's thread.
pub struct LogMonitor {
    setup: LogSetup,
    judge: Judge,
    health: HealthReporter,
    /// Findings that wait for the ledger.
    waiting: Coalescer,
    since_flush: u32,
    cursors: Cursors,
    /// When the cursors were last sent to the ledger.
    cursors_sent_at: Duration,
    /// What was there at the start has been read.
    caught_up: bool,
    /// This thread has not run before.
    is_first_run: bool,
    /// A record has come that was not judged to the end.
    judging: bool,
}

impl LogMonitor {
    #[must_use]
    pub fn new(setup: LogSetup) -> Self {
        panics::point("monitor.start");
        let judge = Judge::new(&setup);
        let last_run = setup.checkpoint.begin_run();
        let is_first_run = last_run.is_none();
        let now = clock::boottime();
        Self {
            judge,
            health: HealthReporter::new(&setup, now),
            waiting: Coalescer::default(),
            since_flush: 0,
            cursors: last_run.unwrap_or_else(|| Cursors::new(setup.saved_cursors.clone())),
            cursors_sent_at: now,
            caught_up: false,
            is_first_run,
            judging: false,
            setup,
        }
    }

    /// Sends what waits, and remembers how far that goes: what was sent is not judged again.
    fn flush(&mut self) {
        self.since_flush = 0;
        self.judge.follow_reload();
        let mut waiting = self.waiting.take();
        // After a reload that left this reader no rules its claims are retired; new ones would never end.
        if !self.judge.has_rules() {
            waiting.clear();
        }
        self.setup.checkpoint.save_cursors(&self.cursors);
        let now = clock::boottime();
        if !waiting.is_empty() || now >= self.cursors_sent_at + CURSOR_EVERY {
            self.send_found(waiting, now);
        }
    }

    fn send_found(&mut self, findings: Vec<Finding>, now: Duration) {
        self.cursors_sent_at = now;
        self.setup.ledger_sender.blocking_send_found(findings, &self.setup.log, self.cursors.to_vec());
    }
}

impl Sink for LogMonitor {
    fn record(&mut self, record: &Record<'_>) {
        self.setup.stats.saw_record();
        self.judge.follow_reload();
        // Before the record is judged: one that makes us panic is not tried for ever.
        self.cursors.advance(&record.origin);
        self.judging = true;
        panics::point("monitor.judge");
        self.judge.judge(record, &mut self.waiting);
        self.judging = false;
        self.since_flush += 1;
        if self.since_flush.is_multiple_of(FLUSH_EVERY_RECORDS) {
            self.health.send_heartbeat(clock::boottime());
        }
        let is_time = self.since_flush >= FLUSH_EVERY_RECORDS && self.setup.ledger_sender.has_room(self.waiting.len());
        if is_time || self.waiting.len() >= WAITING_LIMIT {
            self.flush();
        }
    }

    fn known(&mut self, record: &Record<'_>) {
        if self.is_first_run {
            self.judge.recall(record);
        }
    }

    fn finished(&mut self, cursor: &Origin) {
        self.cursors.remove(cursor);
    }

    fn passed_over(&mut self) {
        self.setup.stats.saw_record();
    }

    fn gap(&mut self, gap: Gap) {
        self.setup.stats.lost_records(gap.lost.unwrap_or(1));
        // The findings from before the gap must not arrive after it.
        self.flush();
        // The kernel's log has one gap behind each record; one that a panic left is another.
        let origin = self.cursors.kmsg().filter(|_| !self.judging).cloned();
        let first = monitor_names(&self.setup.rules.borrow(), &self.setup.reader).into_keys().next();
        if let Some(source) = first {
            self.setup.ledger_sender.blocking_send(Report::Gap(nodewell_ledger::Gap {
                source,
                lost: gap.lost,
                message: gap.message,
                time: gap.time,
                origin,
            }));
        }
    }

    fn state(&mut self, state: SourceState) {
        self.health.change(state);
    }

    fn idle(&mut self) {
        if self.since_flush > 0 {
            self.flush();
        }
        if !self.caught_up {
            self.caught_up = true;
            self.judge.catch_up();
        }
        self.health.catch_up();
        self.health.send_heartbeat(clock::boottime());
    }
}

/// The source ended, asked, unasked or by a panic. What it found goes out, and the record that made us panic, which is
/// not tried again, is reported as lost.
impl Drop for LogMonitor {
    fn drop(&mut self) {
        self.flush();
        if self.judging {
            self.gap(Gap::of("RecordsLost/panic", &[], Some(1), Timestamp::now()));
        }
        self.send_found(Vec::new(), clock::boottime());
    }
}

#[cfg(test)]
mod tests;
