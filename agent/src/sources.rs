//! First stage: where records come from. Each source runs on a thread of its own and hands records to the monitor
//! on that same thread; it never hides what it missed.

pub mod file;
pub mod journal;
pub mod kmsg;

pub(crate) mod framer;
#[cfg(test)]
mod testing;
mod wait;

use jiff::Timestamp;
use nodewell_faults::{message, message::reason_of};
use nodewell_message::MessageArgs;
use nodewell_model::{Name, Origin, Record};

use crate::runtime::Stop;

/// Something that reads records until it is stopped.
pub trait Source: Send {
    /// Reads until `stop` is set or the source is gone for good. An error is reported to `sink`, not returned: the
    /// source keeps trying for as long as trying makes sense.
    fn run(self: Box<Self>, sink: &mut dyn Sink, stop: &Stop);
}

/// Receives what a source reads. Called on the source's own thread.
pub trait Sink {
    /// One record.
    fn record(&mut self, record: &Record<'_>);
    /// One record that an earlier run has judged: it is only shown for what comes after it.
    fn known(&mut self, record: &Record<'_>) {
        let _ = record;
    }
    /// Nothing more will be read from the log file of this cursor: it has gone, and was read to its end.
    fn finished(&mut self, cursor: &Origin) {
        let _ = cursor;
    }
    /// A record was read that is not for the rules: of another facility, or not a record at all. It is counted.
    fn passed_over(&mut self);
    /// Records were lost and will not come again.
    fn gap(&mut self, gap: Gap);
    /// The source can see, or cannot. Reported on every change, and once at the start.
    fn state(&mut self, state: SourceState);
    /// Nothing more to read right now: what was merged can go out.
    fn idle(&mut self);
}

/// A counted loss.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// How many records; `None` where the source cannot know.
    pub lost: Option<u64>,
    /// When reading went on.
    pub time: Timestamp,
    /// What happened, for people.
    pub message: String,
}

/// Whether a source sees what it is meant to watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceState {
    Running,
    /// It cannot see; the reason (CamelCase, such as `PermissionDenied`) and what to do about it.
    Blind {
        reason: Name,
        message: String,
    },
}

impl Gap {
    /// A loss at `time`, with the message of `key` and its arguments.
    pub(crate) fn of(key: &str, args: MessageArgs<'_>, lost: Option<u64>, time: Timestamp) -> Self {
        Self { lost, time, message: message(key, args) }
    }
}

impl SourceState {
    /// It cannot see; `key` begins with the reason.
    pub(crate) fn blind(key: &'static str, args: MessageArgs<'_>) -> Self {
        Self::Blind { reason: Name::fixed(reason_of(key)), message: message(key, args) }
    }
}
