//! A Lease of a backup counts fewer terms than began. A candidate that was cut off meanwhile has seen none of them, and what
//! the backup shows is no news to it: it would give their numbers a second time. So each candidate that knows better, also by
//! an earlier run, writes a number into the Lease that none of them can have had. It leads by that no more than before, and
//! the Lease runs out as any other does that has changed.

use super::{Candidate, SKIPPED};
use crate::cluster::{Election, Leadership};

impl<C: Election> Candidate<'_, C> {
    /// One that was released is none: what is written there would keep it from being taken.
    pub(super) fn is_behind(&self, lease: &Leadership) -> bool {
        !lease.holder.is_empty() && lease.transitions < *self.cache.epochs().borrow()
    }

    pub(super) async fn count_on(&mut self, lease: Leadership) {
        let transitions = *self.cache.epochs().borrow() + SKIPPED;
        match self.write(&Leadership { transitions, ..lease }).await {
            Ok(lease) => tracing::info!(epoch = lease.transitions, "the leader's Lease counts on from there"),
            Err(error) => tracing::debug!(%error, "the leader's Lease still counts from an older term"),
        }
    }
}
