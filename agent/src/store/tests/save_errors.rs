//! Disks that do not take it: reported with a reason, tried again, and caught up with.

use std::{fs, sync::mpsc, time::Duration};

use nodewell_model::{Row, Table};

use super::{
    super::{Store, StoreState, WritePriority, shared::Shared},
    LONG, durable, hangs, open, pairs, row, saved, until,
};

async fn reason(store: &Store) -> String {
    until(store, |state| state.save_error.is_some()).await.save_error.unwrap().reason.as_str().to_owned()
}

#[tokio::test]
async fn a_missing_directory_is_waited_for() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("lib/nodewell");
    let store = open(&directory);
    assert_eq!(store.load(&[Table::Claims], LONG).await, None, "no caller waits for it");
    assert_eq!(reason(&store).await, "StateMissing");
    let ticket = store.put(vec![row(Table::Claims, "a", "1")], WritePriority::Now);
    assert!(!store.is_durable(ticket).await);
    fs::create_dir_all(&directory).unwrap();
    assert_eq!(store.load_when_opened(&[Table::Claims]).await, []);
    let state = until(&store, |state| state.save_error.is_none() && state.durable >= ticket).await;
    assert_eq!(state.resets, 0, "nothing that was put is missing");
    assert!(store.close(LONG).await);
    assert_eq!(saved(&open(&directory), Table::Claims).await, pairs(&[("a", "1")]));
}

#[tokio::test]
async fn two_agents_never_share_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let first = open(directory.path());
    assert!(durable(&first, first.put(vec![row(Table::Claims, "a", "1")], WritePriority::Now)).await);
    let second = open(directory.path());
    assert_eq!(second.load(&[Table::Claims], LONG).await, None);
    assert_eq!(reason(&second).await, "StateInUse");
    assert!(durable(&first, first.put(vec![row(Table::Claims, "b", "2")], WritePriority::Now)).await);
    assert!(first.close(LONG).await);
    let rows = second.load_when_opened(&[Table::Claims]).await;
    assert_eq!(rows.len(), 2, "the second agent goes on where the first ended");
}

#[tokio::test]
async fn a_file_that_is_full_is_reported_and_recovers_by_deletes() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let key = |number: usize| format!("{number:05}");
    let mut number = 0;
    // A busy disk is said to hang, until it answers.
    let answers =
        |state: &StoreState| state.save_error.as_ref().is_none_or(|error| error.reason.as_str() != "StateHangs");
    while until(&store, answers).await.save_error.is_none() {
        let rows = (number..number + 1000).map(|number| row(Table::Events, &key(number), &"x".repeat(4000)));
        let ticket = store.put(rows.collect(), WritePriority::Now);
        number += 1000;
        assert!(number < 20_000, "the file is bounded");
        let _ = store.is_durable(ticket).await;
    }
    assert_eq!(until(&store, answers).await.save_error.unwrap().reason.as_str(), "StateDiskFull");
    assert!(fs::metadata(directory.path().join("state.db")).unwrap().len() <= 64 * 1024 * 1024);
    let rows = (0..number).map(|number| Row { table: Table::Events, key: key(number), value: None });
    let ticket = store.put(rows.collect(), WritePriority::Now);
    until(&store, |state| state.save_error.is_none() && state.durable >= ticket).await;
    assert!(store.close(LONG).await);
    let length = fs::metadata(directory.path().join("state.db")).unwrap().len();
    assert!(length < 2 * 1024 * 1024, "what a burst needed is given back: {length} bytes are left");
}

#[test]
fn a_disk_that_does_not_answer_is_reported_to_hang_until_it_does() {
    let shared = std::sync::Arc::new(Shared::default());
    let (answer, disk) = mpsc::channel();
    let (writer, watcher) = (shared.clone(), shared.clone());
    let threads = [
        std::thread::spawn(move || writer.at_work(|| disk.recv().unwrap())),
        std::thread::spawn(move || watcher.watch_for_hangs(&hangs())),
    ];
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let mut states = shared.watch();
    runtime.block_on(async {
        let hangs = states.wait_for(|state| state.save_error.is_some());
        tokio::time::timeout(LONG, hangs).await.unwrap().unwrap();
        answer.send(()).unwrap();
        let answers = states.wait_for(|state| state.save_error.is_none());
        tokio::time::timeout(Duration::from_secs(10), answers).await.unwrap().unwrap();
    });
    shared.mark_ended();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}
