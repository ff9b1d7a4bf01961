//! Counters that are read far more rarely than they grow: written by source threads, read on request.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

/// The counters of every monitor, by name.
#[derive(Debug, Clone, Default)]
pub struct Stats(Arc<Mutex<BTreeMap<Arc<str>, MonitorStats>>>);

/// One monitor's counters.
#[derive(Debug, Clone, Default)]
pub struct MonitorStats(Arc<Counters>);

#[derive(Debug, Default)]
struct Counters {
    records: AtomicU64,
    lost: AtomicU64,
}

impl Stats {
    /// The counters of `name`, made at first use; they survive a reload.
    #[must_use]
    pub fn monitor(&self, name: &Arc<str>) -> MonitorStats {
        self.lock().entry(Arc::clone(name)).or_default().clone()
    }

    /// Lets `name` share the counters of a monitor that reads the same source.
    pub fn share(&self, name: &Arc<str>, stats: &MonitorStats) {
        self.lock().insert(Arc::clone(name), stats.clone());
    }

    /// (records read, records lost) of `name`; `None` for a daemon that reads no source of ours.
    #[must_use]
    pub fn of(&self, name: &str) -> Option<(u64, u64)> {
        self.lock().get(name).map(|stats| (stats.0.records.load(Relaxed), stats.0.lost.load(Relaxed)))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<Arc<str>, MonitorStats>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MonitorStats {
    pub fn saw_record(&self) {
        self.0.records.fetch_add(1, Relaxed);
    }

    pub fn lost_records(&self, count: u64) {
        self.0.lost.fetch_add(count, Relaxed);
    }
}
