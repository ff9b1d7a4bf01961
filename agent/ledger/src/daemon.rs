//! Monitors and external problem daemons: what they watch and whether their reports can be relied on.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use jiff::Timestamp;
use nodewell_faults::message;
use nodewell_model::{
    Name, Origin, ProblemKey,
    text::{MESSAGE_LIMIT_BYTES, cut},
    view::{DaemonState, DaemonView},
};
use serde::{Deserialize, Deserializer, Serialize};

use crate::{Now, reporter::Reporter, saved::newer};

/// Condition types one daemon may watch: more than any catalogue has.
const WATCHES_LIMIT: usize = 256;

/// What a monitor or daemon reports of itself. A heartbeat is the same report again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DaemonReport {
    pub name: Arc<str>,
    pub state: DaemonState,
    /// Why it is in this state; `MonitorBlind` and the like if it gives none.
    pub reason: Option<Name>,
    pub message: String,
    /// The conditions that it would turn True.
    pub watches: Vec<Name>,
    /// How long its report holds; `None`: until its next report.
    pub ttl: Option<Duration>,
    /// Records read, in all.
    pub records: u64,
    /// Records lost, in all.
    pub lost: u64,
}

/// Records that a source knows it lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    pub source: Arc<str>,
    /// How many; `None` where it cannot know.
    pub lost: Option<u64>,
    pub message: String,
    /// When reading went on.
    pub time: Timestamp,
    /// The record before the gap, where there is one: reported again, it is the same gap.
    pub origin: Option<Origin>,
}

/// A daemon as the ledger holds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Daemon {
    #[serde(deserialize_with = "saved_state")]
    pub(crate) state: DaemonState,
    pub(crate) reason: Option<Name>,
    pub(crate) message: String,
    pub(crate) watches: BTreeSet<Name>,
    pub(crate) ttl: Option<Duration>,
    /// Boot time at which it is stale.
    #[serde(skip)]
    pub(crate) deadline: Option<Duration>,
    /// Since when its claims are not confirmed any more.
    pub(crate) silent_since: Option<Timestamp>,
    pub(crate) records: u64,
    pub(crate) lost: u64,
    /// Only of one that reports over the socket.
    pub(crate) reporter: Option<Box<Reporter>>,
}

impl Daemon {
    pub(crate) fn new(report: DaemonReport, before: Option<&Self>, now: Now) -> Self {
        // A clean end is its last report: nothing more is expected of it.
        let expected = report.ttl.filter(|_| report.state != DaemonState::Dead);
        let silent = is_silent(report.state);
        Self {
            state: report.state,
            reason: report.reason,
            message: cut(&report.message, MESSAGE_LIMIT_BYTES).to_owned(),
            watches: report.watches.into_iter().take(WATCHES_LIMIT).collect(),
            ttl: report.ttl,
            deadline: expected.map(|ttl| now.after(ttl)),
            silent_since: silent.then(|| before.and_then(|before| before.silent_since).unwrap_or(now.wall)),
            records: report.records,
            lost: report.lost,
            reporter: None,
        }
    }

    /// One that reports over the socket, for the first time.
    pub(crate) fn external(reporter: Reporter) -> Self {
        Self {
            state: DaemonState::Starting,
            reason: None,
            message: String::new(),
            watches: BTreeSet::new(),
            ttl: None,
            deadline: None,
            silent_since: None,
            records: 0,
            lost: 0,
            reporter: Some(Box::new(reporter)),
        }
    }

    /// It reported. Returns whether conditions may look different by that alone.
    pub(crate) fn heard(&mut self) -> bool {
        self.silent_since = None;
        self.reason = None;
        self.message.clear();
        std::mem::replace(&mut self.state, DaemonState::Running) != DaemonState::Running
    }

    /// Watches these too; nothing else any more if that is `all`. Returns whether that is a change.
    pub(crate) fn watch<'a>(&mut self, named: impl Iterator<Item = &'a Name>, all: bool) -> bool {
        if all {
            let watches: BTreeSet<Name> = named.take(WATCHES_LIMIT).cloned().collect();
            let changed = self.watches != watches;
            self.watches = watches;
            return changed;
        }
        let before = self.watches.len();
        for name in named {
            if self.watches.len() < WATCHES_LIMIT && !self.watches.contains(name) {
                self.watches.insert(name.clone());
            }
        }
        before != self.watches.len()
    }

    /// It should have reported by `time`.
    pub(crate) fn go_stale(&mut self, time: Timestamp) {
        self.state = DaemonState::Stale;
        self.reason = None;
        self.message = match self.ttl.and_then(|ttl| jiff::SignedDuration::try_from(ttl).ok()) {
            Some(ttl) => message("MonitorStale", &[("ttl", &format!("{ttl:#}"))]),
            None => String::new(),
        };
        self.deadline = None;
        self.silent_since.get_or_insert(time);
    }

    /// Whether it can report the state of `condition`.
    pub(crate) fn sees(&self, condition: &Name) -> bool {
        self.state == DaemonState::Running && self.doubt_of(condition).is_none() && !self.has_to_report(condition)
    }

    /// Whether it has not seen `condition` because it was started, and for no other reason.
    pub(crate) fn is_starting_on(&self, condition: &Name) -> bool {
        let is_to_come = || self.doubt_of(condition).is_none() && self.has_to_report(condition);
        self.state == DaemonState::Starting || (self.state == DaemonState::Running && is_to_come())
    }

    /// Whether it was started again, and what it reported of `condition` before does not count.
    fn has_to_report(&self, condition: &Name) -> bool {
        self.reporter.as_ref().is_some_and(|reporter| reporter.unreported.is_doubted(condition))
    }

    /// When what it has to report is believed no longer.
    pub(crate) fn unreported_due(&self) -> Option<Duration> {
        self.reporter.as_ref()?.unreported.next()
    }

    pub(crate) fn doubt_of(&self, condition: &Name) -> Option<&crate::reporter::Unsure> {
        self.reporter.as_ref()?.doubt_of(condition)
    }

    /// Since when its claim on `key` is not confirmed any more.
    pub(crate) fn unconfirmed(&self, key: &ProblemKey) -> Option<Timestamp> {
        let unsure = self.reporter.as_ref().and_then(|reporter| reporter.unsure_since(key));
        match (self.silent_since, unsure) {
            (Some(silent), Some(unsure)) => Some(silent.min(unsure)),
            (silent, unsure) => silent.or(unsure),
        }
    }

    pub(crate) fn watches(&self, condition: &Name) -> bool {
        self.watches.contains(condition)
    }

    /// Whether conditions look the same with `other` in its place.
    pub(crate) fn judges_like(&self, other: &Self) -> bool {
        (self.state, &self.reason, &self.message) == (other.state, &other.reason, &other.message)
            && (&self.watches, self.silent_since) == (&other.watches, other.silent_since)
    }

    /// Its own reason, or the name of its state; `None` while it runs.
    pub(crate) fn reason(&self) -> Option<Name> {
        let header = match self.state {
            DaemonState::Running => return None,
            DaemonState::Starting => "MonitorStarting",
            DaemonState::Blind => "MonitorBlind",
            DaemonState::Stale => "MonitorStale",
            DaemonState::Dead => "MonitorDead",
        };
        Some(self.reason.clone().unwrap_or_else(|| Name::fixed(header)))
    }

    /// Its own message, or what its state means; empty while it runs.
    pub(crate) fn message(&self) -> String {
        let key = match self.state {
            _ if !self.message.is_empty() => return self.message.clone(),
            DaemonState::Running => return String::new(),
            DaemonState::Starting => "MonitorStarting",
            DaemonState::Blind => "MonitorBlind",
            DaemonState::Stale => "MonitorStale/silent",
            DaemonState::Dead => "MonitorDead",
        };
        message(key, &[])
    }

    pub(crate) fn view(&self, name: &str) -> DaemonView {
        DaemonView {
            name: name.to_owned(),
            state: self.state,
            reason: self.reason().map(String::from).unwrap_or_default(),
            message: self.message.clone(),
            records: self.records,
            lost: self.lost,
            ttl_secs: self.ttl.map(|ttl| ttl.as_secs()),
            silent_since: self.silent_since,
            full: self.reporter.as_ref().is_some_and(|reporter| reporter.sent_full),
        }
    }
}

/// One that only a newer version knows is none that counts: it is as before its first report.
fn saved_state<'de, D: Deserializer<'de>>(deserializer: D) -> Result<DaemonState, D::Error> {
    let known: Option<DaemonState> = newer::or_default(deserializer)?;
    Ok(known.unwrap_or(DaemonState::Starting))
}

/// Whether claims of a daemon in this state go unconfirmed. One that starts has not been silent yet.
fn is_silent(state: DaemonState) -> bool {
    matches!(state, DaemonState::Blind | DaemonState::Stale | DaemonState::Dead)
}

/// For choosing which of several to report: the most final first.
pub(crate) fn gravity(state: DaemonState) -> u8 {
    match state {
        DaemonState::Running => 0,
        DaemonState::Starting => 1,
        DaemonState::Blind => 2,
        DaemonState::Stale => 3,
        DaemonState::Dead => 4,
    }
}
