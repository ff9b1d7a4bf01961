//! Saves series (identical events that share one Event object) as rows of the store, only those that changed, and loads
//! those of an earlier run.

use nodewell_ledger::Now;
use nodewell_model::{Row, Table};

use super::{Aggregate, Key, Series};

/// What came of rows.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::exporters::apiserver) struct LoadedRows {
    /// Occurrences for which there was no room.
    pub(in crate::exporters::apiserver) lost: u64,
    /// Keys of rows that cannot be understood.
    pub(in crate::exporters::apiserver) unreadable: Vec<String>,
}

/// What holds when rows begin to be loaded.
#[derive(Debug, Clone, Copy)]
struct LoadStart {
    /// They are about the Node that this run is about.
    same_node: bool,
    /// Series up to this id are of this run, and counted on before others.
    last_id: u64,
}

impl Aggregate {
    /// The rows of what changed since they were last taken.
    pub(in crate::exporters::apiserver) fn take_rows(&mut self) -> Vec<Row> {
        std::mem::take(&mut self.changed).into_iter().map(|hash| self.row(hash)).collect()
    }

    /// Every row there is, whatever was taken.
    pub(in crate::exporters::apiserver) fn take_all_rows(&mut self) -> Vec<Row> {
        self.changed = self.names.keys().copied().collect();
        self.take_rows()
    }

    /// For an agent without a store: no rows are saved.
    pub(in crate::exporters::apiserver) fn drop_rows(&mut self) {
        self.changed.clear();
    }

    fn row(&self, hash: u64) -> Row {
        let series = self.names.get(&hash).and_then(|id| self.series.get(id));
        let value = series.and_then(|series| serde_json::to_string(series).ok());
        Row { table: Table::Series, key: format!("{hash:016x}"), value }
    }

    /// What an earlier run left, beside what has come since; only while it is about the same Node is it counted on.
    pub(in crate::exporters::apiserver) fn load(&mut self, rows: Vec<Row>, same_node: bool, now: Now) -> LoadedRows {
        let mut report = LoadedRows::default();
        let mut loaded = Vec::new();
        for row in rows {
            match parse(&row) {
                Some(series) => loaded.push(series),
                None => report.unreadable.push(row.key),
            }
        }
        loaded.sort_by_key(|series| series.id);
        let start = LoadStart { same_node, last_id: self.last_id };
        for series in loaded {
            report.lost += self.go_on(series, start, now);
        }
        report
    }

    fn go_on(&mut self, mut series: Series, start: LoadStart, now: Now) -> u64 {
        if let Some(known) = self.names.get(&series.hash).and_then(|id| self.series.get_mut(id)) {
            self.changed.insert(series.hash);
            known.unite(series);
            return 0;
        }
        let key = Key::of(&series.first);
        let as_saved = (series.id, series.open);
        self.last_id = series.id.max(self.last_id + 1);
        series.id = self.last_id;
        series.open &= start.same_node && self.open.get(&key).is_none_or(|id| *id > start.last_id);
        series.go_on(self.limits.series, now);
        if as_saved != (series.id, series.open) {
            self.changed.insert(series.hash);
        }
        self.insert_loaded(key, series)
    }

    fn insert_loaded(&mut self, key: Key, series: Series) -> u64 {
        let (open, has_unsent) = (series.open, series.has_unsent());
        let time = if series.created { series.last_time } else { series.first.time };
        let id = self.insert(series);
        if open && let Some(before) = self.open.insert(key, id).and_then(|id| self.series.get_mut(&id)) {
            before.open = false;
        }
        if !open && !has_unsent {
            self.remove(id);
        }
        self.await_delivery(id, time)
    }
}

fn parse(row: &Row) -> Option<Series> {
    let hash = Some(&row.key).filter(|key| key.len() == 16).and_then(|key| u64::from_str_radix(key, 16).ok())?;
    let mut series: Series = serde_json::from_str(row.value.as_deref()?).ok()?;
    series.hash = hash;
    Some(series)
}
