//! What the delivery state yields after restarts, made by hand and by chance.

mod simulation;
mod world;

use std::collections::BTreeMap;

use jiff::Timestamp;
use nodewell_model::{BootId, Name, Origin, Severity};

use super::*;

/// What a store would have after these puts.
type Rows = BTreeMap<(Table, String), String>;

fn now(secs: u64) -> Now {
    let wall = Timestamp::from_second(1_700_000_000 + i64::try_from(secs).unwrap()).unwrap();
    Now { wall, boottime: Duration::from_secs(1000 + secs) }
}

/// The `n`-th line of the kernel log; its number as record is `id`.
fn record(id: u64, n: u64, subject: &str) -> EventRecord {
    let boot_id = BootId::default();
    let time = Timestamp::from_second(1_600_000_000 + i64::try_from(n).unwrap()).unwrap();
    EventRecord {
        id,
        origin: Origin::Kmsg { boot_id, sequence: n },
        boot_id: Some(boot_id),
        severity: Severity::Error,
        time,
        last_time: time,
        reason: Name::fixed("IOError"),
        message: format!("message {n}"),
        subject: Some(subject.to_owned()),
        source: "kernel-monitor".into(),
        pod_uid: None,
        from_peer: false,
        condition: None,
        count: 1,
        test: false,
    }
}

fn batch(records: impl IntoIterator<Item = EventRecord>) -> Batch {
    Batch { records: records.into_iter().collect(), is_log_full: false }
}

fn save(store: &mut Rows, rows: Vec<Row>) {
    for Row { table, key, value } in rows {
        match value {
            Some(value) => store.insert((table, key), value),
            None => store.remove(&(table, key)),
        };
    }
}

fn saved(store: &Rows, tables: &[Table]) -> Vec<Row> {
    let rows = store.iter().filter(|((table, _), _)| tables.contains(table));
    rows.map(|((table, key), value)| Row { table: *table, key: key.clone(), value: Some(value.clone()) }).collect()
}

/// The ledger's row of a record that it reports.
fn ledger_row(record: &EventRecord) -> Row {
    let value = serde_json::to_string(record).unwrap();
    Row { table: Table::Events, key: record.id.to_string(), value: Some(value) }
}

fn state() -> DeliveryState {
    DeliveryState::new(EventLimits::default())
}

fn restored(store: &Rows, secs: u64) -> DeliveryState {
    let mut state = state();
    assert_eq!(state.load(saved(store, &TABLES), &[], now(secs)), 0);
    state
}

fn ready(state: &mut DeliveryState, secs: u64) -> Option<Delivery> {
    match state.next(now(secs).boottime) {
        Next::Send(delivery) => Some(*delivery),
        _ => None,
    }
}

/// Delivers all that no limit holds back: (subject, created before, count).
fn drain(state: &mut DeliveryState, secs: u64) -> Vec<(String, bool, u64)> {
    let mut written = Vec::new();
    while let Some(delivery) = ready(state, secs) {
        assert_eq!(state.apply(&delivery, Outcome::Delivered, now(secs).boottime), 0);
        written.push((delivery.first.subject.clone().unwrap(), delivery.created, delivery.count));
    }
    written
}

fn line(subject: &str, created: bool, count: u64) -> (String, bool, u64) {
    (subject.to_owned(), created, count)
}

#[test]
fn what_waits_and_what_no_exporter_took_over_goes_out_in_order_of_time() {
    let mut store = Rows::new();
    let mut first = state();
    first.add(batch([record(1, 40, "sda"), record(2, 20, "sdb")]), now(0));
    save(&mut store, first.take_rows());
    save(&mut store, vec![ledger_row(&record(3, 30, "sdc")), ledger_row(&record(4, 10, "sdd"))]);
    let mut second = restored(&store, 60);
    let sent: Vec<_> = drain(&mut second, 60).into_iter().map(|(subject, ..)| subject).collect();
    assert_eq!(sent, ["sdd", "sdb", "sdc", "sda"]);
    save(&mut store, second.take_rows());
    assert!(saved(&store, &[Table::Events]).is_empty());
    assert_eq!(drain(&mut restored(&store, 61), 61), []);
}

#[test]
fn an_event_is_counted_on_for_its_hour_by_any_run_in_any_boot() {
    let mut store = Rows::new();
    let mut first = state();
    first.add(batch([record(1, 1, "sda")]), now(0));
    drain(&mut first, 0);
    save(&mut store, first.take_rows());
    for (secs, expected) in [(3599, line("sda", true, 2)), (3600, line("sda", false, 1))] {
        let mut second = state();
        let booted = Now { boottime: Duration::from_secs(3), ..now(secs) };
        second.load(saved(&store, &TABLES), &[], booted);
        second.add(batch([record(2, 2, "sda")]), booted);
        assert_eq!(drain(&mut second, 0), [expected]);
    }
}

#[test]
fn a_clock_set_back_keeps_an_event_open_for_an_hour_at_most() {
    let mut store = Rows::new();
    let mut first = state();
    first.add(batch([record(1, 1, "sda")]), now(90_000));
    drain(&mut first, 90_000);
    save(&mut store, first.take_rows());
    let mut second = restored(&store, 0);
    second.add(batch([record(2, 2, "sda")]), now(3599));
    second.add(batch([record(3, 3, "sda")]), now(3600));
    assert_eq!(drain(&mut second, 3600), [line("sda", true, 2), line("sda", false, 1)]);
}

#[test]
fn another_node_object_found_at_the_start_gets_new_events() {
    let mut store = Rows::new();
    let mut first = state();
    first.set_node_uid("uid-1");
    first.add(batch([record(1, 1, "sda")]), now(0));
    drain(&mut first, 0);
    save(&mut store, first.take_rows());
    for (uid, expected) in [("uid-1", line("sda", true, 2)), ("uid-2", line("sda", false, 1))] {
        let mut second = restored(&store, 1);
        second.set_node_uid(uid);
        second.add(batch([record(2, 2, "sda")]), now(1));
        assert_eq!(drain(&mut second, 1), [expected]);
    }
}

#[test]
fn what_comes_late_stands_beside_what_came_meanwhile() {
    let mut store = Rows::new();
    let mut first = state();
    first.set_node_uid("uid-1");
    first.add(batch([record(1, 1, "sda"), record(2, 2, "sdb")]), now(0));
    save(&mut store, first.take_rows());
    let (again, unknown) = (record(4, 4, "sdd"), record(5, 5, "sda"));
    save(&mut store, vec![ledger_row(&again), ledger_row(&unknown)]);
    // The ledger has no rows yet either: it counts from 1 again, and finds two lines again.
    let log = [record(1, 1, "sda"), EventRecord { id: 2, ..again }, record(3, 9, "sde")];
    let mut second = state();
    second.set_node_uid("uid-1");
    second.add(batch(log.clone()), now(9));
    assert_eq!(drain(&mut second, 9).len(), 3);
    second.load(saved(&store, &TABLES), &log, now(9));
    assert_eq!(drain(&mut second, 9), [line("sdb", false, 1), line("sda", true, 2)]);
    save(&mut store, second.take_rows());
    assert!(saved(&store, &[Table::Events]).is_empty());
    second.add(batch([record(4, 10, "sdb")]), now(9));
    assert_eq!(drain(&mut second, 9), [line("sdb", true, 2)]);
}

#[test]
fn rows_that_cannot_be_read_are_deleted_and_stop_nothing() {
    let mut store = Rows::new();
    let mut first = state();
    first.add(batch([record(1, 1, "sda")]), now(0));
    save(&mut store, first.take_rows());
    let good = store.len();
    save(&mut store, vec![ledger_row(&record(2, 2, "sdb"))]);
    let wrong = [(Table::Series, "00000000000000ff"), (Table::Series, "no name"), (Table::Events, "7")];
    wrong.iter().for_each(|(table, key)| _ = store.insert((*table, (*key).to_owned()), "{}".into()));
    store.insert((Table::Events, "8".into()), serde_json::to_string(&record(9, 9, "sdz")).unwrap());
    let mut second = state();
    assert_eq!(second.load(saved(&store, &TABLES), &[], now(0)), 2, "both Events are missed in the counter of losses");
    save(&mut store, second.take_rows());
    assert_eq!(store.len(), good + 1, "the two that wait, and how far they were taken in: {store:?}");
    assert_eq!(drain(&mut second, 0), [line("sda", false, 1), line("sdb", false, 1)]);
}

/// A version before the one that saved it delivers it all the same.
#[test]
fn an_event_with_a_severity_of_a_newer_version_is_delivered() {
    let mut store = Rows::new();
    let row = ledger_row(&record(1, 1, "sda"));
    let mut newer: serde_json::Value = serde_json::from_str(row.value.as_deref().unwrap()).unwrap();
    newer["severity"] = "fatal".into();
    save(&mut store, vec![Row { value: Some(newer.to_string()), ..row }]);
    let mut older = restored(&store, 0);
    assert_eq!(drain(&mut older, 0), [line("sda", false, 1)]);
}

#[test]
fn a_restart_without_news_writes_nothing() {
    let mut store = Rows::new();
    let mut first = state();
    first.set_node_uid("uid-1");
    first.add(batch([record(1, 1, "sda"), record(2, 2, "sdb")]), now(0));
    let one = ready(&mut first, 0).unwrap();
    first.apply(&one, Outcome::Delivered, now(0).boottime);
    save(&mut store, first.take_rows());
    let mut second = restored(&store, 5);
    second.set_node_uid("uid-1");
    assert_eq!(second.take_rows(), []);
}

#[test]
fn rows_go_with_their_events() {
    let mut store = Rows::new();
    let mut state = state();
    for hour in 0..50 {
        let n = hour + 1;
        state.add(batch([record(n, n, &format!("sd{n}"))]), now(hour * 3600));
        drain(&mut state, hour * 3600);
        save(&mut store, state.take_rows());
    }
    assert!(store.len() <= 4, "the newest, perhaps the one before, and two metadata_rows: {store:?}");
}

#[test]
fn everything_saved_again_is_what_was_saved() {
    let mut store = Rows::new();
    let mut state = state();
    state.set_node_uid("uid-1");
    for n in 1..=9 {
        state.add(batch([record(n, n, &format!("sd{}", n % 4))]), now(n));
        save(&mut store, state.take_rows());
        ready(&mut state, n).map(|delivery| state.apply(&delivery, Outcome::Delivered, now(n).boottime));
    }
    save(&mut store, state.take_rows());
    let mut again = Rows::new();
    save(&mut again, state.take_all_rows());
    assert_eq!(again, store);
    assert_eq!(state.take_rows(), []);
}
