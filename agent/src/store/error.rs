//! Why the file cannot be read or written, and what is to be done about it.

use std::{io, path::Path};

use rusqlite::ErrorCode;

use super::SaveError;

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
    #[error("only reading is allowed")]
    ReadOnly,
    /// The path names another file than the open one, or none.
    #[error("the file was removed or replaced")]
    Replaced,
    #[error("the file was written by a newer nodewell (its schema is {found}, this one knows {known})")]
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
        let (reason, advice) = match self.kind() {
            ErrorKind::Full => ("StateDiskFull", "make room there; state.db itself may grow to 64 MiB"),
            ErrorKind::ReadOnly => ("StateReadOnly", "mount its filesystem writable again"),
            ErrorKind::Missing => ("StateMissing", "make the directory, writable for nodewell"),
            ErrorKind::InUse => ("StateInUse", "stop the other agent, or the process that has state.db open"),
            ErrorKind::Corrupt => ("StateUnwritable", "move state.db away; the agent makes a new one"),
            ErrorKind::Unwritable if matches!(self, Self::Newer { .. }) => {
                ("StateUnwritable", "install that version again, or move state.db away")
            }
            ErrorKind::Replaced | ErrorKind::Unwritable => {
                ("StateUnwritable", "see that the directory and state.db belong to nodewell and that the disk works")
            }
        };
        SaveError::new(reason, format!("no state can be saved in {directory}: {self}; {advice}"))
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
