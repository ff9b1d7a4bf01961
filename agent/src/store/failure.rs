//! Why the file cannot be read or written, and what is to be done about it.

use std::{io, path::Path};

use rusqlite::ErrorCode;

use super::Trouble;

/// What went wrong with the file.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
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

/// What kind of failure that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Full,
    ReadOnly,
    Missing,
    InUse,
    Corrupt,
    Replaced,
    Unwritable,
}

impl Failure {
    pub(super) fn kind(&self) -> Kind {
        match self {
            Self::Sqlite(rusqlite::Error::SqliteFailure(error, _)) => of_code(error.code),
            // Text that is not UTF-8: SQLite's own check does not look at that.
            Self::Sqlite(rusqlite::Error::FromSqlConversionFailure(..) | rusqlite::Error::Utf8Error(..))
            | Self::Damaged(_) => Kind::Corrupt,
            Self::Sqlite(_) | Self::Newer { .. } => Kind::Unwritable,
            Self::Host(error) => of_host(error.kind()),
            Self::ReadOnly => Kind::ReadOnly,
            Self::Replaced => Kind::Replaced,
        }
    }

    /// As a message for people: what, where, what to do.
    pub(super) fn trouble(&self, directory: &Path) -> Trouble {
        let place = directory.display();
        let (reason, advice) = match self.kind() {
            Kind::Full => ("StateDiskFull", "make room there; state.db itself may grow to 64 MiB"),
            Kind::ReadOnly => ("StateReadOnly", "mount its filesystem writable again"),
            Kind::Missing => ("StateMissing", "make the directory, writable for nodewell"),
            Kind::InUse => ("StateInUse", "stop the other agent, or the process that has state.db open"),
            Kind::Corrupt => ("StateUnwritable", "move state.db away; the agent makes a new one"),
            Kind::Unwritable if matches!(self, Self::Newer { .. }) => {
                ("StateUnwritable", "install that version again, or move state.db away")
            }
            Kind::Replaced | Kind::Unwritable => {
                ("StateUnwritable", "see that the directory and state.db belong to nodewell and that the disk works")
            }
        };
        Trouble::new(reason, format!("no state can be kept in {place}: {self}; {advice}"))
    }
}

fn of_code(code: ErrorCode) -> Kind {
    match code {
        ErrorCode::DiskFull => Kind::Full,
        ErrorCode::ReadOnly => Kind::ReadOnly,
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Kind::InUse,
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => Kind::Corrupt,
        _ => Kind::Unwritable,
    }
}

fn of_host(kind: io::ErrorKind) -> Kind {
    match kind {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Kind::Full,
        io::ErrorKind::ReadOnlyFilesystem => Kind::ReadOnly,
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Kind::Missing,
        _ => Kind::Unwritable,
    }
}
