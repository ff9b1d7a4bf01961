//! Rows of an earlier run become part of the delivery state.

use std::collections::HashMap;

use nodewell_ledger::Now;
use nodewell_model::{EventRecord, Row, Table};
use serde::de::DeserializeOwned;

use super::{DeliveryState, LoadedRows, NODE_UID, READ_UP_TO, record_hash};

/// The rows by what they are.
#[derive(Debug, Default)]
struct SavedRows {
    series: Vec<Row>,
    records: Vec<EventRecord>,
    read_up_to: u64,
    uid: Option<String>,
    unreadable: Vec<(Table, String)>,
}

impl DeliveryState {
    /// Loads what an earlier run left, at the start or whenever the disk gives it. `log` is what the shared state has by now:
    /// a record that the ledger has found again is not counted twice. Returns how many occurrences had no room or could
    /// not be read.
    pub(in crate::exporters::apiserver) fn load(&mut self, rows: Vec<Row>, log: &[EventRecord], now: Now) -> u64 {
        let left = SavedRows::sort(rows);
        self.is_loaded = true;
        let same_node = self.uid.is_none() || left.uid.is_none() || self.uid == left.uid;
        let LoadedRows { lost, unreadable } = self.aggregate.load(left.series, same_node, now);
        let unread = left.unreadable.iter().filter(|(table, _)| *table == Table::Events).count() as u64;
        self.rows_to_delete.extend(left.unreadable);
        self.rows_to_delete.extend(unreadable.into_iter().map(|key| (Table::Series, key)));
        self.uid = self.uid.take().or(left.uid);
        self.read_up_to = left.read_up_to;
        // Saved records up to `read_up_to` were counted by the earlier run; those after it were not.
        let (uncounted, counted) = left.records.into_iter().partition(|record| record.id > left.read_up_to);
        self.delete_rows(counted);
        let no_room = self.count_uncounted(uncounted, log, now);
        if self.cursor > 0 {
            self.read_up_to = self.cursor;
        }
        lost + no_room + unread
    }

    fn count_uncounted(&mut self, records: Vec<EventRecord>, log: &[EventRecord], now: Now) -> u64 {
        if records.is_empty() {
            return 0;
        }
        let known: HashMap<u64, u64> = log.iter().map(|record| (record_hash(record), record.id)).collect();
        let mut no_room = 0;
        for record in records {
            match known.get(&record_hash(&record)) {
                None => no_room += self.count(record, now),
                // It comes with the log, and its row goes then.
                Some(id) if *id == record.id && *id > self.cursor => {}
                Some(_) => self.delete_rows(vec![record]),
            }
        }
        no_room
    }

    fn delete_rows(&mut self, records: Vec<EventRecord>) {
        self.rows_to_delete.extend(records.into_iter().map(|record| (Table::Events, record.id.to_string())));
    }
}

impl SavedRows {
    fn sort(rows: Vec<Row>) -> Self {
        let mut left = Self::default();
        for row in rows {
            if left.take(&row).is_none() {
                left.unreadable.push((row.table, row.key));
            }
        }
        left.records.sort_by_key(|record| record.id);
        left
    }

    /// `None` if it cannot be understood; whether a series can, its reader finds out.
    fn take(&mut self, row: &Row) -> Option<()> {
        match (row.table, row.key.as_str()) {
            (Table::Series, READ_UP_TO) => self.read_up_to = parsed(row)?,
            (Table::Series, NODE_UID) => self.uid = Some(parsed(row)?),
            (Table::Series, _) => self.series.push(row.clone()),
            (Table::Events, key) => {
                let record: EventRecord = parsed(row)?;
                self.records.push(Some(record).filter(|record| record.id.to_string() == key)?);
            }
            _ => {}
        }
        Some(())
    }
}

fn parsed<T: DeserializeOwned>(row: &Row) -> Option<T> {
    serde_json::from_str(row.value.as_deref()?).ok()
}
