//! The queue of series (Events) that wait for delivery, in order of time and bounded; pure. The store does not save it:
//! it is made from the series, which the store saves.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use nodewell_model::{EventRecord, Severity};

/// A queue of series ids by the time of what they have to report. When it is full, the oldest of the least worth goes: what
/// peers report, and then the mildest of the others.
#[derive(Debug)]
pub(super) struct Outbox {
    limit: usize,
    limit_of_peer: usize,
    by_time: BTreeSet<(Timestamp, u64)>,
    /// The order in which a full queue drops entries.
    by_worth: BTreeSet<(Worth, Timestamp, u64)>,
    /// The same of each peer alone.
    of_peers: BTreeMap<String, BTreeSet<(Timestamp, u64)>>,
    entries: BTreeMap<u64, Entry>,
    /// The id that is being sent. It is not dropped: it would be counted as lost, and arrive all the same.
    held: Option<u64>,
}

#[derive(Debug, Clone)]
struct Entry {
    peer: Option<String>,
    worth: Worth,
    time: Timestamp,
}

/// The severity that a peer has chosen gives it nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Worth {
    Peers,
    Ours(Severity),
}

impl Outbox {
    pub(super) fn new(limit: usize, limit_of_peer: usize) -> Self {
        Self {
            limit,
            limit_of_peer,
            by_time: BTreeSet::new(),
            by_worth: BTreeSet::new(),
            of_peers: BTreeMap::new(),
            entries: BTreeMap::new(),
            held: None,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn contains(&self, id: u64) -> bool {
        self.entries.contains_key(&id)
    }

    /// Adds `id`, whose series began with `first`, if it does not wait already; returns the entry that had to go for it
    /// (possibly itself).
    pub(super) fn push(&mut self, id: u64, first: &EventRecord, time: Timestamp) -> Option<u64> {
        if self.contains(id) {
            return None;
        }
        let peer = first.peer().map(str::to_owned);
        let worth = if peer.is_some() { Worth::Peers } else { Worth::Ours(first.severity) };
        if let Some(peer) = &peer {
            self.of_peers.entry(peer.clone()).or_default().insert((time, id));
        }
        self.by_time.insert((time, id));
        self.by_worth.insert((worth, time, id));
        let of_peer = peer.as_ref().and_then(|peer| self.of_peers.get(peer));
        let mut of_peer = of_peer.filter(|entries| entries.len() > self.limit_of_peer).into_iter().flatten();
        let over = of_peer.find(|(_, id)| self.held != Some(*id)).map(|(_, id)| *id);
        self.entries.insert(id, Entry { peer, worth, time });
        let least = || self.by_worth.iter().find(|(_, _, id)| self.held != Some(*id)).map(|(_, _, id)| *id);
        let out = over.or_else(|| if self.len() > self.limit { least() } else { None })?;
        self.ack(out);
        Some(out)
    }

    /// `id` is being sent; the entry before it is not any more.
    pub(super) fn hold(&mut self, id: u64) {
        self.held = Some(id);
    }

    /// All ids, oldest first.
    pub(super) fn waiting(&self) -> impl Iterator<Item = u64> {
        self.by_time.iter().map(|&(_, id)| id)
    }

    /// `id` need not wait any more.
    pub(super) fn ack(&mut self, id: u64) {
        self.held = self.held.filter(|held| *held != id);
        let Some(Entry { peer, worth, time }) = self.entries.remove(&id) else { return };
        self.by_time.remove(&(time, id));
        self.by_worth.remove(&(worth, time, id));
        if let Some(peer) = peer
            && let Some(entries) = self.of_peers.get_mut(&peer)
        {
            entries.remove(&(time, id));
            if entries.is_empty() {
                self.of_peers.remove(&peer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared_state::testing::reported;

    fn at(secs: i64) -> Timestamp {
        Timestamp::from_second(secs).unwrap()
    }

    fn event(source: &str, severity: Severity) -> EventRecord {
        EventRecord { severity, ..reported(1, source) }
    }

    fn ours(severity: Severity) -> EventRecord {
        event("kernel-monitor", severity)
    }

    #[test]
    fn ids_wait_in_order_of_time() {
        let mut outbox = Outbox::new(8, 8);
        for (id, time) in [(1, 30), (2, 10), (3, 20), (4, 10)] {
            outbox.push(id, &ours(Severity::Warn), at(time));
        }
        outbox.push(1, &ours(Severity::Warn), at(5));
        assert_eq!(outbox.waiting().collect::<Vec<_>>(), [2, 4, 3, 1]);
        outbox.ack(4);
        outbox.ack(99);
        assert_eq!(outbox.waiting().collect::<Vec<_>>(), [2, 3, 1]);
    }

    #[test]
    fn a_full_outbox_lets_the_oldest_of_the_mildest_go() {
        let mut outbox = Outbox::new(3, 3);
        outbox.push(1, &ours(Severity::Critical), at(1));
        outbox.push(2, &ours(Severity::Info), at(3));
        outbox.push(3, &ours(Severity::Info), at(2));
        assert_eq!(outbox.push(4, &ours(Severity::Warn), at(9)), Some(3));
        assert_eq!(outbox.push(5, &ours(Severity::Error), at(9)), Some(2));
        assert_eq!(outbox.push(6, &ours(Severity::Info), at(9)), Some(6));
        assert_eq!(outbox.waiting().collect::<Vec<_>>(), [1, 4, 5]);
    }

    #[test]
    fn what_is_being_sent_does_not_have_to_go() {
        let mut outbox = Outbox::new(2, 2);
        outbox.push(1, &ours(Severity::Info), at(1));
        outbox.push(2, &ours(Severity::Warn), at(2));
        outbox.hold(1);
        assert_eq!(outbox.push(3, &ours(Severity::Error), at(3)), Some(2));
        outbox.ack(1);
        outbox.push(1, &ours(Severity::Info), at(1));
        assert_eq!(outbox.push(4, &ours(Severity::Error), at(4)), Some(1));
    }

    #[test]
    fn peers_make_room_for_what_is_ours_and_each_for_itself() {
        let mut outbox = Outbox::new(4, 2);
        let critical = |peer: &str| event(&format!("d@{peer}"), Severity::Critical);
        outbox.push(1, &ours(Severity::Info), at(1));
        outbox.push(2, &critical("uid:7"), at(2));
        outbox.push(3, &critical("uid:7"), at(3));
        assert_eq!(outbox.push(4, &critical("uid:7"), at(4)), Some(2), "its own oldest");
        assert_eq!(outbox.push(5, &critical("uid:8"), at(5)), None);
        assert_eq!(outbox.push(6, &event("d@root", Severity::Info), at(6)), Some(3));
        assert_eq!(outbox.push(7, &ours(Severity::Info), at(7)), Some(4));
        assert_eq!(outbox.push(8, &critical("uid:9"), at(8)), Some(5));
        assert_eq!(outbox.waiting().collect::<Vec<_>>(), [1, 6, 7, 8]);
        outbox.ack(8);
        outbox.ack(1);
        assert_eq!(outbox.push(9, &critical("uid:9"), at(9)), None, "what went is not counted");
        assert_eq!(outbox.push(10, &critical("uid:9"), at(10)), None);
        assert_eq!(outbox.push(11, &critical("uid:9"), at(11)), Some(9));
    }
}
