//! Damaged, foreign and vanished files: moved aside or left alone, reported, and created again.

use std::{fs, os::unix::fs::FileExt as _, path::Path};

use nodewell_model::Table;

use super::{super::WritePriority, LONG, durable, open, pairs, row, saved, until};

async fn with_one_row(directory: &Path) {
    let store = open(directory);
    store
        .put((0..200).map(|n| row(Table::Claims, &format!("key {n}"), &"v".repeat(200))).collect(), WritePriority::Now);
    assert!(store.close(LONG).await);
}

fn moved_aside(directory: &Path) -> Vec<String> {
    let names = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut aside: Vec<String> = names.filter(|name| name.starts_with("state.db.corrupt-")).collect();
    aside.retain(|name| !name.ends_with("-wal"));
    aside.sort();
    aside
}

/// What was damaged before the start costs what it held and nothing else.
async fn starts_empty(directory: &Path) {
    let store = open(directory);
    assert_eq!(saved(&store, Table::Claims).await, []);
    let state = until(&store, |state| state.corruption.is_some()).await;
    assert_eq!((state.save_error, state.resets), (None, 0));
    assert_eq!(moved_aside(directory).len(), 1);
    let ticket = store.put(vec![row(Table::Claims, "a", "1")], WritePriority::Now);
    assert!(durable(&store, ticket).await);
}

#[tokio::test]
async fn random_bytes_are_moved_aside() {
    let directory = tempfile::tempdir().unwrap();
    with_one_row(directory.path()).await;
    fs::write(directory.path().join("state.db"), "this is not a database".repeat(500)).unwrap();
    starts_empty(directory.path()).await;
}

#[tokio::test]
async fn a_page_of_zeros_is_moved_aside() {
    let directory = tempfile::tempdir().unwrap();
    with_one_row(directory.path()).await;
    let file = fs::OpenOptions::new().write(true).open(directory.path().join("state.db")).unwrap();
    let pages = file.metadata().unwrap().len() / 4096;
    (1..pages).for_each(|page| file.write_all_at(&[0; 4096], page * 4096).unwrap());
    starts_empty(directory.path()).await;
}

#[tokio::test]
async fn a_truncated_file_is_moved_aside() {
    let directory = tempfile::tempdir().unwrap();
    with_one_row(directory.path()).await;
    let file = fs::OpenOptions::new().write(true).open(directory.path().join("state.db")).unwrap();
    file.set_len(2 * 4096).unwrap();
    starts_empty(directory.path()).await;
}

#[tokio::test]
async fn an_empty_file_is_filled() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("state.db"), "").unwrap();
    let store = open(directory.path());
    assert_eq!(saved(&store, Table::Claims).await, []);
    assert!(durable(&store, store.put(vec![row(Table::Claims, "a", "1")], WritePriority::Now)).await);
    assert_eq!(moved_aside(directory.path()), Vec::<String>::new());
}

#[tokio::test]
async fn three_damaged_files_stay() {
    let directory = tempfile::tempdir().unwrap();
    let mut newest = Vec::new();
    for _ in 0..5 {
        fs::write(directory.path().join("state.db"), "this is not a database".repeat(500)).unwrap();
        let store = open(directory.path());
        let state = until(&store, |state| state.corruption.is_some()).await;
        newest.push(state.corruption.unwrap().file.file_name().unwrap().to_str().unwrap().to_owned());
        assert!(store.close(LONG).await);
    }
    assert_eq!(moved_aside(directory.path()), newest[2..]);
}

#[tokio::test]
async fn a_file_of_a_newer_version_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    with_one_row(directory.path()).await;
    let path = directory.path().join("state.db");
    altered(&path, "UPDATE file SET usable_since = 98; PRAGMA user_version = 99");
    let before = fs::read(&path).unwrap();
    let store = open(directory.path());
    assert_eq!(store.load(&[Table::Claims], LONG).await, None, "and no caller waits for it");
    let save_error = until(&store, |state| state.save_error.is_some()).await.save_error.unwrap();
    assert_eq!(save_error.reason.as_str(), "StateUnwritable");
    assert!(save_error.message.contains("newer nodewell"), "{}", save_error.message);
    assert!(!store.is_durable(store.put(vec![row(Table::Claims, "a", "1")], WritePriority::Now)).await);
    assert!(!store.close(LONG).await);
    assert_eq!(fs::read(&path).unwrap(), before);
}

/// The way back from an upgrade: the older version goes on, and the newer one finds what is its own again.
#[tokio::test]
async fn a_file_that_a_newer_version_lets_us_use_keeps_what_is_not_known_here() {
    let directory = tempfile::tempdir().unwrap();
    with_one_row(directory.path()).await;
    let path = directory.path().join("state.db");
    altered(
        &path,
        "CREATE TABLE later (key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID, STRICT;
         INSERT INTO later (key, value) VALUES ('k', 'theirs');
         ALTER TABLE claims ADD COLUMN more TEXT NOT NULL DEFAULT 'usual';
         UPDATE claims SET more = 'theirs' WHERE key = 'key 0';
         PRAGMA user_version = 99",
    );
    let store = open(directory.path());
    assert_eq!(saved(&store, Table::Claims).await.len(), 200);
    let rows = vec![row(Table::Claims, "a", "1"), row(Table::Claims, "key 0", "2")];
    assert!(durable(&store, store.put(rows, WritePriority::Now)).await);
    assert!(store.close(LONG).await);

    let file = rusqlite::Connection::open(&path).unwrap();
    let text = |query: &str| file.query_row(query, [], |row| row.get::<_, String>(0)).unwrap();
    assert_eq!(text("SELECT value FROM later"), "theirs");
    assert_eq!(text("SELECT value || more FROM claims WHERE key = 'key 0'"), "2theirs");
    assert_eq!(text("SELECT value || more FROM claims WHERE key = 'a'"), "1usual");
    let version: i64 = file.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
    assert_eq!(version, 99, "it is still that version's file");
}

#[tokio::test]
async fn a_file_of_the_first_version_is_brought_up_to_date() {
    let directory = tempfile::tempdir().unwrap();
    with_one_row(directory.path()).await;
    altered(&directory.path().join("state.db"), "ALTER TABLE file DROP COLUMN usable_since; PRAGMA user_version = 1");
    let store = open(directory.path());
    assert_eq!(saved(&store, Table::Claims).await.len(), 200);
    assert!(durable(&store, store.put(vec![row(Table::Claims, "a", "1")], WritePriority::Now)).await);
    assert_eq!(moved_aside(directory.path()), Vec::<String>::new());
}

fn altered(path: &Path, statements: &str) {
    rusqlite::Connection::open(path).unwrap().execute_batch(statements).unwrap();
}

#[tokio::test]
async fn a_file_removed_under_us_is_made_again_and_filled_by_its_owners() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    assert!(durable(&store, store.put(vec![row(Table::Claims, "a", "1")], WritePriority::Now)).await);
    fs::remove_file(directory.path().join("state.db")).unwrap();
    fs::remove_file(directory.path().join("state.db-wal")).unwrap();
    store.put(vec![row(Table::Claims, "b", "2")], WritePriority::Now);
    let state = until(&store, |state| state.resets == 1).await;
    assert_eq!(state.save_error, None);
    let all = vec![row(Table::Claims, "a", "1"), row(Table::Claims, "b", "2")];
    assert!(durable(&store, store.put_all(&[Table::Claims], all)).await);
    assert!(store.close(LONG).await);
    assert_eq!(saved(&open(directory.path()), Table::Claims).await, pairs(&[("a", "1"), ("b", "2")]));
}

#[tokio::test]
async fn a_log_removed_under_us_is_noticed() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    assert!(durable(&store, store.put(vec![row(Table::Claims, "a", "1")], WritePriority::Now)).await);
    fs::remove_file(directory.path().join("state.db-wal")).unwrap();
    store.put(vec![row(Table::Claims, "b", "2")], WritePriority::Now);
    until(&store, |state| state.resets == 1).await;
}
