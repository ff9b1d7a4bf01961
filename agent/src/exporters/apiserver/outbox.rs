//! The queue of series (Events) that wait for delivery, in order of time and bounded; pure. The store does not save it:
//! it is made from the series, which the store saves.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use nodewell_model::Severity;

/// A queue of series ids by the time of what they have to report. When it is full, the oldest of the lowest severity
/// goes.
#[derive(Debug)]
pub(super) struct Outbox {
    limit: usize,
    by_time: BTreeSet<(Timestamp, u64)>,
    /// The order in which a full queue drops entries: the mildest first, of these the oldest.
    by_worth: BTreeSet<(Severity, Timestamp, u64)>,
    entries: BTreeMap<u64, (Severity, Timestamp)>,
    /// The id that is being sent. It is not dropped: it would be counted as lost, and arrive all the same.
    held: Option<u64>,
}

impl Outbox {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, by_time: BTreeSet::new(), by_worth: BTreeSet::new(), entries: BTreeMap::new(), held: None }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn contains(&self, id: u64) -> bool {
        self.entries.contains_key(&id)
    }

    /// Adds `id` if it does not wait already; returns the entry that had to go for it (possibly itself).
    pub(super) fn push(&mut self, id: u64, severity: Severity, time: Timestamp) -> Option<u64> {
        if self.contains(id) {
            return None;
        }
        self.entries.insert(id, (severity, time));
        self.by_time.insert((time, id));
        self.by_worth.insert((severity, time, id));
        if self.len() <= self.limit {
            return None;
        }
        let &(_, _, out) = self.by_worth.iter().find(|(_, _, id)| self.held != Some(*id))?;
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
        if let Some((severity, time)) = self.entries.remove(&id) {
            self.by_time.remove(&(time, id));
            self.by_worth.remove(&(severity, time, id));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: i64) -> Timestamp {
        Timestamp::from_second(secs).unwrap()
    }

    #[test]
    fn ids_wait_in_order_of_time() {
        let mut outbox = Outbox::new(8);
        for (id, time) in [(1, 30), (2, 10), (3, 20), (4, 10)] {
            outbox.push(id, Severity::Warn, at(time));
        }
        outbox.push(1, Severity::Warn, at(5));
        assert_eq!(outbox.waiting().collect::<Vec<_>>(), [2, 4, 3, 1]);
        outbox.ack(4);
        outbox.ack(99);
        assert_eq!(outbox.waiting().collect::<Vec<_>>(), [2, 3, 1]);
    }

    #[test]
    fn a_full_outbox_lets_the_oldest_of_the_mildest_go() {
        let mut outbox = Outbox::new(3);
        outbox.push(1, Severity::Critical, at(1));
        outbox.push(2, Severity::Info, at(3));
        outbox.push(3, Severity::Info, at(2));
        assert_eq!(outbox.push(4, Severity::Warn, at(9)), Some(3));
        assert_eq!(outbox.push(5, Severity::Error, at(9)), Some(2));
        assert_eq!(outbox.push(6, Severity::Info, at(9)), Some(6));
        assert_eq!(outbox.waiting().collect::<Vec<_>>(), [1, 4, 5]);
    }

    #[test]
    fn what_is_being_sent_does_not_have_to_go() {
        let mut outbox = Outbox::new(2);
        outbox.push(1, Severity::Info, at(1));
        outbox.push(2, Severity::Warn, at(2));
        outbox.hold(1);
        assert_eq!(outbox.push(3, Severity::Error, at(3)), Some(2));
        outbox.ack(1);
        outbox.push(1, Severity::Info, at(1));
        assert_eq!(outbox.push(4, Severity::Error, at(4)), Some(1));
    }
}
