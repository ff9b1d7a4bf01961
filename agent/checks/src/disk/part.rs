//! One part of a reading: what was read, or why not. A part that fails does not take the others with it.

use std::io;

use serde::{Deserialize, Serialize};

use crate::probe::ReadError;

/// A page, a log, a command's answer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part<T> {
    Read(T),
    /// It should be there, and what came is not to be believed, or nothing came.
    Unreadable(String),
    Denied(String),
    /// The device does not offer it, or was not asked.
    #[default]
    Absent,
}

impl<T> Part<T> {
    /// What was read, if it was.
    pub(super) fn read(&self) -> Option<&T> {
        match self {
            Self::Read(value) => Some(value),
            _ => None,
        }
    }

    /// Whether it should be there and could not be read.
    pub(super) fn is_lost(&self) -> bool {
        matches!(self, Self::Unreadable(_) | Self::Denied(_))
    }

    pub(super) fn map<U>(self, change: impl FnOnce(T) -> U) -> Part<U> {
        match self {
            Self::Read(value) => Part::Read(change(value)),
            Self::Unreadable(why) => Part::Unreadable(why),
            Self::Denied(why) => Part::Denied(why),
            Self::Absent => Part::Absent,
        }
    }

    /// Only a device that is gone is an error for the whole reading.
    pub(super) fn of(result: Result<T, ReadError>) -> Result<Self, ReadError> {
        match result {
            Ok(value) => Ok(Self::Read(value)),
            Err(ReadError::Failed { message }) => Ok(Self::Unreadable(message)),
            Err(ReadError::Denied { message }) => Ok(Self::Denied(message)),
            Err(ReadError::Unsupported { .. }) => Ok(Self::Absent),
            Err(gone @ ReadError::Gone { .. }) => Err(gone),
        }
    }
}

/// What the kernel's refusal of `what` means.
pub(super) fn read_error(what: &str, right: &str, error: &io::Error) -> ReadError {
    let message = format!("{what}: {error}");
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENODEV | libc::ENXIO) => ReadError::Gone { what: what.to_owned() },
        Some(libc::EACCES | libc::EPERM) => ReadError::Denied { message: format!("{message}; {right} is needed") },
        Some(libc::ENOTTY | libc::EOPNOTSUPP | libc::ENOSYS) => ReadError::Unsupported { message },
        _ => ReadError::Failed { message },
    }
}
