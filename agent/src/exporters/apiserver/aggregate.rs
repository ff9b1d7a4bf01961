//! Event records become few Event objects with exact counts: identical ones within an hour share one, and what a limit
//! holds back is counted and sent later as the count. Pure, time is an argument.

mod limiter;
mod series;

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use jiff::Timestamp;
use nodewell_model::{EventRecord, Name, Severity};

use super::outbox::Outbox;
use crate::bucket::Rate;
use limiter::Limiter;
use series::Series;

/// So many delivered series are remembered to be counted on; more are forgotten, and what repeats gets a new Event.
const REMEMBERED_LIMIT: usize = 1024;

/// How many Events may be sent, kept and merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventLimits {
    /// Writes for each (reason, subject).
    pub per_subject: Rate,
    /// What a reason may send while the global limit is used up by others: a flood of one kind hides no other kind.
    pub per_reason_reserve: Rate,
    /// All writes.
    pub global: Rate,
    /// Objects that wait for delivery.
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
    open: HashMap<Key, u64>,
    series: BTreeMap<u64, Series>,
    last_id: u64,
    /// Nothing that waits is ready before: spares a walk through a full outbox for every record of a flood.
    none_ready_before: Option<Duration>,
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
            outbox: Outbox::new(limits.outbox),
            open: HashMap::new(),
            series: BTreeMap::new(),
            last_id: 0,
            none_ready_before: None,
        }
    }

    /// How many objects wait.
    pub(super) fn waiting(&self) -> usize {
        self.outbox.len()
    }

    /// Takes a record in; returns how many occurrences had to be given up for it.
    pub(super) fn add(&mut self, record: EventRecord, now: Duration) -> u64 {
        let key = Key::of(&record);
        let (severity, time) = (record.severity, record.time);
        let ready = self.limiter.ready(&record);
        self.none_ready_before = self.none_ready_before.map(|soonest| soonest.min(ready));
        let id = match self.current(&key, now) {
            Some((id, series)) => {
                series.merge(record);
                if !series.has_news() {
                    return 0;
                }
                id
            }
            None => self.start(key, record, now),
        };
        let out = self.outbox.push(id, severity, time);
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
                return Ok(series.delivery(id));
            }
            soonest = Some(soonest.map_or(ready, |soonest: Duration| soonest.min(ready)));
        }
        Err(soonest)
    }

    /// The server has this write.
    pub(super) fn delivered(&mut self, delivery: &Delivery, now: Duration) {
        self.limiter.take(&delivery.first, now);
        self.settle(delivery, delivery.count);
    }

    /// The Event was there before the POST: an earlier try of ours made it, perhaps of an agent before this one, which
    /// may have counted `on_server` of the very occurrences that we count again.
    pub(super) fn existed(&mut self, delivery: &Delivery, on_server: u64, now: Duration) {
        self.limiter.take(&delivery.first, now);
        self.settle(delivery, on_server);
    }

    /// The Event to be counted on is no longer there.
    pub(super) fn vanished(&mut self, delivery: &Delivery) {
        if let Some(series) = self.series.get_mut(&delivery.id) {
            series.created = false;
            series.sent = 0;
        }
    }

    /// The server will never take it; returns how many occurrences that loses. It was asked all the same, so it costs
    /// what a write costs.
    pub(super) fn refused(&mut self, delivery: &Delivery, now: Duration) -> u64 {
        self.limiter.take(&delivery.first, now);
        self.outbox.ack(delivery.id);
        self.give_up(delivery.id)
    }

    /// What comes now is about another Node object: nothing is counted on the old one's Events.
    pub(super) fn start_over(&mut self) {
        self.open.clear();
    }

    fn current(&mut self, key: &Key, now: Duration) -> Option<(u64, &mut Series)> {
        let &id = self.open.get(key)?;
        let series = self.series.get_mut(&id)?;
        (now < series.opened_at + self.limits.series).then_some((id, series))
    }

    fn start(&mut self, key: Key, record: EventRecord, now: Duration) -> u64 {
        self.forget_delivered();
        self.last_id += 1;
        self.open.insert(key, self.last_id);
        self.series.insert(self.last_id, Series::new(record, now));
        self.last_id
    }

    fn settle(&mut self, delivery: &Delivery, sent: u64) {
        self.outbox.ack(delivery.id);
        let Some(series) = self.series.get_mut(&delivery.id) else { return };
        series.created = true;
        series.sent = sent;
        if series.has_news() {
            // There was room a moment ago, and nobody came in between.
            self.outbox.push(delivery.id, series.first.severity, series.last_time);
        } else if self.open.get(&Key::of(&series.first)) != Some(&delivery.id) {
            self.series.remove(&delivery.id);
        }
    }

    fn give_up(&mut self, id: u64) -> u64 {
        let Some(series) = self.series.remove(&id) else { return 0 };
        let key = Key::of(&series.first);
        if self.open.get(&key) == Some(&id) {
            self.open.remove(&key);
        }
        series.count.saturating_sub(series.sent)
    }

    fn forget_delivered(&mut self) {
        if self.series.len() - self.outbox.len() > REMEMBERED_LIMIT {
            self.series.retain(|&id, _| self.outbox.contains(id));
            self.open.retain(|_, id| self.outbox.contains(*id));
        }
    }
}

impl Key {
    fn of(record: &EventRecord) -> Self {
        Self {
            source: record.source.clone(),
            reason: record.reason.clone(),
            subject: record.subject.clone(),
            condition: record.condition.clone(),
            severity: record.severity,
        }
    }
}

#[cfg(test)]
mod tests;
