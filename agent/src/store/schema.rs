//! What is in the file: a table for each kind of rows, one for the file's own mark, and how older files become like that.

use nodewell_model::Table;
use rusqlite::{Connection, TransactionBehavior};

use super::error::DatabaseError;

/// `PRAGMA user_version` of the files written here. Every change of the tables adds a step to [`migrate`].
pub(super) const VERSION: i64 = 2;

/// The oldest version that may use a file as this one writes it, tables and columns that it does not know left as they
/// are: the way back from an upgrade. Raise it with a step only where an older version would misread or spoil what it
/// finds. What the ledger does not know it leaves as it is: kinds of rows, members of one, severities, actions, types
/// of conditions. A known kind of row that looks different, or another kind of origin, is such a place.
const USABLE_SINCE: i64 = 2;

/// Makes the file what this version writes. One that a newer version wrote stays as it is, and is used if that version
/// allows it. Gives the version that the file has now.
pub(super) fn migrate(connection: &mut Connection) -> Result<i64, DatabaseError> {
    let found: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if found == VERSION {
        return Ok(found);
    }
    if found > VERSION {
        let is_usable = usable_since(connection).is_some_and(|since| since <= VERSION);
        return if is_usable { Ok(found) } else { Err(DatabaseError::Newer { found, known: VERSION }) };
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if found < 1 {
        for table in Table::ALL {
            transaction.execute_batch(&format!(
                "CREATE TABLE {} (key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID, STRICT",
                table.as_str()
            ))?;
        }
        transaction.execute_batch("CREATE TABLE file (mark TEXT NOT NULL) STRICT")?;
        let mark = format!("{:016x}", nodewell_client::random());
        transaction.execute("INSERT INTO file (mark) VALUES (?1)", [mark])?;
    }
    if found < 2 {
        transaction.execute_batch("ALTER TABLE file ADD COLUMN usable_since INTEGER NOT NULL DEFAULT 0")?;
    }
    transaction.execute("UPDATE file SET usable_since = ?1", [USABLE_SINCE])?;
    transaction.execute_batch(&format!("PRAGMA user_version = {VERSION}"))?;
    transaction.commit()?;
    Ok(VERSION)
}

/// `None` where it cannot be read: a version that has no such column any more is none that we know how to live with.
fn usable_since(connection: &Connection) -> Option<i64> {
    connection.query_row("SELECT usable_since FROM file", [], |row| row.get(0)).ok()
}
