//! What is to be written next: rows merged by their keys, so that a row written often waits only once.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Instant,
};

use nodewell_model::{Row, Table};

use super::Ticket;

/// What a row costs beside its text: the nodes and headers around it.
const ROW_OVERHEAD_BYTES: usize = 64;

type Rows = BTreeMap<String, Option<String>>;

/// Rows that wait, or that are on their way to the disk.
#[derive(Debug, Default)]
pub(super) struct Pending {
    rows: BTreeMap<Table, Rows>,
    /// Tables that shall hold nothing but the rows above.
    cleared: BTreeSet<Table>,
    bytes: usize,
    /// The newest ticket in here.
    pub(super) upto: Ticket,
    /// Since when the oldest of it waits.
    pub(super) since: Option<Instant>,
    /// When it shall be written.
    pub(super) due: Option<Instant>,
}

impl Pending {
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.cleared.is_empty()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn len(&self) -> usize {
        self.rows.values().map(Rows::len).sum()
    }

    /// The tables whose other rows go.
    pub(super) fn cleared(&self) -> &BTreeSet<Table> {
        &self.cleared
    }

    /// All rows by their tables, in the order of their keys.
    pub(super) fn rows(&self) -> impl Iterator<Item = (Table, impl Iterator<Item = (&str, Option<&str>)>)> {
        self.rows.iter().map(|(table, rows)| (*table, rows.iter().map(|(key, value)| (key.as_str(), value.as_deref()))))
    }

    /// Newer rows over the ones that wait.
    pub(super) fn merge(&mut self, rows: Vec<Row>) {
        for Row { table, key, value } in rows {
            self.insert(table, key, value);
        }
    }

    /// All rows that `tables` shall have.
    pub(super) fn replace(&mut self, tables: &[Table], rows: Vec<Row>) {
        for table in tables {
            self.drop_rows(*table);
            self.cleared.insert(*table);
        }
        self.merge(rows);
    }

    /// Older rows that could not be written: under the ones that came since.
    pub(super) fn put_back(&mut self, older: Self) {
        for (table, rows) in older.rows {
            if self.cleared.contains(&table) {
                continue;
            }
            for (key, value) in rows {
                if !self.rows.get(&table).is_some_and(|newer| newer.contains_key(&key)) {
                    self.insert(table, key, value);
                }
            }
        }
        self.cleared.extend(older.cleared);
        self.upto = self.upto.max(older.upto);
        self.since = older.since.or(self.since);
        self.due = earliest(self.due, older.due);
    }

    /// To be written by `due` at the latest.
    pub(super) fn hurry(&mut self, due: Instant) {
        self.due = earliest(self.due, Some(due));
    }

    fn insert(&mut self, table: Table, key: String, value: Option<String>) {
        self.bytes += cost(&key, value.as_ref());
        let length = key.len();
        if let Some(before) = self.rows.entry(table).or_default().insert(key, value) {
            self.bytes -= cost_of(length, before.as_ref());
        }
    }

    fn drop_rows(&mut self, table: Table) {
        let gone = self.rows.remove(&table).unwrap_or_default();
        self.bytes -= gone.iter().map(|(key, value)| cost(key, value.as_ref())).sum::<usize>();
    }
}

fn earliest(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    [one, other].into_iter().flatten().min()
}

fn cost(key: &str, value: Option<&String>) -> usize {
    cost_of(key.len(), value)
}

fn cost_of(key_bytes: usize, value: Option<&String>) -> usize {
    key_bytes + value.map_or(0, String::len) + ROW_OVERHEAD_BYTES
}
