//! Why the file cannot be read or written, and what is to be done about it.

use std::{io, path::Path};

use nodewell_message::MessageArgs;
use rusqlite::ErrorCode;

use super::{SaveError, database::LIMIT_MIB};

/// What went wrong with the file.
#[derive(Debug, thiserror::Error)]
pub(super) enum DatabaseError {
    #[error("{0}")]
    Sqlite(#[from] rusqlite::Error),
    #[error("{0}")]
    Host(#[from] io::Error),
    /// Its own check failed.
    #[error("{0}")]
    Damaged(String),
    /// The file was opened, but writing is not allowed.
    #[error("the file is read-only")]
    ReadOnly,
    /// The path names another file than the open one, or none.
    #[error("state.db was removed or replaced")]
    Replaced,
    #[error("a newer nodewell wrote state.db (schema {found}, this version knows {known})")]
    Newer { found: i64, known: i64 },
}

/// What kind of error that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ErrorKind {
    Full,
    ReadOnly,
    Missing,
    InUse,
    Corrupt,
    Replaced,
    Unwritable,
}

impl DatabaseError {
    pub(super) fn kind(&self) -> ErrorKind {
        match self {
            Self::Sqlite(rusqlite::Error::SqliteFailure(error, _)) => of_code(error.code),
            // Text that is not UTF-8: SQLite's own check does not look at that.
            Self::Sqlite(rusqlite::Error::FromSqlConversionFailure(..) | rusqlite::Error::Utf8Error(..))
            | Self::Damaged(_) => ErrorKind::Corrupt,
            Self::Sqlite(_) | Self::Newer { .. } => ErrorKind::Unwritable,
            Self::Host(error) => of_host(error.kind()),
            Self::ReadOnly => ErrorKind::ReadOnly,
            Self::Replaced => ErrorKind::Replaced,
        }
    }

    /// As a message for people: what, where, what to do.
    pub(super) fn save_error(&self, directory: &Path) -> SaveError {
        let directory = directory.display();
        let key = match self.kind() {
            ErrorKind::Full => {
                let args: MessageArgs<'_> = &[("directory", &directory), ("error", self), ("limit", &LIMIT_MIB)];
                return SaveError::of("StateDiskFull", args);
            }
            ErrorKind::ReadOnly => "StateReadOnly",
            ErrorKind::Missing => "StateMissing",
            ErrorKind::InUse => "StateInUse",
            ErrorKind::Corrupt => "StateUnwritable/damaged",
            ErrorKind::Unwritable if matches!(self, Self::Newer { .. }) => "StateUnwritable/newer",
            ErrorKind::Replaced | ErrorKind::Unwritable => "StateUnwritable",
        };
        SaveError::of(key, &[("directory", &directory), ("error", self)])
    }
}

fn of_code(code: ErrorCode) -> ErrorKind {
    match code {
        ErrorCode::DiskFull => ErrorKind::Full,
        ErrorCode::ReadOnly => ErrorKind::ReadOnly,
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => ErrorKind::InUse,
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => ErrorKind::Corrupt,
        _ => ErrorKind::Unwritable,
    }
}

fn of_host(kind: io::ErrorKind) -> ErrorKind {
    match kind {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorKind::Full,
        io::ErrorKind::ReadOnlyFilesystem => ErrorKind::ReadOnly,
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => ErrorKind::Missing,
        _ => ErrorKind::Unwritable,
    }
}
