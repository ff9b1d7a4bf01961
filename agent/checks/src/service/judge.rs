//! Judges what looks at services showed: thresholds, what belongs to this node, what is reported. Pure: time is an
//! argument.

mod course;
mod streak;

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;
use nodewell_hardware::Findings;
use serde_json::Value;

use super::{check::Check, look::Look, target::Target};
use course::{Course, ServiceHistory};

/// An unseen service is looked for so many times less often.
const UNSEEN_FACTOR: u32 = 3;
/// A service whose report may soon change is asked so many times more often.
const OPEN_FACTOR: u32 = 4;

/// One moment, by the clocks that matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moment {
    pub wall: Timestamp,
    /// `CLOCK_MONOTONIC`, which systemd's timestamps are of.
    pub monotonic: Duration,
    /// Empty if unknown.
    pub boot_id: String,
}

/// Judges every service that is watched.
pub struct ServicesJudge {
    courses: Vec<Course>,
}

impl ServicesJudge {
    #[must_use]
    pub fn new(checks: Vec<Check>) -> Self {
        Self { courses: checks.into_iter().map(Course::new).collect() }
    }

    /// How many there are; each has its number.
    #[must_use]
    pub fn count(&self) -> usize {
        self.courses.len()
    }

    #[must_use]
    pub fn check(&self, n: usize) -> &Check {
        &self.courses[n].check
    }

    /// Where the `n`th was found last, if it had to be found.
    #[must_use]
    pub fn last_target(&self, n: usize) -> Option<Target> {
        self.courses[n].last_target()
    }

    /// Adds a look at the `n`th.
    pub fn observe(&mut self, n: usize, look: &Look, now: &Moment) {
        self.courses[n].observe(look, now);
    }

    /// After what pause the `n`th should be looked at again.
    #[must_use]
    pub fn pause(&self, n: usize) -> Duration {
        let course = &self.courses[n];
        let interval = course.check.pace.interval;
        match () {
            () if course.is_open() => interval / OPEN_FACTOR,
            () if !course.is_seen() => interval * UNSEEN_FACTOR,
            () => interval,
        }
    }

    /// The whole account, and what happened since the last one.
    pub fn findings(&mut self) -> Findings {
        let happenings = self.courses.iter_mut().flat_map(Course::happenings).collect();
        let verdicts = self.courses.iter().flat_map(Course::verdicts).collect();
        Findings { verdicts, happenings, ..Findings::default() }
    }

    /// Whether nothing of what an earlier run reported can be left.
    #[must_use]
    pub fn is_decided(&self) -> bool {
        self.courses.iter().all(Course::is_decided)
    }

    /// What has to outlive a restart.
    #[must_use]
    pub fn save(&self) -> Value {
        let known = self.courses.iter().filter(|course| course.is_worth_saving());
        let histories: BTreeMap<&str, ServiceHistory> =
            known.map(|course| (course.check.name.as_str(), course.history())).collect();
        serde_json::to_value(histories).unwrap_or_default()
    }

    /// What an earlier run saved; what is not understood, or of no check any more, is forgotten.
    pub fn load(&mut self, saved: Value) {
        let Ok(mut histories) = serde_json::from_value::<BTreeMap<String, Value>>(saved) else { return };
        for course in &mut self.courses {
            let history = histories.remove(&course.check.name).and_then(|history| serde_json::from_value(history).ok());
            if let Some(history) = history {
                course.load(history);
            }
        }
    }

    /// For `systemctl status`: `kubelet 2 ms, container-runtime 4 ms`.
    #[must_use]
    pub fn summary(&self) -> String {
        let answered = |course: &Course| Some(format!("{} {} ms", course.check.name, course.latency()?.as_millis()));
        self.courses.iter().filter_map(answered).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests;
