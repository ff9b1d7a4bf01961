//! A log monitor: one source, the rules that listen to it, the host's evidence on what they found.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use jiff::Timestamp;
use nodewell_faults::Branch;
use nodewell_ledger::DaemonReport;
use nodewell_model::{Finding, Name, Origin, Record, view::DaemonState};
use nodewell_rules::{Detector, Reader, RuleSet};
use tokio::sync::watch;

use crate::{
    detectors::proof::Prover,
    monitors::{
        coalesce::Coalescer,
        outlet::{Outlet, Report},
    },
    runtime::{clock, panics, stats::MonitorStats},
    sources::{Gap, Sink, SourceState},
};

/// Merged findings go out at least this often while a source never goes idle and the ledger keeps up.
const FLUSH_EVERY_RECORDS: u32 = 512;
/// With so many different findings waiting, the source waits for the ledger: a ring that overruns meanwhile is a
/// counted gap, memory that grows is not.
const WAITING_LIMIT: usize = 4096;
/// A log that shows nothing is still read: its place is reported so often, for a store that writes it when it likes.
const PLACE_EVERY: Duration = Duration::from_secs(600);
/// A monitor sends a heartbeat so often; three times without is silence.
const HEARTBEAT: Duration = Duration::from_secs(60);
const TTL: Duration = Duration::from_secs(180);
/// What there was at the start is read first; a log that never pauses is not waited for.
const CATCH_UP_GRACE: Duration = Duration::from_secs(10);
/// Files of one log whose place is remembered across a restart of the thread.
const PLACES_LIMIT: usize = 256;

/// What a log monitor needs from outside.
#[derive(Clone)]
pub struct Setup {
    /// The rules in force; a reload sends new ones.
    pub rules: watch::Receiver<Arc<RuleSet>>,
    /// The source it listens to, as the rule set names it.
    pub reader: Reader,
    pub prover: Prover,
    pub outlet: Outlet,
    pub stats: MonitorStats,
    /// When the agent started, not this thread: what was written in between must not become history.
    pub started: Timestamp,
    /// Events of records older than this at the start are not reported again.
    pub lookback: Duration,
    /// What the log is called in the store.
    pub log: Arc<str>,
    /// How far an earlier run of the agent has judged it.
    pub kept: Vec<Origin>,
    /// What outlives a restart of the thread.
    pub memory: Memory,
}

/// What a monitor leaves for its own next run and for a reload.
#[derive(Debug, Clone, Default)]
pub struct Memory(Arc<Mutex<Remembered>>);

/// See [`Memory`].
#[derive(Debug, Clone, Default)]
pub struct Remembered {
    /// The newest record that was judged, for each file of a log: the next run goes on after it.
    pub places: Vec<Origin>,
    /// What the source reported of itself last.
    pub state: Option<SourceState>,
    /// The thread has run before: what it panicked at is not shown to it again.
    has_run: bool,
}

impl Memory {
    /// What is remembered now.
    #[must_use]
    pub fn get(&self) -> Remembered {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn change(&self, change: impl FnOnce(&mut Remembered)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Listens to one source, on that source's thread.
pub struct LogMonitor {
    setup: Setup,
    detector: Option<Detector>,
    found: Vec<Finding>,
    waiting: Coalescer,
    since_flush: u32,
    places: Vec<Origin>,
    /// When the places were last sent to the ledger.
    placed_at: Duration,
    /// What was there at the start has been read.
    caught_up: bool,
    /// This thread has not run before.
    is_first_run: bool,
    /// The source can see, and reads what was there: reported once it has.
    held_back: Option<SourceState>,
    begun_at: Duration,
    heartbeat_at: Duration,
    /// A record is in hand that was not judged to the end.
    judging: bool,
}

impl LogMonitor {
    #[must_use]
    pub fn new(mut setup: Setup) -> Self {
        panics::point("monitor.start");
        let detector = detector(&mut setup);
        let remembered = setup.memory.get();
        let is_first_run = !remembered.has_run;
        let places = if is_first_run { setup.kept.clone() } else { remembered.places };
        setup.memory.change(|memory| memory.has_run = true);
        let now = clock::boottime();
        Self {
            setup,
            detector,
            found: Vec::new(),
            waiting: Coalescer::default(),
            since_flush: 0,
            places,
            placed_at: now,
            caught_up: false,
            is_first_run,
            held_back: None,
            begun_at: now,
            heartbeat_at: now,
            judging: false,
        }
    }

    /// A reload takes effect at the next record.
    fn follow_reload(&mut self) {
        if self.setup.rules.has_changed().unwrap_or(false) {
            self.detector = detector(&mut self.setup);
            self.forget_the_start();
        }
    }

    /// Sends what waits, and remembers how far that goes: what was sent is not judged again.
    fn flush(&mut self) {
        self.since_flush = 0;
        self.follow_reload();
        let mut waiting = self.waiting.take();
        // After a reload that left this reader no rules its claims are retired; new ones would never end.
        if self.detector.is_none() {
            waiting.clear();
        }
        self.setup.memory.change(|memory| memory.places.clone_from(&self.places));
        let now = clock::boottime();
        if !waiting.is_empty() || now >= self.placed_at + PLACE_EVERY {
            self.tell_found(waiting, now);
        }
    }

    fn tell_found(&mut self, findings: Vec<Finding>, now: Duration) {
        self.placed_at = now;
        self.setup.outlet.send_found(findings, &self.setup.log, self.places.clone());
    }

    /// Reports how the source is, now that it can be relied on.
    fn announce(&mut self, state: SourceState) {
        self.heartbeat_at = clock::boottime();
        let reports = daemon_reports(&self.setup.rules.borrow(), &self.setup.reader, &state);
        reports.into_iter().for_each(|report| self.setup.outlet.send(Report::Daemon(Box::new(report))));
        self.setup.memory.change(|memory| memory.state = Some(state));
    }

    /// A monitor that reports nothing for long is taken for dead.
    fn show_life(&mut self, now: Duration) {
        if now >= self.begun_at + CATCH_UP_GRACE
            && let Some(state) = self.held_back.take()
        {
            self.announce(state);
        }
        if now >= self.heartbeat_at + HEARTBEAT {
            self.heartbeat_at = now;
            if let Some(state) = self.setup.memory.get().state.filter(|_| self.held_back.is_none()) {
                self.announce(state);
            }
        }
    }

    fn forget_the_start(&mut self) {
        if let Some(detector) = self.detector.as_mut().filter(|_| self.caught_up) {
            detector.caught_up();
        }
    }

    /// Noted before the record is judged: one that makes us panic is not tried for ever.
    fn note_place(&mut self, origin: &Origin) {
        match self.places.iter().position(|place| is_same_log(place, origin)) {
            Some(known) => self.places[known].clone_from(origin),
            None => {
                // The one that was known for longest has not been seen for longest, more often than not.
                if self.places.len() == PLACES_LIMIT {
                    self.places.remove(0);
                }
                self.places.push(origin.clone());
            }
        }
    }
}

impl Sink for LogMonitor {
    fn record(&mut self, record: &Record<'_>) {
        self.setup.stats.saw_record();
        self.follow_reload();
        self.note_place(&record.origin);
        self.judging = true;
        panics::point("monitor.judge");
        if let Some(detector) = &mut self.detector {
            detector.push(record, &mut self.found);
        }
        let mut found = std::mem::take(&mut self.found);
        for finding in found.drain(..) {
            if let Some(proven) = self.setup.prover.prove(finding) {
                self.waiting.add(proven);
            }
        }
        self.found = found;
        self.judging = false;
        self.since_flush += 1;
        if self.since_flush.is_multiple_of(FLUSH_EVERY_RECORDS) {
            self.show_life(clock::boottime());
        }
        let is_time = self.since_flush >= FLUSH_EVERY_RECORDS && self.setup.outlet.has_room(self.waiting.len());
        if is_time || self.waiting.len() >= WAITING_LIMIT {
            self.flush();
        }
    }

    fn known(&mut self, record: &Record<'_>) {
        if let Some(detector) = self.detector.as_mut().filter(|_| self.is_first_run) {
            detector.push(record, &mut self.found);
            self.found.clear();
        }
    }

    fn finished(&mut self, place: &Origin) {
        self.places.retain(|known| !is_same_log(known, place));
    }

    fn passed_over(&mut self) {
        self.setup.stats.saw_record();
    }

    fn gap(&mut self, gap: Gap) {
        self.setup.stats.lost_records(gap.lost.unwrap_or(1));
        // The findings from before the gap must not arrive after it.
        self.flush();
        // The kernel's log has one gap behind each record; one that a panic left is another.
        let behind = self.places.first().filter(|place| matches!(place, Origin::Kmsg { .. }) && !self.judging);
        let origin = behind.cloned();
        let first = monitor_names(&self.setup.rules.borrow(), &self.setup.reader).into_keys().next();
        if let Some(source) = first {
            self.setup.outlet.send(Report::Gap(nodewell_ledger::Gap {
                source,
                lost: gap.lost,
                message: gap.message,
                time: gap.time,
                origin,
            }));
        }
    }

    fn state(&mut self, state: SourceState) {
        if state == SourceState::Running && !self.caught_up {
            self.held_back = Some(state);
        } else {
            self.held_back = None;
            self.announce(state);
        }
    }

    fn idle(&mut self) {
        if self.since_flush > 0 {
            self.flush();
        }
        if !self.caught_up {
            self.caught_up = true;
            self.forget_the_start();
        }
        if let Some(state) = self.held_back.take() {
            self.announce(state);
        }
        self.show_life(clock::boottime());
    }
}

/// The source ended, asked, unasked or by a panic. What it found goes out, and the record that made us panic, which is
/// not tried again, is reported as lost.
impl Drop for LogMonitor {
    fn drop(&mut self) {
        self.flush();
        if self.judging {
            let message = "the monitor failed on a record, which is passed over; see the agent's log".to_owned();
            self.gap(Gap { lost: Some(1), message, time: Timestamp::now() });
        }
        self.tell_found(Vec::new(), clock::boottime());
    }
}

/// Whether both are places in the same log.
fn is_same_log(one: &Origin, other: &Origin) -> bool {
    match (one, other) {
        (Origin::File { device, inode, .. }, Origin::File { device: of, inode: file, .. }) => {
            (device, inode) == (of, file)
        }
        (one, other) => std::mem::discriminant(one) == std::mem::discriminant(other),
    }
}

/// The rules of this monitor's reader, ready to judge; `None` if a reload left it none.
fn detector(setup: &mut Setup) -> Option<Detector> {
    let rules = Arc::clone(&setup.rules.borrow_and_update());
    let reader = rules.readers.iter().position(|reader| *reader == setup.reader)?;
    Detector::new(rules, reader)
        .map(|detector| detector.with_start(started(setup), setup.lookback).with_driver(nvidia_branch()))
        .inspect_err(|mistakes| mistakes.iter().for_each(|mistake| tracing::error!(%mistake, "a rule cannot be run")))
        .ok()
}

/// The branch of NVIDIA's driver if it is loaded: its own line, which names it too, may have left the log long ago.
fn nvidia_branch() -> Option<Branch> {
    let version = std::fs::read_to_string("/sys/module/nvidia/version").ok()?;
    Branch::of_version(&version)
}

/// What was written while the agent was away is news, however old it is; what was there before its first start is not.
fn started(setup: &Setup) -> Timestamp {
    if setup.kept.is_empty() { setup.started } else { Timestamp::MIN }
}

/// The monitors that share a reader, each with the conditions that its rules watch.
#[must_use]
pub fn monitor_names(rules: &RuleSet, reader: &Reader) -> BTreeMap<Arc<str>, Vec<Name>> {
    let mut monitors: BTreeMap<Arc<str>, Vec<Name>> = BTreeMap::new();
    for rule in rules.rules.iter().filter(|rule| rules.readers.get(rule.reader) == Some(reader)) {
        let watches = monitors.entry(Arc::clone(&rule.monitor)).or_default();
        let watched = rule.condition.iter().filter(|condition| rule.watches && !watches.contains(condition));
        let watched: Vec<Name> = watched.cloned().collect();
        watches.extend(watched);
    }
    monitors
}

/// What the monitors of a reader report of themselves while its source is in `state`.
#[must_use]
pub fn daemon_reports(rules: &RuleSet, reader: &Reader, state: &SourceState) -> Vec<DaemonReport> {
    match state {
        SourceState::Running => reports(rules, reader, DaemonState::Running, None),
        SourceState::Blind { reason, message } => {
            reports(rules, reader, DaemonState::Blind, Some((reason.clone(), message)))
        }
    }
}

/// The monitors of a reader that has not reported anything yet.
#[must_use]
pub fn starting_reports(rules: &RuleSet, reader: &Reader) -> Vec<DaemonReport> {
    reports(rules, reader, DaemonState::Starting, None)
}

/// The monitors of a reader whose thread ended.
#[must_use]
pub fn dead_reports(rules: &RuleSet, reader: &Reader, message: &str) -> Vec<DaemonReport> {
    reports(rules, reader, DaemonState::Dead, Some((Name::fixed("MonitorDied"), message)))
}

fn reports(rules: &RuleSet, reader: &Reader, state: DaemonState, why: Option<(Name, &str)>) -> Vec<DaemonReport> {
    let (reason, message) = why.unzip();
    monitor_names(rules, reader)
        .into_iter()
        .map(|(name, watches)| DaemonReport {
            name,
            state,
            reason: reason.clone(),
            message: message.unwrap_or_default().to_owned(),
            watches,
            ttl: Some(TTL),
            records: 0,
            lost: 0,
        })
        .collect()
}

#[cfg(test)]
mod tests;
