//! The recent events, for people who look later and for exporters that are about to deliver them.

use std::{
    collections::{VecDeque, vec_deque::Iter},
    iter::{Peekable, Rev},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use nodewell_model::EventRecord;
use tokio::sync::watch;

/// How many events the log holds; an exporter that must deliver has its own outbox.
pub const EVENT_LOG_LIMIT: usize = 4096;

/// A bounded ring of events, counted up from 1, or on from where an earlier run ended. A reader that falls behind sees it
/// from the ids.
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

/// What peers reported is apart from the rest: each part loses its oldest without a search.
#[derive(Debug, Default)]
struct Ring {
    ours: VecDeque<EventRecord>,
    of_peers: VecDeque<EventRecord>,
    /// The id of the first event of all; 0 before it.
    first_id: u64,
}

impl Ring {
    fn push(&mut self, event: EventRecord) {
        if self.len() == EVENT_LOG_LIMIT {
            self.make_room();
        }
        if self.first_id == 0 {
            self.first_id = event.id;
        }
        if event.from_peer { self.of_peers.push_back(event) } else { self.ours.push_back(event) }
    }

    /// The oldest goes; where peers have more than half of the log, the oldest of theirs.
    fn make_room(&mut self) {
        let first = |events: &VecDeque<EventRecord>| events.front().map_or(u64::MAX, |event| event.id);
        let is_flood = self.of_peers.len() > EVENT_LOG_LIMIT / 2;
        let is_peers = is_flood || first(&self.of_peers) < first(&self.ours);
        if is_peers {
            self.of_peers.pop_front()
        } else {
            self.ours.pop_front()
        };
    }

    fn len(&self) -> usize {
        self.ours.len() + self.of_peers.len()
    }

    fn oldest_id(&self) -> Option<u64> {
        let ids = [&self.ours, &self.of_peers].map(|events| events.front().map(|event| event.id));
        ids.into_iter().flatten().min()
    }

    fn last_id(&self) -> Option<u64> {
        let ids = [&self.ours, &self.of_peers].map(|events| events.back().map(|event| event.id));
        ids.into_iter().flatten().max()
    }

    /// Everything above `after_id`, oldest first.
    fn since(&self, after_id: u64) -> impl Iterator<Item = &EventRecord> {
        let mut ours = newer(&self.ours, after_id).peekable();
        let mut of_peers = newer(&self.of_peers, after_id).peekable();
        std::iter::from_fn(move || match (ours.peek(), of_peers.peek()) {
            (Some(one), Some(other)) if one.id > other.id => of_peers.next(),
            (Some(_), _) => ours.next(),
            (None, _) => of_peers.next(),
        })
    }

    /// The id before the newest `count`.
    fn before_newest(&self, count: usize) -> u64 {
        let mut parts = [self.ours.iter().rev().peekable(), self.of_peers.iter().rev().peekable()];
        let mut newest = std::iter::from_fn(|| {
            let id = |part: &mut Peekable<Rev<Iter<'_, EventRecord>>>| part.peek().map(|event| event.id);
            let [ours, of_peers] = &mut parts;
            if id(ours) > id(of_peers) { ours.next() } else { of_peers.next() }
        });
        newest.nth(count).map_or(0, |event| event.id)
    }
}

fn newer(events: &VecDeque<EventRecord>, after_id: u64) -> Iter<'_, EventRecord> {
    events.range(events.partition_point(|event| event.id <= after_id)..)
}

impl EventLog {
    /// Adds events; ids must count up.
    pub fn extend(&self, events: impl IntoIterator<Item = EventRecord>) {
        let mut ring = self.lock();
        for event in events {
            ring.push(event);
        }
        let last = ring.last_id().unwrap_or(0);
        drop(ring);
        self.last.send_if_modified(|current| std::mem::replace(current, last) != last);
    }

    /// At most `limit` events with an id above `after_id`, oldest first.
    #[must_use]
    pub fn since(&self, after_id: u64, limit: usize) -> Vec<EventRecord> {
        self.lock().since(after_id).take(limit).cloned().collect()
    }

    /// The id after which [`EventLog::since`] gives the newest `count`; ids between them may be missing.
    #[must_use]
    pub fn before_newest(&self, count: usize) -> u64 {
        self.lock().before_newest(count)
    }

    /// The newest id; 0 while there is none.
    #[must_use]
    pub fn last_id(&self) -> u64 {
        *self.last.borrow()
    }

    /// The oldest id still here; 0 while there is none.
    #[must_use]
    pub fn oldest_id(&self) -> u64 {
        self.lock().oldest_id().unwrap_or(0)
    }

    /// The id of the first event that was ever added; 0 while there is none. Those below are an earlier run's.
    #[must_use]
    pub fn first_id(&self) -> u64 {
        self.lock().first_id
    }

    /// Whether another event takes an older one's place. Before that none is lost.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.lock().len() == EVENT_LOG_LIMIT
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
    use super::*;
    use crate::shared_state::testing::reported as event;

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
    fn the_two_parts_are_one_log_in_the_order_of_ids() {
        let log = EventLog::default();
        let source = |id: u64| if id.is_multiple_of(3) { "kernel-monitor" } else { "d@uid:7" };
        log.extend([1, 2, 3, 5, 6, 9, 10, 12].map(|id| event(id, source(id))));
        let since = |after, limit| log.since(after, limit).iter().map(|event| event.id).collect::<Vec<_>>();
        assert_eq!(since(0, usize::MAX), [1, 2, 3, 5, 6, 9, 10, 12]);
        assert_eq!(since(3, 3), [5, 6, 9]);
        assert_eq!(since(4, 1), [5]);
        assert_eq!(since(12, 9), [0_u64; 0]);
        for (count, newest) in [(0, vec![]), (1, vec![12]), (3, vec![9, 10, 12]), (7, vec![2, 3, 5, 6, 9, 10, 12])] {
            assert_eq!(since(log.before_newest(count), usize::MAX), newest);
        }
        assert_eq!((log.before_newest(8), log.before_newest(9), log.before_newest(usize::MAX)), (0, 0, 0));
        assert_eq!(EventLog::default().before_newest(3), 0);
    }

    /// The oldest of a peer's flood must not be looked for among what stays.
    #[test]
    fn what_is_oldest_in_each_part_is_in_front() {
        let limit = EVENT_LOG_LIMIT as u64;
        let log = EventLog::default();
        log.extend((1..=limit / 4).map(|id| event(id, "kernel-monitor")));
        log.extend((limit / 4 + 1..=2 * limit).map(|id| event(id, "d@uid:7")));
        let ring = log.lock();
        assert_eq!((ring.ours.len() as u64, ring.of_peers.len() as u64), (limit / 4, limit - limit / 4));
        assert_eq!(ring.of_peers.front().map(|event| event.id), Some(2 * limit - (limit - limit / 4) + 1));
    }

    #[test]
    fn without_peers_the_oldest_goes() {
        let limit = EVENT_LOG_LIMIT as u64;
        let log = EventLog::default();
        log.extend((1..=limit + 5).map(|id| event(id, "raid@root")));
        assert_eq!(ids(&log), (6, EVENT_LOG_LIMIT, limit + 5));
    }
}
