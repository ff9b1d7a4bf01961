//! The store (SQLite): what it has written, and what waits to be written.

use nodewell_metrics::{
    Exposition,
    MetricType::{Counter, Gauge},
};

use crate::store::Store;

pub(super) fn write(exposition: &mut Exposition, store: &Store) {
    let stats = store.stats();
    exposition.metric("nodewell_store_up", Gauge, "1 while what the agent knows is saved on the disk.");
    let up = store.watch().borrow().save_error.is_none();
    exposition.sample(&[], u8::from(up));
    let counters = [
        ("nodewell_store_transactions_total", "Transactions that the disk has taken.", stats.transactions),
        ("nodewell_store_rows_total", "Rows written in them.", stats.rows),
        ("nodewell_store_bytes_total", "What these rows were in memory, in bytes.", stats.bytes),
        ("nodewell_store_failures_total", "Attempts that the disk did not take, hangs included.", stats.failures),
        ("nodewell_store_corruptions_total", "Damaged files that were moved aside.", stats.corruptions),
    ];
    for (name, help, total) in counters {
        exposition.metric(name, Counter, help);
        exposition.sample(&[], total);
    }
    exposition.metric("nodewell_store_waiting_rows", Gauge, "Rows that wait to be written.");
    exposition.sample(&[], stats.waiting_rows);
    exposition.metric("nodewell_store_waiting_bytes", Gauge, "Memory that they take.");
    exposition.sample(&[], stats.waiting_bytes);
    exposition.metric("nodewell_store_oldest_waiting_seconds", Gauge, "Since when the oldest of them waits.");
    exposition.sample(&[], stats.oldest_waiting.as_secs_f64());
}
