//! What is reported of a device that cannot be judged.

use std::fmt;

use nodewell_faults::message;
use nodewell_message::MessageArgs;
use nodewell_model::Name;

use crate::probe::{PollError, ReadError, State};

/// Why the state of a device is unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnknownReason {
    /// It never answers, or nothing can be asked of it.
    NotAnswering,
    /// Its answer is of no use.
    Unreadable,
    /// The check may not ask it.
    PermissionDenied,
    /// A check's own reason.
    Named(Name),
}

impl From<UnknownReason> for Name {
    /// The reason as conditions have it.
    fn from(reason: UnknownReason) -> Self {
        match reason {
            UnknownReason::NotAnswering => Self::fixed("DeviceNotAnswering"),
            UnknownReason::Unreadable => Self::fixed("DeviceUnreadable"),
            UnknownReason::PermissionDenied => Self::fixed("PermissionDenied"),
            UnknownReason::Named(name) => name,
        }
    }
}

impl fmt::Display for UnknownReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Name::from(self.clone()), f)
    }
}

/// A device that never answers is distinguished from one whose answer is of no use, and from one that we may not ask.
#[must_use]
pub fn unknown(error: &PollError) -> State {
    match error {
        PollError::NoAnswer(no_answer) => State::not_answering("DeviceNotAnswering", &[("error", &no_answer.message)]),
        PollError::Read(ReadError::Denied { message }) => State::denied(message),
        PollError::Read(error) => State::unreadable(error),
    }
}

impl State {
    /// Unknown, because nothing answers; the message of `key` with its arguments.
    pub(crate) fn not_answering(key: &'static str, args: MessageArgs<'_>) -> Self {
        Self::Unknown { reason: UnknownReason::NotAnswering, message: message(key, args) }
    }

    /// Unknown, because what came is of no use.
    pub(crate) fn unreadable(error: &dyn fmt::Display) -> Self {
        Self::Unknown { reason: UnknownReason::Unreadable, message: message("DeviceUnreadable", &[("error", error)]) }
    }

    /// Unknown, because the check lacks a right.
    #[must_use]
    pub fn denied(error: &dyn fmt::Display) -> Self {
        Self::Unknown {
            reason: UnknownReason::PermissionDenied,
            message: message("PermissionDenied", &[("error", error)]),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::probe::NoAnswer;

    /// Every error that is not an absence, and what is reported then.
    pub(crate) fn poll_errors() -> [(PollError, &'static str); 4] {
        let since = jiff::Timestamp::UNIX_EPOCH;
        let message = || "as a test says".to_owned();
        [
            (PollError::NoAnswer(NoAnswer::asked(since, message())), "DeviceNotAnswering"),
            (PollError::Read(ReadError::Failed { message: message() }), "DeviceUnreadable"),
            (PollError::Read(ReadError::Unsupported { message: message() }), "DeviceUnreadable"),
            (PollError::Read(ReadError::Denied { message: message() }), "PermissionDenied"),
        ]
    }

    #[test]
    fn the_reason_is_reported_with_the_readers_own_message() {
        for (error, expected) in poll_errors() {
            let State::Unknown { reason, message } = unknown(&error) else { panic!("{error:?}") };
            assert!(reason.to_string() == expected && message.contains("as a test says; "), "{reason}: {message}");
        }
    }
}
