//! A series: identical records of an hour, which become one Event object with a count.

use std::time::Duration;

use jiff::Timestamp;
use nodewell_ledger::Now;
use nodewell_model::{EventRecord, Name, problem::stable_hash};
use serde::{Deserialize, Serialize};

use super::Delivery;

/// Identical events of an hour. Serialized it is a row of the store, whose key is the hash.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Series {
    /// Counts up; of two series with one time, the lower id is sent first.
    pub(super) id: u64,
    /// Is in the Event's name, which is the same however often the Event is made.
    #[serde(skip)]
    pub(super) hash: u64,
    pub(super) first: EventRecord,
    /// The message of the newest, where more than the first came.
    newest: Option<String>,
    pub(super) last_time: Timestamp,
    pub(super) count: u64,
    /// When the hour began, by the wall clock: it goes on while no agent runs.
    opened: Timestamp,
    /// Whether further identical records are counted here, until `closes_at`.
    pub(super) open: bool,
    #[serde(skip)]
    closes_at: Duration,
    /// Whether the Event is on the server.
    pub(super) created: bool,
    /// The count that the server has; it never goes down.
    pub(super) sent: u64,
}

impl Series {
    pub(super) fn new(id: u64, first: EventRecord, now: Now) -> Self {
        Self {
            id,
            hash: hash(&first),
            newest: None,
            last_time: first.last_time,
            count: first.count,
            opened: now.wall,
            open: false,
            closes_at: now.boottime,
            created: false,
            sent: 0,
            first,
        }
    }

    /// For `span` from now what is identical is counted here.
    pub(super) fn open_for(&mut self, span: Duration, now: Now) {
        (self.open, self.opened, self.closes_at) = (true, now.wall, now.boottime + span);
    }

    /// One of an earlier run: what is left of its `span` goes on, by a wall clock that may have been set back.
    pub(super) fn go_on(&mut self, span: Duration, now: Now) {
        let age = Duration::try_from(now.wall.duration_since(self.opened)).unwrap_or_default();
        self.open &= age < span;
        self.closes_at = now.boottime + span.saturating_sub(age);
    }

    pub(super) fn is_open(&self, now: Duration) -> bool {
        self.open && now < self.closes_at
    }

    pub(super) fn merge(&mut self, record: EventRecord) {
        self.count = self.count.saturating_add(record.count);
        if record.last_time >= self.last_time {
            self.last_time = record.last_time;
            self.newest = Some(record.message);
        }
    }

    /// What an earlier run knew of the very same Event: both saw the same occurrences.
    pub(super) fn unite(&mut self, earlier: Self) {
        self.count = self.count.max(earlier.count);
        self.created |= earlier.created;
        self.sent = self.sent.max(earlier.sent);
    }

    pub(super) fn has_unsent(&self) -> bool {
        self.count > self.sent
    }

    pub(super) fn delivery(&self) -> Delivery {
        Delivery {
            id: self.id,
            created: self.created,
            hash: self.hash,
            first: self.first.clone(),
            message: self.newest.as_ref().unwrap_or(&self.first.message).clone(),
            last_time: self.last_time,
            count: self.count,
        }
    }
}

/// One record can make several events (two rules, or a condition beside an Event), so their differences are part of it.
pub(in crate::exporters::apiserver) fn hash(record: &EventRecord) -> u64 {
    let boot = record.boot_id.map(|boot| boot.to_string()).unwrap_or_default();
    let origin = serde_json::to_string(&record.origin).unwrap_or_default();
    let condition = record.condition.as_ref().map_or("", Name::as_str);
    let subject = record.subject_key().unwrap_or_default();
    let parts = [&boot, &*record.source, &origin, record.reason.as_str(), condition, subject, record.severity.as_str()];
    stable_hash(&parts)
}
