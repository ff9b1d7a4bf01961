//! The limits on writes of Events: one bucket for each (reason, subject), one for all, and a reserve for each reason.

use std::{collections::HashMap, time::Duration};

use nodewell_model::{EventRecord, Name};

use super::EventLimits;
use crate::bucket::Bucket;

/// More buckets than this are not remembered; the global one holds in any case.
const BUCKET_LIMIT: usize = 4096;

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
