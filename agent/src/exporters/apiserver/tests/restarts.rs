//! What the exporter knows of Events outlives a panic, and with a store a crash.

use std::path::Path;

use nodewell_model::{EventRecord, Row, Table};
use tempfile::TempDir;

use super::{
    events::{COUNTS, EVENTS, delivered, record},
    *,
};
use crate::store::{Store, StoreOptions, WritePriority};

fn bench_on(server: &Server, state: &Path) -> Bench {
    let store = Store::open(StoreOptions { directory: state.to_owned() }).unwrap();
    let (shared_state, commands) = SharedState::with_store("n1", store);
    let bench = Bench::start_on(shared_state, commands, EventsCheckpoint::default(), config(server.kubeconfig()));
    bench.set(&[("A", ConditionStatus::False)]);
    bench
}

/// Ends it as a crash does that comes when everything so far is on the disk; what it leaves there.
async fn crash(mut bench: Bench, state: &Path) -> TempDir {
    let store = bench.shared_state.store();
    assert!(store.is_durable(store.put(Vec::new(), WritePriority::Now)).await);
    let left = tempfile::tempdir().unwrap();
    for name in ["state.db", "state.db-wal"] {
        std::fs::copy(state.join(name), left.path().join(name)).unwrap();
    }
    bench.abort().await;
    left
}

/// As the ledger does it: saved first, reported then.
fn report(shared_state: &SharedState, record: EventRecord) {
    save(shared_state, &record);
    shared_state.events().extend([record]);
}

fn save(shared_state: &SharedState, record: &EventRecord) {
    let value = serde_json::to_string(record).ok();
    shared_state
        .store()
        .put(vec![Row { table: Table::Events, key: record.id.to_string(), value }], WritePriority::Soon);
}

fn reasons(server: &Server) -> Vec<String> {
    server.seen(EVENTS).iter().map(|seen| seen.body["reason"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn after_a_panic_nothing_is_reported_again_and_counts_go_on() {
    let server = Server::start().await;
    let checkpoint = EventsCheckpoint::default();
    let (shared_state, commands) = SharedState::new("n1");
    let mut first = Bench::start_on(shared_state, commands, checkpoint.clone(), config(server.kubeconfig()));
    first.set(&[("A", ConditionStatus::False)]);
    first.shared_state.events().extend([record(1, "IOError")]);
    server.until("one event", |server| server.events().len() == 1).await;
    delivered(&first).await;
    first.abort().await;
    let Bench { shared_state, commands, .. } = first;
    let second = Bench::start_on(shared_state, commands, checkpoint, config(server.kubeconfig()));
    second.shared_state.events().extend([record(2, "IOError")]);
    server.until("counted", |server| server.events()[0]["count"] == 2).await;
    delivered(&second).await;
    assert_eq!((server.seen(EVENTS).len(), server.seen(COUNTS).len()), (1, 1));
}

#[tokio::test]
async fn after_a_crash_in_an_outage_everything_goes_out_once_and_in_order() {
    let mut server = Server::start().await;
    server.stop().await;
    let state = tempfile::tempdir().unwrap();
    let first = bench_on(&server, state.path());
    report(&first.shared_state, record(2, "IOError"));
    report(&first.shared_state, record(3, "AtaError"));
    first.until("both wait", |view| view.undelivered == 2).await;
    // Older, and reported last: no exporter takes it over any more.
    save(&first.shared_state, &EventRecord { id: 4, ..record(1, "KernelOops") });
    let left = crash(first, state.path()).await;

    let second = bench_on(&server, left.path());
    second.until("what was left waits", |view| view.undelivered == 3).await;
    server.start_again().await;
    server.until("all three", |server| server.events().len() == 3).await;
    delivered(&second).await;
    assert_eq!(reasons(&server), ["KernelOops", "IOError", "AtaError"]);
    let after = crash(second, left.path()).await;

    let third = bench_on(&server, after.path());
    report(&third.shared_state, record(5, "AtaError"));
    server.until("counted", |server| server.events().iter().any(|event| event["count"] == 2)).await;
    delivered(&third).await;
    assert_eq!((server.seen(EVENTS).len(), server.seen(COUNTS).len()), (3, 1));
}

#[tokio::test]
async fn a_disk_that_takes_nothing_delays_no_event() {
    let server = Server::start().await;
    let state = tempfile::NamedTempFile::new().unwrap();
    let bench = bench_on(&server, state.path());
    bench.shared_state.events().extend([record(1, "IOError")]);
    server.until("the event", |server| server.events().len() == 1).await;
    delivered(&bench).await;
    assert!(bench.shared_state.store().watch().borrow().save_error.is_some());
}
