//! What the check process does with answers: judges them against what it remembers. Pure: time is an argument.

use std::time::Duration;

use jiff::Timestamp;
use nodewell_model::{
    HwCountersView,
    inventory::{Acceptance, InventoryView},
};
use serde_json::Value;

use crate::probe::{Findings, RawReading, ReadError};

/// One moment, by the clocks that matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Now {
    /// For people, and for what is remembered across reboots.
    pub wall: Timestamp,
    /// For rates within a boot: never jumps, counts suspends.
    pub boottime: Duration,
    /// Distinguishes one boot from another; empty if unknown.
    pub boot_id: String,
}

/// One round of reading.
#[derive(Debug)]
pub struct Round {
    pub now: Now,
    /// The devices that are there, or why they are unknown.
    pub listed: Result<Vec<String>, PollError>,
    /// What those answered that were asked in this round; a device that was listed and not asked is as it was.
    pub answers: Vec<(String, Answer)>,
}

impl Round {
    /// Of a check whose one device is called `device`: what it answered, or why nothing is known of it. `None` if it was not
    /// asked.
    pub(crate) fn answer_of(self, device: &str) -> Option<Answer> {
        let answer = self.answers.into_iter().find(|(name, _)| name == device).map(|(_, answer)| answer);
        answer.or(self.listed.err().map(Err))
    }
}

/// A reading, or why there is none.
pub type Answer = Result<RawReading, PollError>;

/// Why a poll brought no reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PollError {
    /// The reader's own error.
    Read(ReadError),
    /// The reader never came back, or could not be asked.
    NoAnswer(NoAnswer),
}

/// A device that does not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoAnswer {
    /// When it was asked.
    pub since: Timestamp,
    /// For people: `no answer within 20 s`, `its worker, pid 77, is stuck in the kernel`, `not asked: the workers of 2
    /// others are stuck in the kernel`.
    pub message: String,
    was_asked: bool,
}

impl NoAnswer {
    /// Of a device that was asked itself.
    pub fn asked(since: Timestamp, message: impl Into<String>) -> Self {
        Self { since, message: message.into(), was_asked: true }
    }

    /// Of a device that was not asked, because the workers of others hang: `why`.
    #[must_use]
    pub fn not_asked(since: Timestamp, why: &str) -> Self {
        Self { since, message: format!("not asked: {why}"), was_asked: false }
    }

    /// Whether it was asked itself; if not, its state is unknown.
    #[must_use]
    pub fn was_asked(&self) -> bool {
        self.was_asked
    }
}

/// Judges the devices of one check.
pub trait Judge {
    /// Judges a round, and returns the state of every device that it knows: the whole account, each time.
    fn judge(&mut self, round: Round) -> Findings;

    /// Judges what [`crate::probe::Reader::wait`] returned, and returns the same.
    fn events(&mut self, events: Vec<RawReading>, now: &Now) -> Findings {
        let _ = (events, now);
        Findings::default()
    }

    /// What it shows to people beside its verdicts (`GET /v1/inventory`).
    fn inventory_view(&self) -> Option<InventoryView> {
        None
    }

    /// The counters that it shows beside its verdicts, and judges by nothing (`GET /metrics`).
    fn hw_counters(&self) -> Option<HwCountersView> {
        None
    }

    /// Takes what a person accepts; the next findings show it. Returns whether it could.
    fn accept(&mut self, acceptance: &Acceptance) -> bool {
        let _ = acceptance;
        false
    }

    /// Where its last reading ended, for a reader that goes on from there: [`crate::probe::Reader::read_from`].
    fn cursor(&self) -> Option<RawReading> {
        None
    }

    /// The state to save across restarts, small; `None` if it is as it was last saved.
    fn save(&mut self) -> Option<Value> {
        None
    }

    /// Loads the state that an earlier run of this or an older version saved; what it does not understand it drops.
    fn load(&mut self, saved: Value) {
        let _ = saved;
    }
}
