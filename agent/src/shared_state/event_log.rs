//! The recent events, for people who look later and for exporters that are about to deliver them.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use nodewell_model::EventRecord;
use tokio::sync::watch;

/// How many events the log holds; an exporter that must deliver has its own outbox.
pub const EVENT_LOG_LIMIT: usize = 4096;

/// A bounded ring of events, counted up from 1. A reader that falls behind sees it from the ids.
#[derive(Debug, Clone)]
pub struct EventLog {
    ring: Arc<Mutex<Ring>>,
    last: Arc<watch::Sender<u64>>,
}

impl Default for EventLog {
    fn default() -> Self {
        Self { ring: Arc::default(), last: Arc::new(watch::Sender::new(0)) }
    }
}

#[derive(Debug, Default)]
struct Ring {
    events: VecDeque<EventRecord>,
    /// How many of them peers reported.
    of_peers: usize,
}

impl Ring {
    fn push(&mut self, event: EventRecord) {
        if self.events.len() == EVENT_LOG_LIMIT {
            self.make_room();
        }
        self.of_peers += usize::from(event.from_peer);
        self.events.push_back(event);
    }

    /// The oldest goes; where peers have more than half of the log, the oldest of theirs.
    fn make_room(&mut self) {
        let is_flood = self.of_peers > EVENT_LOG_LIMIT / 2;
        let oldest = if is_flood { self.events.iter().position(|event| event.from_peer) } else { None };
        let gone = self.events.remove(oldest.unwrap_or(0));
        self.of_peers -= usize::from(gone.is_some_and(|event| event.from_peer));
    }
}

impl EventLog {
    /// Adds events; ids must count up.
    pub fn extend(&self, events: impl IntoIterator<Item = EventRecord>) {
        let mut ring = self.lock();
        for event in events {
            ring.push(event);
        }
        let last = ring.events.back().map_or(0, |event| event.id);
        drop(ring);
        self.last.send_if_modified(|current| std::mem::replace(current, last) != last);
    }

    /// At most `limit` events with an id above `after_id`, oldest first.
    #[must_use]
    pub fn since(&self, after_id: u64, limit: usize) -> Vec<EventRecord> {
        let ring = self.lock();
        let start = ring.events.partition_point(|event| event.id <= after_id);
        ring.events.range(start..).take(limit).cloned().collect()
    }

    /// The newest id; 0 while there is none.
    #[must_use]
    pub fn last_id(&self) -> u64 {
        *self.last.borrow()
    }

    /// The oldest id still here; 0 while there is none.
    #[must_use]
    pub fn oldest_id(&self) -> u64 {
        self.lock().events.front().map_or(0, |event| event.id)
    }

    /// Returns once there is an event with an id above `after_id`.
    pub async fn changed(&self, after_id: u64) {
        let mut last = self.last.subscribe();
        // The sender lives in `self`: waiting can only end with a newer id.
        let _ = last.wait_for(|last| *last > after_id).await;
    }

    fn lock(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use nodewell_model::{Name, Origin, Severity};

    use super::*;

    fn event(id: u64, source: &str) -> EventRecord {
        EventRecord {
            id,
            origin: Origin::Line { number: id },
            boot_id: None,
            severity: Severity::Warn,
            time: jiff::Timestamp::UNIX_EPOCH,
            last_time: jiff::Timestamp::UNIX_EPOCH,
            reason: Name::fixed("IOError"),
            message: String::new(),
            subject: None,
            source: source.into(),
            from_peer: source.contains("@uid:"),
            condition: None,
            count: 1,
            test: false,
        }
    }

    fn ids(log: &EventLog) -> (u64, usize, u64) {
        (log.oldest_id(), log.since(0, usize::MAX).len(), log.last_id())
    }

    #[test]
    fn a_flood_of_peers_leaves_half_of_the_log_to_others() {
        let limit = EVENT_LOG_LIMIT as u64;
        let log = EventLog::default();
        log.extend((1..=10).map(|id| event(id, "kernel-monitor")));
        log.extend((11..=3 * limit).map(|id| event(id, "d@uid:7")));
        assert_eq!(ids(&log), (1, EVENT_LOG_LIMIT, 3 * limit), "what is ours is there");
        log.extend((3 * limit + 1..=4 * limit).map(|id| event(id, "kernel-monitor")));
        let all = log.since(0, usize::MAX);
        let of_peers = all.iter().filter(|event| event.from_peer).count();
        assert_eq!((ids(&log).1, of_peers), (EVENT_LOG_LIMIT, 0), "no more than half, and the oldest go first");
    }

    #[test]
    fn without_peers_the_oldest_goes() {
        let limit = EVENT_LOG_LIMIT as u64;
        let log = EventLog::default();
        log.extend((1..=limit + 5).map(|id| event(id, "raid@root")));
        assert_eq!(ids(&log), (6, EVENT_LOG_LIMIT, limit + 5));
    }
}
