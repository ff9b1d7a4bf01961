//! A store that went back to a backup. Its Lease counts fewer terms than began. A candidate that was cut off meanwhile
//! has seen none of them, and what the backup shows is no news to it: it would give their numbers a second time. So each
//! candidate that knows better, also by an earlier run, writes a number into the Lease that none of them can have had.
//! It leads by that no more than before, and the Lease runs out as any other does that has changed.

use super::{Candidate, SKIPPED};
use crate::cluster::{Election, Leadership};

/// Holds a Lease that was free in the backup: what ran when the store went back has to have ended before a replica leads.
const NO_REPLICA: &str = "no replica: the terms are counted on";

/// A term that may have begun or not: its write got no answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct TriedTerm {
    number: u64,
    /// The newest that was known to have begun.
    seen: u64,
}

impl<C: Election> Candidate<'_, C> {
    /// Whatever this term wrote may be unwritten, and records of it would be taken for what it just intended.
    pub(super) fn end_if_set_back(&mut self) {
        if self.is_set_back() {
            self.end("the API server's store went back");
        }
    }

    pub(super) fn is_set_back(&self) -> bool {
        *self.set_backs.borrow() > self.passed
    }

    /// It is a Lease of before the store went back: what stands in it was so once, and another one may lead.
    pub(super) fn is_past(&self, lease: &Leadership) -> bool {
        self.is_set_back() || lease.transitions < *self.cache.epochs().borrow()
    }

    /// As long as nothing shows that it began, it is no reason to disturb the leader that there is.
    pub(super) fn tried(&mut self, number: u64) {
        let seen = self.newest_seen();
        self.cache.saw_epoch(number);
        self.tried = Some(TriedTerm { number, seen });
    }

    fn newest_seen(&self) -> u64 {
        let known = *self.cache.epochs().borrow();
        self.tried.filter(|tried| tried.number == known).map_or(known, |tried| tried.seen)
    }

    pub(super) fn is_behind(&self, lease: &Leadership) -> bool {
        !lease.resource_version.is_empty() && lease.transitions < self.newest_seen()
    }

    pub(super) async fn count_on(&mut self, lease: Leadership) {
        let transitions = *self.cache.epochs().borrow() + SKIPPED;
        let was_free = lease.holder.is_empty();
        let holder = if was_free { NO_REPLICA.to_owned() } else { lease.holder.clone() };
        let duration = if was_free { self.terms.duration } else { lease.duration };
        match self.write(&Leadership { transitions, holder, duration, ..lease }).await {
            Ok(lease) => tracing::info!(epoch = lease.transitions, "the leader's Lease counts on from there"),
            Err(error) => tracing::debug!(%error, "the leader's Lease still counts from an older term"),
        }
    }
}
