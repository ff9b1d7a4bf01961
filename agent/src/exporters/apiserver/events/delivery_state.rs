//! What the loop of Events knows: its series (each becomes one Event object), how far it has read the shared state's
//! event log, which Node the Events are about. Pure: it yields the rows that a store shall save, and loads those that an
//! earlier run left.
//!
//! The ledger (the agent's account of problems and conditions) puts a row into the store for every record that it
//! appends to the log; the delivery state deletes the row in the transaction that counts the record. So in whatever
//! state the store comes back, a record either has a row of its own or is counted in a series.

mod load;

use std::time::Duration;

use nodewell_ledger::Now;
use nodewell_model::{EventRecord, Row, Table};

use super::aggregate::{Aggregate, Delivery, EventLimits, LoadedRows, Next, record_hash};

/// What an earlier run may have left for us.
pub(super) const TABLES: [Table; 2] = [Table::Series, Table::Events];

/// Keys in [`Table::Series`] that are not names of series.
const READ_UP_TO: &str = "read-up-to";
const NODE_UID: &str = "node-uid";

/// The delivery of all Events.
#[derive(Debug)]
pub(super) struct DeliveryState {
    pub(super) aggregate: Aggregate,
    /// The newest record of the shared state's log that was received; 0 while there is none of this run.
    cursor: u64,
    /// The newest record that was received, of whatever run.
    read_up_to: u64,
    /// Of the Node that Events are about.
    uid: Option<String>,
    /// What an earlier run left is loaded.
    pub(super) is_loaded: bool,
    /// Rows of records that are counted now, and of what cannot be read.
    rows_to_delete: Vec<(Table, String)>,
    /// `read_up_to` or `uid` are not as the store last received them.
    metadata_changed: bool,
}

/// A batch of the shared state's log.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) records: Vec<EventRecord>,
    /// The log has lost older ones: ids that are missing were records.
    pub(super) is_log_full: bool,
}

impl DeliveryState {
    pub(super) fn new(limits: EventLimits) -> Self {
        Self {
            aggregate: Aggregate::new(limits),
            cursor: 0,
            read_up_to: 0,
            uid: None,
            is_loaded: false,
            rows_to_delete: Vec::new(),
            metadata_changed: false,
        }
    }

    pub(super) fn cursor(&self) -> u64 {
        self.cursor
    }

    pub(super) fn next(&mut self, now: Duration) -> Next {
        self.aggregate.next(now)
    }

    /// Adds records; returns how many occurrences that loses: records gone from the log, or no room.
    pub(super) fn add(&mut self, batch: Batch, now: Now) -> u64 {
        let mut lost = 0;
        for record in batch.records {
            if batch.is_log_full {
                lost += self.missed_before(record.id);
            }
            self.cursor = record.id;
            lost += self.count(record, now);
        }
        lost
    }

    /// The ids between are of records that fell out of the log before we came.
    fn missed_before(&self, id: u64) -> u64 {
        let before =
            if self.cursor > 0 { self.cursor } else { Some(self.read_up_to).filter(|at| *at < id).unwrap_or(0) };
        id.saturating_sub(before + 1)
    }

    fn count(&mut self, record: EventRecord, now: Now) -> u64 {
        // Not the greatest so far: a ledger that could not read its own count begins with 1 again.
        self.read_up_to = record.id;
        self.metadata_changed = true;
        self.rows_to_delete.push((Table::Events, record.id.to_string()));
        self.aggregate.add(record, now)
    }

    /// Another UID is another Node object: no reader would see counts on the old one's Events.
    pub(super) fn set_node_uid(&mut self, uid: &str) {
        if self.uid.as_deref() == Some(uid) {
            return;
        }
        if self.uid.is_some() {
            self.aggregate.start_over();
        }
        self.uid = Some(uid.to_owned());
        self.metadata_changed = true;
    }

    /// What became of `delivery`; returns how many occurrences that loses.
    pub(super) fn apply(&mut self, delivery: &Delivery, outcome: Outcome, now: Duration) -> u64 {
        match outcome {
            Outcome::Delivered => self.aggregate.delivered(delivery, now),
            Outcome::Existed { count } => self.aggregate.existed(delivery, count, now),
            Outcome::Vanished => self.aggregate.vanished(delivery),
            Outcome::Rejected => return self.aggregate.rejected(delivery, now),
        }
        0
    }

    /// The rows that changed since they were last taken; they belong into one transaction.
    pub(super) fn take_rows(&mut self) -> Vec<Row> {
        let mut rows = self.take_deletions();
        rows.extend(self.aggregate.take_rows());
        if std::mem::take(&mut self.metadata_changed) {
            rows.extend(self.metadata_rows());
        }
        rows
    }

    /// Rows of other tables that are to go, and of what could not be read.
    pub(super) fn take_deletions(&mut self) -> Vec<Row> {
        let rows_to_delete = std::mem::take(&mut self.rows_to_delete);
        rows_to_delete.into_iter().map(|(table, key)| Row { table, key, value: None }).collect()
    }

    /// Everything that [`Table::Series`] shall hold.
    pub(super) fn take_all_rows(&mut self) -> Vec<Row> {
        self.metadata_changed = false;
        let mut rows = self.aggregate.take_all_rows();
        rows.extend(self.metadata_rows());
        rows
    }

    /// For an agent without a store: no rows are saved.
    pub(super) fn drop_rows(&mut self) {
        self.rows_to_delete.clear();
        self.metadata_changed = false;
        self.aggregate.drop_rows();
    }

    fn metadata_rows(&self) -> impl Iterator<Item = Row> {
        let uid = self.uid.as_ref().and_then(|uid| serde_json::to_string(uid).ok());
        let metadata_rows = [(READ_UP_TO, Some(self.read_up_to.to_string())), (NODE_UID, uid)];
        metadata_rows.into_iter().map(|(key, value)| Row { table: Table::Series, key: key.to_owned(), value })
    }
}

/// How a delivery ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The server has this write.
    Delivered,
    /// The Event was there before the POST, and counts so many.
    Existed { count: u64 },
    /// The Event to be counted on is no longer there.
    Vanished,
    /// The server will never take it.
    Rejected,
}

#[cfg(test)]
mod tests;
