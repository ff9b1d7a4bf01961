//! One task's results: how many of a kind came in a row, and what they amount to.

use std::time::Duration;

use jiff::Timestamp;
use nodewell_hardware::{Fault, Happening};
use nodewell_model::{Name, Severity, SubjectKey};
use nodewell_rules::plugin::{PluginMonitor, PluginTask};

use super::Now;
use crate::plugin::said::{Said, Word};

/// While something that is no condition stays bad, it is reported again so often.
const TOLD_AGAIN: Duration = Duration::from_secs(3600);

/// What is known of one task.
#[derive(Debug)]
pub(super) struct TaskState {
    task: PluginTask,
    skip_initial: bool,
    follows_message: bool,
    heard: bool,
    good: u32,
    bad: u32,
    unknown: u32,
    fault: Option<Fault>,
    /// What is unknown by now; what was a fault before stays one.
    mystery: Option<Mystery>,
    /// Whether it was ever anything but healthy.
    was_faulty: bool,
    telling: Option<Telling>,
}

/// Why the state is unknown.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Mystery {
    pub(super) why: Name,
    pub(super) message: String,
}

/// An Event that was emitted and holds on.
#[derive(Debug)]
struct Telling {
    what: Word,
    since: Duration,
    times: u64,
}

impl TaskState {
    pub(super) fn new(monitor: &PluginMonitor, task: PluginTask) -> Self {
        Self {
            task,
            skip_initial: monitor.skip_initial,
            follows_message: monitor.follows_message,
            heard: false,
            good: 0,
            bad: 0,
            unknown: 0,
            fault: None,
            mystery: None,
            was_faulty: false,
            telling: None,
        }
    }

    /// The condition that it is about, if any.
    pub(super) fn subject_key(&self) -> Option<SubjectKey> {
        Some(SubjectKey::of(self.task.condition.clone()?, self.task.subject.clone().unwrap_or_default()))
    }

    pub(super) fn was_heard(&self) -> bool {
        self.heard
    }

    /// The problem that it claims, whether or not it was confirmed the last time.
    pub(super) fn fault(&self) -> Option<&Fault> {
        self.fault.as_ref()
    }

    pub(super) fn mystery(&self) -> Option<&Mystery> {
        self.mystery.as_ref()
    }

    /// Whether it is healthy, and that is to be reported.
    pub(super) fn is_healthy(&self) -> bool {
        self.heard && self.fault.is_none() && self.mystery.is_none() && (self.was_faulty || !self.skip_initial)
    }

    /// Adds a result; returns what happened, for a task that has no condition.
    pub(super) fn hear(&mut self, said: Said, now: Now) -> Vec<Happening> {
        self.count(said.word);
        let held = match said.word {
            Word::Well => self.good >= self.task.successes,
            Word::Warning | Word::Bad => self.bad >= self.task.failures,
            Word::Unknown => self.unknown >= self.task.failures,
        };
        if !held && !self.repeats(said.word) {
            return Vec::new();
        }
        self.heard = true;
        if self.task.condition.is_none() {
            return self.tell(said, now).into_iter().collect();
        }
        self.settle(said);
        Vec::new()
    }

    /// A fault that is confirmed, or health that goes on, needs no count.
    fn repeats(&self, word: Word) -> bool {
        match word {
            Word::Well => self.fault.is_none() && self.telling.is_none(),
            Word::Warning | Word::Bad => self.fault.is_some(),
            Word::Unknown => false,
        }
    }

    /// An unknown result speaks neither for nor against.
    fn count(&mut self, word: Word) {
        match word {
            Word::Well => (self.good, self.bad, self.unknown) = (self.good.saturating_add(1), 0, 0),
            Word::Warning | Word::Bad => (self.good, self.bad, self.unknown) = (0, self.bad.saturating_add(1), 0),
            Word::Unknown => self.unknown = self.unknown.saturating_add(1),
        }
    }

    fn settle(&mut self, said: Said) {
        match said.word {
            Word::Well => (self.fault, self.mystery) = (None, None),
            Word::Warning | Word::Bad => {
                let severity = self.severity(said.word);
                let before = self.fault.take().filter(|before| before.severity == severity && !self.follows_message);
                let message = before.map_or(said.message, |before| before.message);
                let reason = self.task.reason.clone();
                self.fault = Some(Fault { reason, severity, action: None, message, since: None });
                (self.mystery, self.was_faulty) = (None, true);
            }
            Word::Unknown => {
                self.mystery = Some(Mystery { why: why(&said), message: self.named(&said.message) });
                self.was_faulty = true;
            }
        }
    }

    /// A warning is never worse than one.
    fn severity(&self, word: Word) -> Severity {
        if word == Word::Warning { self.task.severity.min(Severity::Warn) } else { self.task.severity }
    }

    /// At the edge, and once in a while as long as it holds.
    fn tell(&mut self, said: Said, now: Now) -> Option<Happening> {
        if said.word == Word::Well {
            self.telling = None;
            return None;
        }
        let Some(telling) = self.telling.as_mut().filter(|telling| telling.what == said.word) else {
            self.telling = Some(Telling { what: said.word, since: now.since_start, times: 0 });
            return Some(self.happening(&said, String::new(), now.wall));
        };
        telling.times += 1;
        let lasted = now.since_start.saturating_sub(telling.since);
        if lasted < TOLD_AGAIN {
            return None;
        }
        let again = format!(" ({} times more in {} min)", telling.times, lasted.as_secs() / 60);
        (telling.since, telling.times) = (now.since_start, 0);
        Some(self.happening(&said, again, now.wall))
    }

    fn happening(&self, said: &Said, again: String, time: Timestamp) -> Happening {
        let is_unknown = said.word == Word::Unknown;
        let message = if is_unknown { self.named(&said.message) } else { said.message.clone() };
        Happening {
            reason: if is_unknown { why(said) } else { self.task.reason.clone() },
            severity: if is_unknown { Severity::Warn } else { self.severity(said.word) },
            subject: self.task.subject.clone(),
            message: message + &again,
            time,
        }
    }

    /// Names the plug-in whose run it was: the reason does not.
    fn named(&self, message: &str) -> String {
        format!("plug-in {}: {message}", self.task.name)
    }
}

fn why(said: &Said) -> Name {
    said.why.clone().unwrap_or(Name::fixed("PluginSaysUnknown"))
}
