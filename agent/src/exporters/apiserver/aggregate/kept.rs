//! Series as rows of the store, and back: only what changed is written, and what an earlier run left goes on.

use nodewell_ledger::Now;
use nodewell_model::{Row, Table};

use super::{Aggregate, Key, Series};

/// What came of rows.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::exporters::apiserver) struct TakenBack {
    /// Occurrences for which there was no room.
    pub(in crate::exporters::apiserver) lost: u64,
    /// Keys of rows that cannot be understood.
    pub(in crate::exporters::apiserver) unreadable: Vec<String>,
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
    pub(in crate::exporters::apiserver) fn take_back(
        &mut self,
        rows: Vec<Row>,
        same_node: bool,
        now: Now,
    ) -> TakenBack {
        let mut taken = TakenBack::default();
        let mut kept = Vec::new();
        for row in rows {
            match parse(&row) {
                Some(series) => kept.push(series),
                None => taken.unreadable.push(row.key),
            }
        }
        kept.sort_by_key(|series| series.id);
        let newer = self.last_id;
        for series in kept {
            taken.lost += self.go_on(series, (same_node, newer), now);
        }
        taken
    }

    /// Up to the id `newer` they are of this run, and counted on before others.
    fn go_on(&mut self, mut series: Series, (same_node, newer): (bool, u64), now: Now) -> u64 {
        if let Some(known) = self.names.get(&series.hash).and_then(|id| self.series.get_mut(id)) {
            self.changed.insert(series.hash);
            known.unite(series);
            return 0;
        }
        let key = Key::of(&series.first);
        let as_kept = (series.id, series.open);
        self.last_id = series.id.max(self.last_id + 1);
        series.id = self.last_id;
        series.open &= same_node && self.open.get(&key).is_none_or(|id| *id > newer);
        series.go_on(self.limits.series, now);
        if as_kept != (series.id, series.open) {
            self.changed.insert(series.hash);
        }
        self.place(key, series)
    }

    fn place(&mut self, key: Key, series: Series) -> u64 {
        let (open, news) = (series.open, series.has_news());
        let time = if series.created { series.last_time } else { series.first.time };
        let id = self.insert(series);
        if open && let Some(before) = self.open.insert(key, id).and_then(|id| self.series.get_mut(&id)) {
            before.open = false;
        }
        if !open && !news {
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
