//! The rate limits (token buckets) on writes of Events: one bucket for each (reason, subject), one for all, and a
//! reserve for each reason of rules and of the catalogue. A client of the socket may invent reasons: those of root's
//! daemons share one reserve, and those of peers have none, and together only a part of the whole.

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
    /// What a reason may send while the global limit is used up by others: a flood of one kind hides no other kind. All
    /// reasons that neither rules nor the catalogue have are one kind.
    pub per_reason_reserve: Rate,
    /// Writes of what one peer reports.
    pub per_peer: Rate,
    /// Writes of what all peers report.
    pub peers: Rate,
    /// All writes.
    pub global: Rate,
    /// How many Events may wait for delivery.
    pub outbox: usize,
    /// How many of them may be one peer's.
    pub outbox_of_peer: usize,
    /// Identical events are counted on one object for so long; the server forgets Events after an hour.
    pub series: Duration,
}

impl Default for EventLimits {
    fn default() -> Self {
        Self {
            per_subject: Rate { burst: 5, interval: Duration::from_secs(60) },
            per_reason_reserve: Rate { burst: 5, interval: Duration::from_secs(10) },
            per_peer: Rate { burst: 25, interval: Duration::from_secs(1) },
            peers: Rate { burst: 25, interval: Duration::from_millis(200) },
            global: Rate { burst: 50, interval: Duration::from_millis(100) },
            outbox: 4096,
            outbox_of_peer: 512,
            series: Duration::from_secs(3600),
        }
    }
}

#[derive(Debug)]
pub(super) struct Limiter {
    limits: EventLimits,
    global: Bucket,
    peers: Bucket,
    peer: HashMap<String, Bucket>,
    reserves: HashMap<Option<Name>, Bucket>,
    subjects: HashMap<Subject, Bucket>,
}

/// A peer uses up nothing of what others report under the same name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Subject {
    peer: Option<String>,
    reason: Name,
    subject: Option<String>,
}

impl Subject {
    fn of(record: &EventRecord) -> Self {
        let peer = record.peer().map(str::to_owned);
        Self { peer, reason: record.reason.clone(), subject: record.subject_key().map(str::to_owned) }
    }
}

/// Whose reserve it is: that of its reason, or the one of all that daemons have invented, plug-ins' reasons among them.
fn reserve_of(record: &EventRecord) -> Option<Name> {
    // Our own monitors have plain names, and reasons of rules.
    let is_known = !record.source.contains('@') || nodewell_faults::reason::named(record.reason.as_str()).is_some();
    is_known.then(|| record.reason.clone())
}

impl Limiter {
    pub(super) fn new(limits: EventLimits) -> Self {
        Self {
            limits,
            global: Bucket::FULL,
            peers: Bucket::FULL,
            peer: HashMap::new(),
            reserves: HashMap::new(),
            subjects: HashMap::new(),
        }
    }

    /// When a write for this record may go out.
    pub(super) fn ready(&self, record: &EventRecord) -> Duration {
        let EventLimits { per_subject, per_reason_reserve, per_peer, peers, global, .. } = self.limits;
        let subject = self.subjects.get(&Subject::of(record)).unwrap_or(&Bucket::FULL).ready(per_subject);
        let global = self.global.ready(global);
        match record.peer() {
            Some(peer) => {
                let one = self.peer.get(peer).unwrap_or(&Bucket::FULL).ready(per_peer);
                subject.max(global).max(self.peers.ready(peers)).max(one)
            }
            None => {
                let reserve = self.reserves.get(&reserve_of(record)).unwrap_or(&Bucket::FULL);
                subject.max(reserve.ready(per_reason_reserve).min(global))
            }
        }
    }

    /// A write went out.
    pub(super) fn take(&mut self, record: &EventRecord, now: Duration) {
        let EventLimits { per_subject, per_reason_reserve, per_peer, peers, global, .. } = self.limits;
        make_room(&mut self.subjects, now);
        self.subjects.entry(Subject::of(record)).or_insert(Bucket::FULL).take(per_subject, now);
        if let Some(peer) = record.peer() {
            make_room(&mut self.peer, now);
            self.peer.entry(peer.to_owned()).or_insert(Bucket::FULL).take(per_peer, now);
            self.peers.take(peers, now);
            return self.global.take(global, now);
        }
        if self.global.ready(global) <= now {
            return self.global.take(global, now);
        }
        make_room(&mut self.reserves, now);
        self.reserves.entry(reserve_of(record)).or_insert(Bucket::FULL).take(per_reason_reserve, now);
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
