//! For the sources' tests: a sink that remembers, a source on a thread, and waiting for a state with a deadline.

use std::{
    borrow::Cow,
    sync::{Arc, Condvar, Mutex},
    thread::JoinHandle,
    time::Duration,
};

use jiff::Timestamp;
use nodewell_model::{Origin, Record};

use super::{Gap, Sink, Source, SourceState};
use crate::runtime::Stop;

const DEADLINE: Duration = Duration::from_secs(20);

/// A record, stored.
#[derive(Debug, Clone)]
pub(crate) struct RecordedLine {
    pub(crate) text: String,
    pub(crate) time: Timestamp,
    pub(crate) origin: Origin,
    pub(crate) test: bool,
    pub(crate) fields: Vec<(&'static str, String)>,
}

/// Everything a source reported.
#[derive(Debug, Default, Clone)]
pub(crate) struct Recorded {
    pub(crate) records: Vec<RecordedLine>,
    pub(crate) gaps: Vec<Gap>,
    pub(crate) states: Vec<SourceState>,
    pub(crate) idles: u64,
    pub(crate) passed_over: u64,
}

impl Recorded {
    pub(crate) fn texts(&self) -> Vec<&str> {
        self.records.iter().map(|record| record.text.as_str()).collect()
    }

    pub(crate) fn lost(&self) -> u64 {
        self.gaps.iter().filter_map(|gap| gap.lost).sum()
    }

    /// The reason of the newest state, if it is a blind one.
    pub(crate) fn blind(&self) -> Option<&str> {
        match self.states.last()? {
            SourceState::Blind { reason, .. } => Some(reason.as_str()),
            SourceState::Running => None,
        }
    }

    pub(crate) fn running(&self) -> bool {
        self.states.last() == Some(&SourceState::Running)
    }
}

const RECORDED_FIELDS: [&str; 6] = ["SUBSYSTEM", "DEVICE", "PRIORITY", "SYSLOG_IDENTIFIER", "_SYSTEMD_UNIT", "_PID"];

#[derive(Default)]
struct Shared {
    seen: Mutex<Recorded>,
    changed: Condvar,
}

struct Remembering(Arc<Shared>);

impl Remembering {
    fn record_with(&self, change: impl FnOnce(&mut Recorded)) {
        change(&mut self.0.seen.lock().unwrap());
        self.0.changed.notify_all();
    }
}

impl Sink for Remembering {
    fn record(&mut self, record: &Record<'_>) {
        let field = |name: &'static str| {
            let value = record.fields.field(name)?;
            Some((name, String::from_utf8_lossy(&value).into_owned()))
        };
        let line = RecordedLine {
            text: String::from_utf8_lossy(record.text).into_owned(),
            time: record.time,
            origin: record.origin.clone(),
            test: record.test,
            fields: RECORDED_FIELDS.into_iter().filter_map(field).collect(),
        };
        self.record_with(|seen| seen.records.push(line));
    }
    fn passed_over(&mut self) {
        self.record_with(|seen| seen.passed_over += 1);
    }
    fn gap(&mut self, gap: Gap) {
        self.record_with(|seen| seen.gaps.push(gap));
    }
    fn state(&mut self, state: SourceState) {
        self.record_with(|seen| seen.states.push(state));
    }
    fn idle(&mut self) {
        self.record_with(|seen| seen.idles += 1);
    }
}

/// A source that runs until this is dropped.
pub(crate) struct Running {
    shared: Arc<Shared>,
    stop: Stop,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    pub(crate) fn start(source: impl Source + 'static) -> Self {
        let (shared, stop) = (Arc::<Shared>::default(), Stop::new().unwrap());
        let (mut sink, stopped) = (Remembering(Arc::clone(&shared)), stop.clone());
        let thread = std::thread::spawn(move || Box::new(source).run(&mut sink, &stopped));
        Self { shared, stop, thread: Some(thread) }
    }

    /// What was reported, once `good` is true of it.
    ///
    /// # Panics
    /// If it is not within the deadline.
    pub(crate) fn until(&self, good: impl Fn(&Recorded) -> bool) -> Recorded {
        let seen = self.shared.seen.lock().unwrap();
        let (seen, timeout) = self.shared.changed.wait_timeout_while(seen, DEADLINE, |seen| !good(seen)).unwrap();
        let tail = seen.records.iter().rev().take(3).map(Cow::Borrowed).collect::<Vec<_>>();
        assert!(!timeout.timed_out(), "not within {DEADLINE:?}: states {:?}, newest {tail:?}", seen.states);
        seen.clone()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.set();
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(std::thread::panicking() || ended.is_some_and(|ended| ended.is_ok()), "the source panicked");
    }
}
