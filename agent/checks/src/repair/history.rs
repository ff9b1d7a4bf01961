//! What was tried before, as it is saved over restarts and reboots: a node that boots in circles is not repaired in
//! circles.

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Moment;

/// More is not needed to count: the oldest go first.
const ATTEMPTS_LIMIT: usize = 256;

/// All repairs that may still count.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct History {
    /// In the order in which they were begun.
    attempts: Vec<Attempt>,
    /// Units that nothing is done about until they were healthy once, and since when.
    given_up: BTreeMap<String, Timestamp>,
}

/// One repair; written down before it is begun.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    pub unit: String,
    pub began: Timestamp,
    pub boot_id: String,
    /// By the clock of that boot that never jumps.
    pub boottime: Duration,
    /// `None`: it was under way when we ended.
    pub outcome: Option<Outcome>,
}

/// How a repair ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// systemd did it; whether it helped, the next look shows.
    Done,
    Failed {
        message: String,
    },
}

impl History {
    /// How often `unit` was repaired within `window`.
    #[must_use]
    pub fn count(&self, unit: &str, window: Duration, now: &Moment) -> usize {
        let counts = |attempt: &&Attempt| attempt.unit == unit && attempt.age(now) < window;
        self.attempts.iter().filter(counts).count()
    }

    /// How long ago the last repair was begun: of `unit`, or of any.
    #[must_use]
    pub fn last(&self, unit: Option<&str>, now: &Moment) -> Option<Duration> {
        let asked = |attempt: &&Attempt| unit.is_none_or(|unit| attempt.unit == unit);
        self.attempts.iter().filter(asked).map(|attempt| attempt.age(now)).min()
    }

    #[must_use]
    pub fn has_given_up(&self, unit: &str) -> bool {
        self.given_up.contains_key(unit)
    }

    /// A repair begins.
    pub fn begin(&mut self, unit: &str, now: &Moment) {
        let surplus = (self.attempts.len() + 1).saturating_sub(ATTEMPTS_LIMIT);
        self.attempts.drain(..surplus);
        let Moment { wall, boottime, boot_id } = now.clone();
        self.attempts.push(Attempt { unit: unit.to_owned(), began: wall, boot_id, boottime, outcome: None });
    }

    /// The last one that was begun ended so.
    pub fn end(&mut self, outcome: Outcome) {
        if let Some(attempt) = self.attempts.last_mut() {
            attempt.outcome = Some(outcome);
        }
    }

    /// Nothing more is tried. Returns whether that is new.
    pub fn give_up(&mut self, unit: &str, now: &Moment) -> bool {
        self.given_up.insert(unit.to_owned(), now.wall).is_none()
    }

    /// The unit is healthy again: the next time it is broken it is repaired again, within the limit. Returns whether it
    /// was given up.
    pub fn is_healthy(&mut self, unit: &str) -> bool {
        self.given_up.remove(unit).is_some()
    }

    /// All that is known, oldest first.
    #[must_use]
    pub fn attempts(&self) -> &[Attempt] {
        &self.attempts
    }
}

impl Attempt {
    /// How long ago it was begun. What another boot did is dated by the wall clock, and one that went back makes it young:
    /// too few repairs are better than too many.
    fn age(&self, now: &Moment) -> Duration {
        if self.boot_id == now.boot_id {
            return now.boottime.saturating_sub(self.boottime);
        }
        Duration::try_from(now.wall.duration_since(self.began)).unwrap_or_default()
    }
}
