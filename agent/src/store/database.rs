//! The file itself: opened, checked, read and written. Only the store's thread is here, and it may wait for the disk.

use std::{
    fs::{self, DirBuilder, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use nodewell_model::{Row, Table};
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior, config::DbConfig};

use super::{error::DatabaseError, pending::Pending, schema};
use crate::runtime::crash;

/// The file's name; its write-ahead log is the same with `-wal`.
pub(super) const FILE: &str = "state.db";
/// The file's largest size.
pub(super) const LIMIT_MIB: u32 = 64;
/// The same in pages of 4 KiB.
const PAGES_LIMIT: u32 = LIMIT_MIB * 1024 / 4;
/// A log that a burst has made longer than this is cut at once.
const LOG_LIMIT_BYTES: u64 = 8 * 1024 * 1024;
/// Free pages are given back from here on: 1 MiB after a burst.
const FREE_PAGES_LIMIT: u32 = 256;

/// The exclusive lock keeps a second agent out, and the log's index in our memory instead of in a mapped file, which a dying
/// disk could take away under us. It has to be there before the file is first read.
const LOCKED: &str = "PRAGMA locking_mode = EXCLUSIVE";

/// How the file is opened. A commit waits for the disk (FULL). The log is taken into the file at 1 MiB and cut to that.
const PRAGMAS: &str = "
    PRAGMA cache_size = -128;
    PRAGMA temp_store = MEMORY;
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    PRAGMA wal_autocheckpoint = 256;
    PRAGMA journal_size_limit = 1048576;
";

/// An open file.
#[derive(Debug)]
pub(super) struct Database {
    connection: Connection,
    path: PathBuf,
    /// Chosen at random when the file was made: distinguishes it from any other.
    mark: String,
    /// Of its tables: a newer version's, if that one allows us to use it.
    version: i64,
    identity: Identity,
}

/// Device and inode of the file and of its log, as the paths name them.
type Identity = [Option<(u64, u64)>; 2];

impl Database {
    /// Opens the file of `directory`; makes both if need be.
    pub(super) fn open(directory: &Path) -> Result<Self, DatabaseError> {
        let path = directory.join(FILE);
        crash::point("store.before-open");
        make(directory, &path)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(&path, flags)?;
        if connection.is_readonly("main")? {
            return Err(DatabaseError::ReadOnly);
        }
        // A caller that waits for us must not wait for another agent's lock.
        connection.busy_timeout(std::time::Duration::ZERO)?;
        // Closing a file that was replaced must not touch the new one's log.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        connection.execute_batch(LOCKED)?;
        give_back_pages(&connection)?;
        connection.execute_batch(PRAGMAS)?;
        connection.execute_batch(&format!("PRAGMA max_page_count = {PAGES_LIMIT}"))?;
        check(&connection)?;
        let version = schema::migrate(&mut connection)?;
        let mark = connection.query_row("SELECT mark FROM file", [], |row| row.get(0))?;
        crash::point("store.after-open");
        let identity = identity(&path);
        Ok(Self { connection, path, mark, version, identity })
    }

    pub(super) fn mark(&self) -> &str {
        &self.mark
    }

    /// All rows of a table.
    pub(super) fn rows(&self, table: Table) -> Result<Vec<Row>, DatabaseError> {
        let mut select = self.connection.prepare(&format!("SELECT key, value FROM {}", table.as_str()))?;
        let rows = select.query_map([], |row| Ok(Row { table, key: row.get(0)?, value: Some(row.get(1)?) }))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Writes all of it or nothing; when it returns, it is on the disk.
    pub(super) fn write(&mut self, batch: &Pending) -> Result<(), DatabaseError> {
        self.is_still_there()?;
        self.cut_log()?;
        crash::point("store.before-begin");
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for table in batch.cleared() {
            transaction.execute_batch(&format!("DELETE FROM {}", table.as_str()))?;
        }
        crash::point("store.in-transaction");
        for (table, rows) in batch.rows() {
            write_rows(&transaction, table, rows)?;
        }
        crash::point("store.before-commit");
        transaction.commit()?;
        crash::point("store.after-commit");
        self.shrink()?;
        self.cut_log()
    }

    /// Writes something that changes nothing: only that shows whether the disk takes it.
    pub(super) fn probe(&self) -> Result<(), DatabaseError> {
        Ok(self.connection.execute_batch(&format!("PRAGMA user_version = {}", self.version))?)
    }

    /// Whether what is open is still what the paths name.
    pub(super) fn is_still_there(&mut self) -> Result<(), DatabaseError> {
        let now = identity(&self.path);
        // The log is made by the first write.
        if now[0] != self.identity[0] || self.identity[1].is_some_and(|log| now[1] != Some(log)) {
            return Err(DatabaseError::Replaced);
        }
        self.identity = now;
        Ok(())
    }

    /// SQLite takes the log into the file by itself, but leaves its length, and is silent if it cannot: then the log
    /// would grow for ever, so this is done before a write, too.
    fn cut_log(&self) -> Result<(), DatabaseError> {
        let log = fs::metadata(with_suffix(&self.path, "-wal"));
        if log.is_ok_and(|log| log.len() > LOG_LIMIT_BYTES) {
            self.connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")?;
        }
        Ok(())
    }

    /// Gives back what a burst needed.
    fn shrink(&self) -> Result<(), DatabaseError> {
        let free: u32 = self.connection.query_row("PRAGMA freelist_count", [], |row| row.get(0))?;
        if free > FREE_PAGES_LIMIT {
            // A page for each step.
            let mut vacuum = self.connection.prepare("PRAGMA incremental_vacuum")?;
            let mut pages = vacuum.query([])?;
            while pages.next()?.is_some() {}
        }
        Ok(())
    }

    /// Takes the log into the file and closes both.
    pub(super) fn close(self) -> Result<(), DatabaseError> {
        self.connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")?;
        self.connection.close().map_err(|(_, error)| error.into())
    }
}

fn write_rows<'a>(
    transaction: &Transaction<'_>,
    table: Table,
    rows: impl Iterator<Item = (&'a str, Option<&'a str>)>,
) -> Result<(), DatabaseError> {
    let table = table.as_str();
    let mut upsert = transaction.prepare(&format!(
        "INSERT INTO {table} (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
    ))?;
    let mut delete = transaction.prepare(&format!("DELETE FROM {table} WHERE key = ?1"))?;
    for (key, value) in rows {
        match value {
            Some(value) => upsert.execute([key, value])?,
            None => delete.execute([key])?,
        };
    }
    Ok(())
}

/// Free pages of a new file can be given back. Of an old one it is not set again: that is a write, and a file on a full disk
/// could not be opened.
fn give_back_pages(connection: &Connection) -> Result<(), DatabaseError> {
    const INCREMENTAL: i64 = 2;
    let mode: i64 = connection.query_row("PRAGMA auto_vacuum", [], |row| row.get(0))?;
    if mode != INCREMENTAL {
        connection.execute_batch("PRAGMA auto_vacuum = INCREMENTAL")?;
    }
    Ok(())
}

/// SQLite's own look at the whole file; small files take a millisecond.
fn check(connection: &Connection) -> Result<(), DatabaseError> {
    let verdict: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if verdict == "ok" { Ok(()) } else { Err(DatabaseError::Damaged(verdict)) }
}

/// No other user may read the file: messages may name what a log should not have held.
fn make(directory: &Path, path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o750).create(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists && !directory.is_dir() => return Err(error),
        _ => {}
    }
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(_) => Ok(()),
        Err(_) if path.exists() => Ok(()),
        Err(error) => Err(error),
    }
}

fn identity(path: &Path) -> Identity {
    [path.to_owned(), with_suffix(path, "-wal")]
        .map(|path| fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino())))
}

/// `state.db` → `state.db-wal`.
pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
