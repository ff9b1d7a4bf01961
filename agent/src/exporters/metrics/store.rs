//! The store (SQLite): what it has written, and what waits to be written.

use nodewell_metrics::Exposition;

use super::table::agent;
use crate::store::Store;

pub(super) fn write(exposition: &mut Exposition, store: &Store) {
    let stats = store.stats();
    let up = store.watch().borrow().save_error.is_none();
    exposition.metric(&agent::STORE_UP).sample(&[], u8::from(up));
    let counters = [
        (agent::STORE_TRANSACTIONS, stats.transactions),
        (agent::STORE_ROWS, stats.rows),
        (agent::STORE_BYTES, stats.bytes),
        (agent::STORE_FAILURES, stats.failures),
        (agent::STORE_CORRUPTIONS, stats.corruptions),
    ];
    for (metric, total) in counters {
        exposition.metric(&metric).sample(&[], total);
    }
    exposition.metric(&agent::STORE_WAITING_ROWS).sample(&[], stats.waiting_rows);
    exposition.metric(&agent::STORE_WAITING_BYTES).sample(&[], stats.waiting_bytes);
    exposition.metric(&agent::STORE_OLDEST_WAITING).sample(&[], stats.oldest_waiting.as_secs_f64());
}
