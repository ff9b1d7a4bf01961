//! What is in the file: a table for each kind of rows, one for the file's own mark, and how older files become like that.

use nodewell_model::Table;
use rusqlite::{Connection, TransactionBehavior};

use super::error::DatabaseError;

/// `PRAGMA user_version` of the files written here. Every change of the tables adds a step to [`migrate`].
pub(super) const VERSION: i64 = 1;

/// Makes the file what this version writes. One that a newer version wrote is left alone.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), DatabaseError> {
    let found: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if found > VERSION {
        return Err(DatabaseError::Newer { found, known: VERSION });
    }
    if found == VERSION {
        return Ok(());
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
    transaction.execute_batch(&format!("PRAGMA user_version = {VERSION}"))?;
    Ok(transaction.commit()?)
}
