//! One Event object in the making: what it says, how often it happened, and how much of that the server has.

use std::time::Duration;

use jiff::Timestamp;
use nodewell_model::{EventRecord, Name, problem::stable_hash};

use super::Delivery;

/// Identical events of an hour.
#[derive(Debug)]
pub(super) struct Series {
    pub(super) hash: u64,
    pub(super) first: EventRecord,
    pub(super) message: String,
    pub(super) last_time: Timestamp,
    pub(super) count: u64,
    pub(super) opened_at: Duration,
    pub(super) created: bool,
    /// The count that the server has; it never goes down.
    pub(super) sent: u64,
}

impl Series {
    pub(super) fn new(first: EventRecord, now: Duration) -> Self {
        Self {
            hash: hash(&first),
            message: first.message.clone(),
            last_time: first.last_time,
            count: first.count,
            opened_at: now,
            created: false,
            sent: 0,
            first,
        }
    }

    pub(super) fn merge(&mut self, record: EventRecord) {
        self.count = self.count.saturating_add(record.count);
        if record.last_time >= self.last_time {
            self.last_time = record.last_time;
            self.message = record.message;
        }
    }

    pub(super) fn has_news(&self) -> bool {
        self.count > self.sent
    }

    pub(super) fn delivery(&self, id: u64) -> Delivery {
        Delivery {
            id,
            created: self.created,
            hash: self.hash,
            first: self.first.clone(),
            message: self.message.clone(),
            last_time: self.last_time,
            count: self.count,
        }
    }
}

/// One record can make several events (two rules, or a condition beside an Event), so their differences are part of it.
fn hash(record: &EventRecord) -> u64 {
    let boot = record.boot_id.map(|boot| boot.to_string()).unwrap_or_default();
    let origin = serde_json::to_string(&record.origin).unwrap_or_default();
    let condition = record.condition.as_ref().map_or("", Name::as_str);
    let subject = record.subject.as_deref().unwrap_or_default();
    let parts = [&boot, &*record.source, &origin, record.reason.as_str(), condition, subject, record.severity.as_str()];
    stable_hash(&parts)
}
