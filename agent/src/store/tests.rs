//! The store on real files: what is saved across ends of every kind, and what is reported when nothing can be saved.

mod account;
mod crashes;
mod damage;
mod save_errors;

use std::{path::Path, time::Duration};

use nodewell_model::{Row, Table};

use super::{SaveError, Store, StoreOptions, StoreState, Ticket, WritePriority};

/// Long enough for any disk; no test waits so long when all is well.
const LONG: Duration = Duration::from_secs(30);

fn open(directory: &Path) -> Store {
    Store::open(StoreOptions { directory: directory.to_owned() }).unwrap()
}

fn hangs() -> SaveError {
    SaveError::of("StateHangs", &[("directory", &"/var/lib/nodewell"), ("limit", &2)])
}

fn row(table: Table, key: &str, value: &str) -> Row {
    Row { table, key: key.to_owned(), value: Some(value.to_owned()) }
}

fn gone(table: Table, key: &str) -> Row {
    Row { table, key: key.to_owned(), value: None }
}

async fn saved(store: &Store, table: Table) -> Vec<(String, String)> {
    let rows = store.load(&[table], LONG).await.expect("the file can be opened");
    rows.into_iter().map(|row| (row.key, row.value.unwrap())).collect()
}

/// Whether everything up to `ticket` is durable at last: a disk that others write to may take more than the second that
/// each question waits, and while it is said to hang, no question waits.
async fn durable(store: &Store, ticket: Ticket) -> bool {
    for _ in 0..60 {
        if store.is_durable(ticket).await {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    false
}

async fn until(store: &Store, is: impl FnMut(&StoreState) -> bool) -> StoreState {
    tokio::time::timeout(LONG, store.watch().wait_for(is)).await.expect("in time").unwrap().clone()
}

/// What a crash at this moment would leave.
fn photograph(directory: &Path) -> tempfile::TempDir {
    let photograph = tempfile::tempdir().unwrap();
    // The file first: a log that is younger than the file is what the disk may hold, too.
    for name in ["state.db", "state.db-wal"] {
        let _ = std::fs::copy(directory.join(name), photograph.path().join(name));
    }
    photograph
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

#[tokio::test]
async fn what_was_put_is_there_after_a_clean_end() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    assert_eq!(saved(&store, Table::Claims).await, []);
    store.put(vec![row(Table::Claims, "a", "1"), row(Table::Cursors, "a", "2")], WritePriority::Lazily);
    store.put(vec![row(Table::Claims, "b", "3"), gone(Table::Cursors, "a")], WritePriority::Soon);
    assert!(store.close(LONG).await);
    assert_eq!(std::fs::metadata(directory.path().join("state.db-wal")).unwrap().len(), 0, "all is in the file");

    let store = open(directory.path());
    assert_eq!(saved(&store, Table::Claims).await, pairs(&[("a", "1"), ("b", "3")]));
    assert_eq!(saved(&store, Table::Cursors).await, []);
}

#[tokio::test]
async fn what_is_durable_survives_a_crash() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let ticket = store.put(vec![row(Table::Claims, "a", "1")], WritePriority::Lazily);
    assert!(durable(&store, ticket).await, "asking hurries");
    let after_crash = photograph(directory.path());
    let store = open(after_crash.path());
    assert_eq!(saved(&store, Table::Claims).await, pairs(&[("a", "1")]));
}

#[tokio::test]
async fn a_second_load_returns_what_is_saved_by_now() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    assert_eq!(saved(&store, Table::Events).await, []);
    store.put(vec![row(Table::Events, "1", "x")], WritePriority::Lazily);
    assert_eq!(saved(&store, Table::Events).await, pairs(&[("1", "x")]));
}

#[tokio::test]
async fn all_rows_replace_what_was_there() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let ticket = store.put(vec![row(Table::Claims, "old", "1"), row(Table::Totals, "t", "1")], WritePriority::Now);
    assert!(durable(&store, ticket).await);
    store.put(vec![row(Table::Claims, "waits", "1")], WritePriority::Lazily);
    store.put_all(&[Table::Claims, Table::Cursors], vec![row(Table::Claims, "new", "2")]);
    store.put(vec![row(Table::Claims, "newer", "3")], WritePriority::Lazily);
    assert!(store.close(LONG).await);
    let store = open(directory.path());
    assert_eq!(saved(&store, Table::Claims).await, pairs(&[("new", "2"), ("newer", "3")]));
    assert_eq!(saved(&store, Table::Totals).await, pairs(&[("t", "1")]));
}

#[tokio::test]
async fn a_burst_leaves_no_long_log() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let big = |number: usize| row(Table::Events, &number.to_string(), &"x".repeat(10_000));
    let ticket = store.put_all(&[Table::Events], (0..2000).map(big).collect());
    until(&store, |state| state.durable >= ticket).await;
    let log = || std::fs::metadata(directory.path().join("state.db-wal")).unwrap().len();
    assert!(log() <= 2 * 1024 * 1024, "{} bytes of log are left", log());
    let ticket = store.put_all(&[Table::Events], Vec::new());
    until(&store, |state| state.durable >= ticket).await;
    assert!(log() <= 2 * 1024 * 1024, "{} bytes of log are left", log());
    assert!(store.close(LONG).await);
    let left = std::fs::metadata(directory.path().join("state.db")).unwrap().len();
    assert!(left <= 2 * 1024 * 1024, "{left} bytes are left");
}

#[tokio::test]
async fn nowhere_saves_nothing_and_stops_no_caller() {
    let store = Store::nowhere();
    assert!(!store.is_enabled() && !store.is_full());
    assert_eq!(saved(&store, Table::Claims).await, []);
    assert!(!store.is_durable(store.put(vec![row(Table::Claims, "a", "1")], WritePriority::Now)).await);
    assert_eq!(store.stats().waiting_rows, 0);
    assert!(store.close(LONG).await);
}
