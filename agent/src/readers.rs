//! The threads that read: one for each reader of the rules in force, started and ended as rules come and go.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    os::fd::OwnedFd,
    sync::Arc,
    time::Duration,
};

use nodewell_ledger::DaemonReport;
use nodewell_model::Origin;
use nodewell_rules::{Reader, RuleSet};
use tokio::sync::watch;

use crate::{
    config::Config,
    detectors::proof::Prover,
    monitors::{
        ledger_sender::{LedgerSender, Report},
        log::{Checkpoint, LogMonitor, LogSetup, daemon_reports, dead_reports, monitor_names, starting_reports},
    },
    runtime::{Stop, Tasks, stats::Stats, tasks::Ended},
    sources::{Opener, kmsg::Expectations},
};

/// What every reader's thread shares.
pub struct Readers {
    config: Config,
    rules: watch::Receiver<Arc<RuleSet>>,
    ledger_sender: LedgerSender,
    prover: Prover,
    stats: Stats,
    expectations: Expectations,
    kernel_log: Option<Arc<OwnedFd>>,
    cursors: SavedCursors,
    started: jiff::Timestamp,
    running: Vec<Running>,
}

struct Running {
    reader: Reader,
    stop: Stop,
    checkpoint: Checkpoint,
    monitors: BTreeSet<Arc<str>>,
}

/// What the threads get from outside.
pub struct ReaderSetup {
    pub config: Config,
    pub rules: watch::Receiver<Arc<RuleSet>>,
    pub ledger_sender: LedgerSender,
    pub prover: Prover,
    pub stats: Stats,
    pub expectations: Expectations,
    /// The kernel log, if systemd has opened it for us.
    pub kernel_log: Option<Arc<OwnedFd>>,
    /// How far earlier runs of the agent have judged each log.
    pub cursors: SavedCursors,
}

/// By the log's name in the store.
pub type SavedCursors = BTreeMap<String, Vec<Origin>>;

impl Readers {
    #[must_use]
    pub fn new(setup: ReaderSetup) -> Self {
        let ReaderSetup { config, rules, ledger_sender, prover, stats, expectations, kernel_log, cursors } = setup;
        Self {
            config,
            rules,
            ledger_sender,
            prover,
            stats,
            expectations,
            kernel_log,
            cursors,
            started: jiff::Timestamp::now(),
            running: Vec::new(),
        }
    }

    /// Makes the threads fit the rules in force: new readers start, readers without rules end, and the monitors of
    /// those that stay report again what they watch.
    pub async fn fit(&mut self, tasks: &mut Tasks) -> io::Result<()> {
        let rules = Arc::clone(&self.rules.borrow());
        let wanted = wanted(&rules, &self.config);
        self.end_unwanted(&wanted);
        // Before a new monitor reports under the same name.
        for source in self.report_running(&rules, &wanted).await {
            self.ledger_sender.send(Report::Retired(source)).await;
        }
        for reader in wanted {
            if self.running.iter().any(|running| running.reader == reader) {
                continue;
            }
            for report in starting_reports(&rules, &reader) {
                self.ledger_sender.send(Report::Daemon(Box::new(report))).await;
            }
            self.start(reader, &rules, tasks)?;
        }
        Ok(())
    }

    /// Once no thread reads any more: leaves the kernel log that systemd shares with us at its end. Where the ring goes
    /// past the record at which it was left, systemd takes that for an error of its socket unit.
    pub fn leave_kernel_log(&self) {
        if let Some(descriptor) = &self.kernel_log
            && let Err(error) = nix::unistd::lseek(descriptor, 0, nix::unistd::Whence::SeekEnd)
        {
            tracing::debug!(%error, "the kernel log stays where it was read");
        }
    }

    fn end_unwanted(&mut self, wanted: &[Reader]) {
        for running in self.running.iter().filter(|running| !wanted.contains(&running.reader)) {
            running.stop.set();
            // Another reader of the same log goes on from there.
            self.cursors.insert(running.reader.log_name(), running.checkpoint.cursors());
        }
    }

    /// Lets the monitors of the running readers report what they watch now; returns the names that are gone.
    async fn report_running(&mut self, rules: &RuleSet, wanted: &[Reader]) -> Vec<Arc<str>> {
        let stays: BTreeSet<_> = wanted.iter().flat_map(|reader| monitor_names(rules, reader).into_keys()).collect();
        let mut gone = BTreeSet::new();
        for running in &mut self.running {
            let now: BTreeSet<_> = monitor_names(rules, &running.reader).into_keys().collect();
            gone.extend(running.monitors.difference(&stays).cloned());
            running.monitors = now;
            let state = running.checkpoint.state().filter(|_| !running.stop.is_set());
            for report in state.iter().flat_map(|state| daemon_reports(rules, &running.reader, state)) {
                self.ledger_sender.send(Report::Daemon(Box::new(report))).await;
            }
        }
        self.running.retain(|running| !running.stop.is_set());
        gone.into_iter().collect()
    }

    fn start(&mut self, reader: Reader, rules: &RuleSet, tasks: &mut Tasks) -> io::Result<()> {
        let monitors: BTreeSet<_> = monitor_names(rules, &reader).into_keys().collect();
        let Some(name) = monitors.first().cloned() else { return Ok(()) };
        let stats = self.stats.monitor(&name);
        monitors.iter().for_each(|monitor| self.stats.share(monitor, &stats));
        let checkpoint = Checkpoint::default();
        let log: Arc<str> = reader.log_name().into();
        let setup = LogSetup {
            rules: self.rules.clone(),
            reader: reader.clone(),
            prover: self.prover.clone(),
            ledger_sender: self.ledger_sender.clone(),
            stats,
            started: self.started,
            lookback: lookback(&self.config, &reader),
            saved_cursors: self.cursors.remove(&*log).unwrap_or_default(),
            log,
            checkpoint: checkpoint.clone(),
        };
        let stop = Stop::new()?;
        let index = rules.readers.iter().position(|known| *known == reader).unwrap_or_default();
        let opener = Opener {
            config: self.config.clone(),
            expectations: self.expectations.clone(),
            kernel_log: self.kernel_log.clone(),
            look_back: rules.longest_lookback(index, setup.lookback),
        };
        let (work, ended) = (thread_body(opener, setup.clone()), report_death(setup));
        tasks.supervise_thread(&name, stop.clone(), work, ended)?;
        self.running.push(Running { reader, stop, checkpoint, monitors });
        Ok(())
    }
}

/// One run of a reader's thread; the next one goes on after the newest record that this one judged.
fn thread_body(opener: Opener, setup: LogSetup) -> impl FnMut(&Stop) {
    move |stop| {
        let cursors = setup.checkpoint.cursors();
        let after = if cursors.is_empty() { setup.saved_cursors.clone() } else { cursors };
        if let Some(source) = opener.open(&setup.reader, &after) {
            source.run(&mut LogMonitor::new(setup.clone()), stop);
        }
    }
}

/// What is reported when a reader's thread ends unasked.
fn report_death(setup: LogSetup) -> impl FnMut(Ended) {
    move |how| {
        tracing::error!(reader = ?setup.reader, ?how, "a source's thread ended unasked, will restart");
        let message = nodewell_faults::message("MonitorDied", &[]);
        // The borrow of the rules ends before anything waits: a reload changes them on the thread of the ledger, which
        // receives the reports.
        let reports = dead_reports(&setup.rules.borrow(), &setup.reader, &message);
        for report in reports {
            setup.ledger_sender.blocking_send(Report::Daemon(Box::new(report)));
        }
    }
}

/// What the monitors of these rules report before they have read anything.
#[must_use]
pub fn expected(rules: &RuleSet, config: &Config) -> Vec<DaemonReport> {
    wanted(rules, config).iter().flat_map(|reader| starting_reports(rules, reader)).collect()
}

/// The readers that have rules and are not switched off.
fn wanted(rules: &RuleSet, config: &Config) -> Vec<Reader> {
    let mut wanted: Vec<Reader> = Vec::new();
    for rule in &rules.rules {
        let Some(reader) = rules.readers.get(rule.reader) else { continue };
        let off = matches!(reader, Reader::Journal { .. }) && !config.journal.enabled;
        if !off && !wanted.contains(reader) {
            wanted.push(reader.clone());
        }
    }
    wanted
}

fn lookback(config: &Config, reader: &Reader) -> Duration {
    if *reader == Reader::Kmsg { config.kmsg.lookback } else { config.journal.lookback }
}

#[cfg(test)]
mod tests;
