//! What the check process does with answers: judges them against what it remembers. Pure: time is an argument.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use crate::{Findings, ReadError};

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
    pub listed: Result<Vec<String>, Trouble>,
    /// What those answered that were asked in this round; a device that was listed and not asked is as it was.
    pub answers: Vec<(String, Answer)>,
}

/// A reading, as JSON of the check's own type, or why there is none. What does not parse is a [`ReadError::Failed`].
pub type Answer = Result<Value, Trouble>;

/// Why there is no reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// The reader's own error.
    Read(ReadError),
    /// The reader never came back.
    Silent(Silence),
}

/// A device that does not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Silence {
    /// When it was asked.
    pub since: Timestamp,
    /// For people: `no answer within 20 s`, `its reader, pid 77, is stuck in the kernel`, `readers of 2 others are stuck`.
    pub message: String,
}

/// How the message of a [`Silence`] begins where it is others that do not answer.
pub const NOT_ASKED: &str = "not asked: ";

impl Silence {
    /// Whether it was asked itself; if not, the readers of others hang, and its state is unknown.
    #[must_use]
    pub fn was_asked(&self) -> bool {
        !self.message.starts_with(NOT_ASKED)
    }
}

/// Judges the devices of one check.
pub trait Judge {
    /// Judges a round, and returns the state of every device that it knows: the whole account, each time.
    fn judge(&mut self, round: Round) -> Findings;

    /// Judges what [`crate::Reader::wait`] returned, and returns the same.
    fn news(&mut self, news: Vec<Value>, now: &Now) -> Findings {
        let _ = (news, now);
        Findings::default()
    }

    /// What has to be remembered across restarts, small; `None` if it is as it was when last asked.
    fn keep(&mut self) -> Option<Value> {
        None
    }

    /// The state that an earlier run of this or an older version saved; what is not understood is forgotten.
    fn resume(&mut self, kept: Value) {
        let _ = kept;
    }
}
