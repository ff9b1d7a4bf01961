//! The account without a disk: when it writes, what it bounds, what a reset asks for.

use std::time::{Duration, Instant};

use nodewell_model::{Row, Table};

use super::{
    super::{WritePriority, account::Account},
    hangs, row,
};

const MIB: usize = 1024 * 1024;

fn big(key: &str, bytes: usize) -> Vec<Row> {
    vec![row(Table::Events, key, &"x".repeat(bytes))]
}

fn failing() -> Account {
    let mut account = Account::default();
    account.work_begins(Instant::now());
    account.hangs(hangs());
    account
}

#[test]
fn the_most_urgent_rows_decide_when_all_are_written() {
    let (mut account, now) = (Account::default(), Instant::now());
    account.put(vec![row(Table::Cursors, "a", "1")], WritePriority::Lazily, now);
    assert_eq!(account.due(), Some(now + Duration::from_secs(1800)));
    account.put(vec![row(Table::Claims, "a", "1")], WritePriority::Soon, now);
    assert_eq!(account.due(), Some(now + Duration::from_millis(100)));
    account.put(vec![row(Table::Claims, "b", "1")], WritePriority::Now, now);
    assert_eq!(account.due(), Some(now));
    assert_eq!(account.take().len(), 3);
    assert_eq!(account.due(), None);
}

#[test]
fn rows_that_could_not_be_written_lie_under_newer_ones() {
    let (mut account, now) = (Account::default(), Instant::now());
    account.put(vec![row(Table::Claims, "a", "old"), row(Table::Claims, "b", "old")], WritePriority::Now, now);
    account.put(vec![row(Table::Totals, "gone", "old")], WritePriority::Now, now);
    let batch = account.take();
    let bytes = batch.bytes();
    account.put(vec![row(Table::Claims, "a", "new")], WritePriority::Lazily, now);
    account.put_all(&[Table::Totals], Vec::new(), now);
    account.pending.put_back(batch);
    let rows: Vec<(Table, Vec<_>)> = account.pending.rows().map(|(table, rows)| (table, rows.collect())).collect();
    assert_eq!(rows, [(Table::Claims, vec![("a", Some("new")), ("b", Some("old"))])]);
    assert!(account.pending.cleared().contains(&Table::Totals));
    assert!(account.pending.bytes() < bytes && account.due() == Some(now));
}

#[test]
fn the_same_row_again_takes_no_more_room() {
    let (mut account, now) = (Account::default(), Instant::now());
    account.put(big("a", MIB), WritePriority::Lazily, now);
    let bytes = account.pending.bytes();
    for _ in 0..100 {
        account.put(big("a", MIB), WritePriority::Lazily, now);
    }
    assert_eq!(account.pending.bytes(), bytes);
    account.put(vec![Row { table: Table::Events, key: "a".to_owned(), value: None }], WritePriority::Lazily, now);
    assert!(account.pending.bytes() < 100);
}

#[test]
fn while_nothing_can_be_saved_memory_is_bounded_and_no_put_is_saved_in_part() {
    let (mut account, now) = (failing(), Instant::now());
    for number in 0..100 {
        account.put(big(&number.to_string(), MIB), WritePriority::Now, now);
        assert!(account.pending.bytes() <= 8 * MIB);
    }
    assert!(account.is_full() && account.pending.is_empty() && !account.is_flushed());
    account.work_ended();
    account.works(now);
    assert_eq!((account.state.resets, account.is_full()), (1, false));
}

#[test]
fn a_healthy_store_takes_all_rows_of_all_writers_at_once() {
    let (mut account, now) = (Account::default(), Instant::now());
    let rows: Vec<Row> = (0..20).flat_map(|number| big(&number.to_string(), MIB)).collect();
    account.put_all(&[Table::Events], rows, now);
    assert!(!account.is_full());
}

#[test]
fn after_a_reset_nothing_is_written_before_all_owners_have_put_their_rows() {
    let (mut account, now) = (Account::default(), Instant::now());
    account.put(vec![row(Table::Claims, "a", "1"), row(Table::Series, "s", "1")], WritePriority::Now, now);
    let batch = account.take();
    account.committed(&batch, now);
    assert_eq!(account.state.durable, 1);
    account.is_another(now);
    assert_eq!((account.state.resets, account.state.durable), (1, 0));
    account.put(vec![row(Table::Claims, "a", "2")], WritePriority::Now, now);
    assert!(account.due() > Some(now), "half of the rows are worse than none");
    account.put_all(&[Table::Claims], Vec::new(), now);
    assert!(account.due() > Some(now));
    account.put_all(&[Table::Series], Vec::new(), now);
    assert_eq!(account.due(), Some(now));
}

#[test]
fn only_a_disk_that_does_not_answer_hangs() {
    let mut account = Account::default();
    assert_eq!(account.hangs_at(), None);
    account.hangs(hangs());
    assert_eq!(account.state.save_error, None);
    account.work_begins(Instant::now());
    account.hangs(hangs());
    assert_eq!(account.state.save_error.as_ref().map(|save_error| save_error.reason.as_str()), Some("StateHangs"));
    assert_eq!(account.hangs_at(), None, "it is reported once");
    assert!(account.work_ended());
    assert_eq!(account.state.save_error, None);
}
