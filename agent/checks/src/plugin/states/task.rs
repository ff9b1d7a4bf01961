//! One task's results: how many of a kind came in a row, and what they amount to.

use std::time::Duration;

use crate::probe::{DeviceEvent, Fault};
use jiff::Timestamp;
use nodewell_faults::message;
use nodewell_message::MessageArgs;
use nodewell_model::{Name, Severity, SubjectKey};
use nodewell_rules::plugin::{PluginMonitor, PluginTask};

use super::Now;
use crate::plugin::result::{PluginStatus, RunResult};

/// While something that is no condition stays bad, it is reported again so often.
const REPORT_AGAIN: Duration = Duration::from_secs(3600);

/// What is known of one task.
#[derive(Debug)]
pub(super) struct TaskState {
    task: PluginTask,
    skip_initial: bool,
    follows_message: bool,
    has_result: bool,
    good: u32,
    bad: u32,
    unknown: u32,
    fault: Option<Fault>,
    /// What is unknown by now; what was a fault before stays one.
    unknown_state: Option<UnknownState>,
    /// Whether it was ever anything but healthy.
    was_faulty: bool,
    ongoing: Option<OngoingEvent>,
}

/// Why the state is unknown.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct UnknownState {
    pub(super) why: Name,
    pub(super) message: String,
}

/// An Event that was emitted and holds on.
#[derive(Debug)]
struct OngoingEvent {
    status: PluginStatus,
    since: Duration,
    times: u64,
}

impl TaskState {
    pub(super) fn new(monitor: &PluginMonitor, task: PluginTask) -> Self {
        Self {
            task,
            skip_initial: monitor.skip_initial,
            follows_message: monitor.follows_message,
            has_result: false,
            good: 0,
            bad: 0,
            unknown: 0,
            fault: None,
            unknown_state: None,
            was_faulty: false,
            ongoing: None,
        }
    }

    /// The condition that it is about, if any.
    pub(super) fn subject_key(&self) -> Option<SubjectKey> {
        Some(SubjectKey::of(self.task.condition.clone()?, self.task.subject.clone().unwrap_or_default()))
    }

    pub(super) fn has_result(&self) -> bool {
        self.has_result
    }

    /// The problem that it claims, whether or not it was confirmed the last time.
    pub(super) fn fault(&self) -> Option<&Fault> {
        self.fault.as_ref()
    }

    pub(super) fn unknown_state(&self) -> Option<&UnknownState> {
        self.unknown_state.as_ref()
    }

    /// Whether it is healthy, and that is to be reported.
    pub(super) fn is_healthy(&self) -> bool {
        self.has_result
            && self.fault.is_none()
            && self.unknown_state.is_none()
            && (self.was_faulty || !self.skip_initial)
    }

    /// Adds a result; returns what happened, for a task that has no condition.
    pub(super) fn observe(&mut self, result: RunResult, now: Now) -> Vec<DeviceEvent> {
        self.count(result.status);
        let held = match result.status {
            PluginStatus::Ok => self.good >= self.task.successes,
            PluginStatus::Warning | PluginStatus::Problem => self.bad >= self.task.failures,
            PluginStatus::Unknown => self.unknown >= self.task.failures,
        };
        if !held && !self.repeats(result.status) {
            return Vec::new();
        }
        self.has_result = true;
        if self.task.condition.is_none() {
            return self.report(result, now).into_iter().collect();
        }
        self.apply(result);
        Vec::new()
    }

    /// A fault that is confirmed, or health that goes on, needs no count.
    fn repeats(&self, status: PluginStatus) -> bool {
        match status {
            PluginStatus::Ok => self.fault.is_none() && self.ongoing.is_none(),
            PluginStatus::Warning | PluginStatus::Problem => self.fault.is_some(),
            PluginStatus::Unknown => false,
        }
    }

    /// An unknown result counts neither as good nor as bad.
    fn count(&mut self, status: PluginStatus) {
        match status {
            PluginStatus::Ok => (self.good, self.bad, self.unknown) = (self.good.saturating_add(1), 0, 0),
            PluginStatus::Warning | PluginStatus::Problem => {
                (self.good, self.bad, self.unknown) = (0, self.bad.saturating_add(1), 0)
            }
            PluginStatus::Unknown => self.unknown = self.unknown.saturating_add(1),
        }
    }

    fn apply(&mut self, result: RunResult) {
        match result.status {
            PluginStatus::Ok => (self.fault, self.unknown_state) = (None, None),
            PluginStatus::Warning | PluginStatus::Problem => {
                let severity = self.severity(result.status);
                let before = self.fault.take().filter(|before| before.severity == severity && !self.follows_message);
                let message = before.map_or(result.message, |before| before.message);
                let reason = self.task.reason.clone();
                self.fault = Some(Fault { reason, severity, action: None, message, since: None });
                (self.unknown_state, self.was_faulty) = (None, true);
            }
            PluginStatus::Unknown => {
                self.unknown_state = Some(UnknownState { why: why(&result), message: self.named(&result.message) });
                self.was_faulty = true;
            }
        }
    }

    /// A warning is never worse than one.
    fn severity(&self, status: PluginStatus) -> Severity {
        if status == PluginStatus::Warning { self.task.severity.min(Severity::Warn) } else { self.task.severity }
    }

    /// At the edge, and once in a while as long as it holds.
    fn report(&mut self, result: RunResult, now: Now) -> Option<DeviceEvent> {
        if result.status == PluginStatus::Ok {
            self.ongoing = None;
            return None;
        }
        let Some(ongoing) = self.ongoing.as_mut().filter(|ongoing| ongoing.status == result.status) else {
            self.ongoing = Some(OngoingEvent { status: result.status, since: now.since_start, times: 0 });
            return Some(self.event(&result, now.wall));
        };
        ongoing.times += 1;
        let lasted = now.since_start.saturating_sub(ongoing.since);
        if lasted < REPORT_AGAIN {
            return None;
        }
        let count = std::mem::take(&mut ongoing.times);
        ongoing.since = now.since_start;
        let mut event = self.event(&result, now.wall);
        let window = format!("{} min", lasted.as_secs() / 60);
        let args: MessageArgs<'_> = &[("message", &event.message), ("count", &count), ("window", &window)];
        event.message = message("PluginResult/repeated", args);
        Some(event)
    }

    fn event(&self, result: &RunResult, time: Timestamp) -> DeviceEvent {
        let is_unknown = result.status == PluginStatus::Unknown;
        let message = if is_unknown { self.named(&result.message) } else { result.message.clone() };
        DeviceEvent {
            reason: if is_unknown { why(result) } else { self.task.reason.clone() },
            severity: if is_unknown { Severity::Warn } else { self.severity(result.status) },
            subject: self.task.subject.clone(),
            message,
            time,
            is_in_kernel_log: false,
        }
    }

    /// Names the plug-in whose run it was: the reason does not.
    fn named(&self, message: &str) -> String {
        format!("plug-in {}: {message}", self.task.name)
    }
}

fn why(result: &RunResult) -> Name {
    result.why.clone().unwrap_or(Name::fixed("PluginSaysUnknown"))
}
