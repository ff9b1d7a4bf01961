//! The rate limits (token buckets) on writes of Events: one bucket for each (reason, subject), one for all, and a
//! reserve for each reason.

use std::{collections::HashMap, time::Duration};

use nodewell_model::{EventRecord, Name};

use crate::bucket::{Bucket, Rate};

/// More buckets than this are not remembered; the global one holds in any case.
const BUCKET_LIMIT: usize = 4096;

/// How many Events may be sent, held and merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventLimits {
    /// Writes for each (reason, subject).
    pub per_subject: Rate,
    /// What a reason may send while the global limit is used up by others: a flood of one kind hides no other kind.
    pub per_reason_reserve: Rate,
    /// All writes.
    pub global: Rate,
    /// How many Events may wait for delivery.
    pub outbox: usize,
    /// Identical events are counted on one object for so long; the server forgets Events after an hour.
    pub series: Duration,
}

impl Default for EventLimits {
    fn default() -> Self {
        Self {
            per_subject: Rate { burst: 5, interval: Duration::from_secs(60) },
            per_reason_reserve: Rate { burst: 5, interval: Duration::from_secs(10) },
            global: Rate { burst: 50, interval: Duration::from_millis(100) },
            outbox: 4096,
            series: Duration::from_secs(3600),
        }
    }
}

#[derive(Debug)]
pub(super) struct Limiter {
    limits: EventLimits,
    global: Bucket,
    reasons: HashMap<Name, Bucket>,
    subjects: HashMap<(Name, Option<String>), Bucket>,
}

impl Limiter {
    pub(super) fn new(limits: EventLimits) -> Self {
        Self { limits, global: Bucket::FULL, reasons: HashMap::new(), subjects: HashMap::new() }
    }

    /// When a write for this record may go out.
    pub(super) fn ready(&self, record: &EventRecord) -> Duration {
        let key = (record.reason.clone(), record.subject.clone());
        let subject = self.subjects.get(&key).unwrap_or(&Bucket::FULL).ready(self.limits.per_subject);
        let reserve = self.reasons.get(&record.reason).unwrap_or(&Bucket::FULL).ready(self.limits.per_reason_reserve);
        subject.max(reserve.min(self.global.ready(self.limits.global)))
    }

    /// A write went out.
    pub(super) fn take(&mut self, record: &EventRecord, now: Duration) {
        let key = (record.reason.clone(), record.subject.clone());
        make_room(&mut self.subjects, now);
        self.subjects.entry(key).or_insert(Bucket::FULL).take(self.limits.per_subject, now);
        if self.global.ready(self.limits.global) <= now {
            self.global.take(self.limits.global, now);
            return;
        }
        let rate = self.limits.per_reason_reserve;
        make_room(&mut self.reasons, now);
        self.reasons.entry(record.reason.clone()).or_insert(Bucket::FULL).take(rate, now);
    }
}

fn make_room<K: Eq + std::hash::Hash>(buckets: &mut HashMap<K, Bucket>, now: Duration) {
    if buckets.len() < BUCKET_LIMIT {
        return;
    }
    buckets.retain(|_, bucket| !bucket.is_full(now));
    if buckets.len() >= BUCKET_LIMIT {
        buckets.clear();
    }
}
