//! Event records become few Event objects with exact counts: identical records within an hour are one *series*, which
//! is one Event object. What a rate limit holds back is counted and sent later as the count. Pure, time is an argument.

mod limiter;
mod outbox;
mod rows;
mod series;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    time::Duration,
};

use jiff::Timestamp;
use nodewell_ledger::Now;
use nodewell_model::{EventRecord, Name, Origin, Severity};

pub use limiter::EventLimits;
pub(super) use rows::LoadedRows;
pub(super) use series::hash as record_hash;

use limiter::Limiter;
use outbox::Outbox;
use series::Series;

/// So many delivered series are remembered, for a repetition to raise their Event's count; a repetition of one that was
/// forgotten gets a new Event.
const REMEMBERED_LIMIT: usize = 1024;
/// How often those whose hour is over are looked for: each look is a walk through all.
const SWEEP_INTERVAL: Duration = Duration::from_secs(60);

/// One write: a new Event, or a new count on one.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Delivery {
    id: u64,
    /// The Event is on the server already.
    pub(super) created: bool,
    /// Makes the Event's name.
    pub(super) hash: u64,
    /// The record that began it.
    pub(super) first: EventRecord,
    pub(super) message: String,
    pub(super) last_time: Timestamp,
    pub(super) count: u64,
}

/// What to do now.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Next {
    Send(Box<Delivery>),
    /// Something waits for a limit until then.
    At(Duration),
    Idle,
}

/// All series of the last hour, and those that wait.
#[derive(Debug)]
pub(super) struct Aggregate {
    limits: EventLimits,
    limiter: Limiter,
    outbox: Outbox,
    /// Ids of the series to which the next identical record is added.
    open: HashMap<Key, u64>,
    series: BTreeMap<u64, Series>,
    /// Ids of series by the hash that is in their Event's name.
    names: HashMap<u64, u64>,
    last_id: u64,
    /// Rate limits allow nothing that waits before then. Spares a walk through a full outbox for every record of a
    /// flood.
    none_ready_before: Option<Duration>,
    sweep_at: Duration,
    /// Hashes of the series that changed since their rows were last given to the store.
    changed: BTreeSet<u64>,
}

/// What makes two events identical.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    source: String,
    reason: Name,
    subject: Option<String>,
    condition: Option<Name>,
    severity: Severity,
}

impl Aggregate {
    pub(super) fn new(limits: EventLimits) -> Self {
        Self {
            limits,
            limiter: Limiter::new(limits),
            outbox: Outbox::new(limits.outbox, limits.outbox_of_peer),
            open: HashMap::new(),
            series: BTreeMap::new(),
            names: HashMap::new(),
            last_id: 0,
            none_ready_before: None,
            sweep_at: Duration::ZERO,
            changed: BTreeSet::new(),
        }
    }

    /// How many objects wait.
    pub(super) fn waiting(&self) -> usize {
        self.outbox.len()
    }

    /// Adds a record; returns how many occurrences were dropped because the outbox is full.
    pub(super) fn add(&mut self, record: EventRecord, now: Now) -> u64 {
        let time = record.time;
        let id = match self.current(&Key::of(&record), now.boottime) {
            Some(id) => {
                self.merge(id, record);
                id
            }
            None => self.start(record, now),
        };
        self.await_delivery(id, time)
    }

    fn await_delivery(&mut self, id: u64, time: Timestamp) -> u64 {
        let Some(series) = self.series.get(&id).filter(|series| series.has_unsent()) else { return 0 };
        let ready = self.limiter.ready(&series.first);
        self.none_ready_before = self.none_ready_before.map(|soonest| soonest.min(ready));
        let out = self.outbox.push(id, &series.first, time);
        out.map_or(0, |out| self.give_up(out))
    }

    /// The oldest write that no limit holds back.
    pub(super) fn next(&mut self, now: Duration) -> Next {
        if let Some(soonest) = self.none_ready_before.filter(|soonest| *soonest > now) {
            return Next::At(soonest);
        }
        match self.oldest_ready(now) {
            Ok(delivery) => {
                self.outbox.hold(delivery.id);
                Next::Send(Box::new(delivery))
            }
            Err(soonest) => {
                self.none_ready_before = soonest;
                soonest.map_or(Next::Idle, Next::At)
            }
        }
    }

    /// Or when the first will be ready.
    fn oldest_ready(&self, now: Duration) -> Result<Delivery, Option<Duration>> {
        let mut soonest = None;
        for id in self.outbox.waiting() {
            let Some(series) = self.series.get(&id) else { continue };
            let ready = self.limiter.ready(&series.first);
            if ready <= now {
                return Ok(series.delivery());
            }
            soonest = Some(soonest.map_or(ready, |soonest: Duration| soonest.min(ready)));
        }
        Err(soonest)
    }

    /// The server has this write.
    pub(super) fn delivered(&mut self, delivery: &Delivery, now: Duration) {
        self.limiter.take(&delivery.first, now);
        self.mark_sent(delivery, delivery.count);
    }

    /// The Event was there before the POST: an earlier try of ours made it, perhaps of an agent before this one, which
    /// may have counted `on_server` of the very occurrences that we count again.
    pub(super) fn existed(&mut self, delivery: &Delivery, on_server: u64, now: Duration) {
        self.limiter.take(&delivery.first, now);
        self.mark_sent(delivery, on_server);
    }

    /// The Event to be counted on is no longer there.
    pub(super) fn vanished(&mut self, delivery: &Delivery) {
        if let Some(series) = self.series.get_mut(&delivery.id) {
            series.created = false;
            series.sent = 0;
            self.changed.insert(series.hash);
        }
    }

    /// The server will never take it; returns how many occurrences that loses. It was asked all the same, so it costs
    /// what a write costs.
    pub(super) fn rejected(&mut self, delivery: &Delivery, now: Duration) -> u64 {
        self.limiter.take(&delivery.first, now);
        self.outbox.ack(delivery.id);
        self.give_up(delivery.id)
    }

    /// What comes now is about another Node object: nothing is counted on the old one's Events.
    pub(super) fn start_over(&mut self) {
        self.open.clear();
        for series in self.series.values_mut().filter(|series| series.open) {
            series.open = false;
            self.changed.insert(series.hash);
        }
        self.forget_if(|_| true);
    }

    fn current(&self, key: &Key, now: Duration) -> Option<u64> {
        let &id = self.open.get(key)?;
        self.series.get(&id)?.is_open(now).then_some(id)
    }

    fn merge(&mut self, id: u64, record: EventRecord) {
        let is_same = |series: &Series| series.first.origin == record.origin && is_unique(&record.origin);
        // The very record that began it: its sender was not sure that it had been received.
        if let Some(series) = self.series.get_mut(&id).filter(|series| !is_same(series)) {
            series.merge(record);
            self.changed.insert(series.hash);
        }
    }

    fn start(&mut self, record: EventRecord, now: Now) -> u64 {
        self.forget_some(now.boottime);
        let key = Key::of(&record);
        let id = match self.names.get(&series::hash(&record)) {
            // The record that began one which still waits has come again: there can only be one of that name.
            Some(&id) => {
                self.merge(id, record);
                id
            }
            None => {
                self.last_id += 1;
                self.insert(Series::new(self.last_id, record, now))
            }
        };
        if let Some(series) = self.series.get_mut(&id) {
            series.open_for(self.limits.series, now);
            self.changed.insert(series.hash);
        }
        self.open.insert(key, id);
        id
    }

    fn insert(&mut self, series: Series) -> u64 {
        let id = series.id;
        self.names.insert(series.hash, id);
        self.series.insert(id, series);
        id
    }

    fn mark_sent(&mut self, delivery: &Delivery, sent: u64) {
        self.outbox.ack(delivery.id);
        let Some(series) = self.series.get_mut(&delivery.id) else { return };
        series.created = true;
        series.sent = series.sent.max(sent);
        self.changed.insert(series.hash);
        if series.has_unsent() {
            // There was room a moment ago, and no entry was added since.
            self.outbox.push(delivery.id, &series.first, series.last_time);
        } else if self.open.get(&Key::of(&series.first)) != Some(&delivery.id) {
            self.remove(delivery.id);
        }
    }

    fn give_up(&mut self, id: u64) -> u64 {
        self.remove(id).map_or(0, |series| series.count.saturating_sub(series.sent))
    }

    fn remove(&mut self, id: u64) -> Option<Series> {
        let series = self.series.remove(&id)?;
        self.names.remove(&series.hash);
        self.changed.insert(series.hash);
        let key = Key::of(&series.first);
        if self.open.get(&key) == Some(&id) {
            self.open.remove(&key);
        }
        Some(series)
    }

    fn forget_some(&mut self, now: Duration) {
        if self.series.len() - self.outbox.len() > REMEMBERED_LIMIT {
            // Those of peers first: their reasons may be different ones each time.
            self.forget_if(|series| series.first.from_peer);
            if self.series.len() - self.outbox.len() > REMEMBERED_LIMIT / 2 {
                self.forget_if(|_| true);
            }
        } else if self.sweep_at <= now {
            self.sweep_at = now + SWEEP_INTERVAL;
            self.forget_if(|series| !series.is_open(now));
        }
    }

    /// What waits is never forgotten.
    fn forget_if(&mut self, over: impl Fn(&Series) -> bool) {
        let delivered = self.series.iter().filter(|(id, series)| !self.outbox.contains(**id) && over(series));
        let ids: Vec<u64> = delivered.map(|(id, _)| *id).collect();
        ids.into_iter().for_each(|id| _ = self.remove(id));
    }
}

/// Whether no other record has this origin: a file that was cut off begins again at its first byte.
fn is_unique(origin: &Origin) -> bool {
    !matches!(origin, Origin::File { .. })
}

impl Key {
    fn of(record: &EventRecord) -> Self {
        Self {
            source: record.source.clone(),
            reason: record.reason.clone(),
            subject: record.subject_key().map(str::to_owned),
            condition: record.condition.clone(),
            severity: record.severity,
        }
    }
}

#[cfg(test)]
mod tests;
