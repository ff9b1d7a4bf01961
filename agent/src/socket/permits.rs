//! How many connections there may be, in all and for each peer; a permit ends with its connection.
//!
//! The identity of a peer costs a look at procfs, so it is only looked up when it matters: while a user has no more
//! connections than one peer may have, it does not. Then root, the agent's own user and the check processes, if they
//! are the host's own, are only bound by the whole, and all others by the peer.

mod looks;
#[cfg(test)]
mod tests;

use std::{
    pin::pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::Notify,
    time::{Instant, timeout_at},
};

use super::{SocketLimits, check_process_units, peer::Peer};
use crate::runtime::clock;
use looks::Looks;

/// A refused connection is logged after so long without one: a flood that ebbs and flows is one flood.
const QUIET: Duration = Duration::from_mins(1);

/// How long a connection beyond a limit waits: one that follows another may be seen before the end of that.
const WAIT: Duration = Duration::from_millis(250);

/// What the socket did, for the metrics.
#[derive(Debug, Default)]
pub struct Counters {
    /// Requests that were answered.
    pub requests: AtomicU64,
    /// Connections that were turned away.
    pub refused: RefusedConnections,
    /// Connections that ended by a timeout or a broken request.
    pub broken: AtomicU64,
    /// Reports by what became of them.
    pub reports: super::tally::Reports,
}

/// Connections turned away, by the bound they hit.
#[derive(Debug, Default)]
pub struct RefusedConnections {
    pub all: AtomicU64,
    pub peer: AtomicU64,
}

/// The bound that was hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Full {
    All,
    Peer,
}

/// Why a connection is turned away.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    All { limit: usize },
    Peer { limit: usize },
}

/// Hands out permits within the limits.
pub(super) struct Permits {
    limits: SocketLimits,
    returned: Arc<Notify>,
    owner: u32,
    /// A peer of another user is no check process, and not worth a look.
    check_process_users: Vec<u32>,
    held: Arc<Mutex<Held>>,
    counters: Arc<Counters>,
}

#[derive(Default)]
struct Held {
    peers: Vec<Arc<Peer>>,
    looks: Looks,
    /// When the last one was turned away, as time since boot.
    last_refused: Option<Duration>,
}

/// One connection's right to be here.
pub(super) struct Permit {
    peer: Arc<Peer>,
    held: Arc<Mutex<Held>>,
    returned: Arc<Notify>,
}

impl Permits {
    pub(super) fn new(
        limits: SocketLimits,
        owner: u32,
        check_process_users: Vec<u32>,
        counters: Arc<Counters>,
    ) -> Self {
        Self { limits, returned: Arc::default(), owner, check_process_users, held: Arc::default(), counters }
    }

    pub(super) fn take(&self, peer: &Arc<Peer>) -> Result<Permit, Full> {
        let mut held = lock(&self.held);
        if let Some(full) = self.hit(&mut held, peer, false) {
            return Err(full);
        }
        held.peers.push(Arc::clone(peer));
        let (peer, held, returned) = (Arc::clone(peer), Arc::clone(&self.held), Arc::clone(&self.returned));
        Ok(Permit { peer, held, returned })
    }

    /// Waits a moment for one that another connection gives back.
    pub(super) async fn wait(&self, peer: &Arc<Peer>) -> Result<Permit, Full> {
        let deadline = Instant::now() + WAIT;
        loop {
            let mut returned = pin!(self.returned.notified());
            // From here on, so that none is missed between the try and the wait.
            returned.as_mut().enable();
            let full = match self.take(peer) {
                Ok(permit) => return Ok(permit),
                Err(full) => full,
            };
            if timeout_at(deadline, returned).await.is_err() {
                return self.take(peer).map_err(|_| full);
            }
        }
    }

    /// `is_last`: one that is looked at and refused is not looked at again for a while.
    fn hit(&self, held: &mut Held, peer: &Peer, is_last: bool) -> Option<Full> {
        let all = held.peers.len();
        if all >= self.limits.connections {
            return Some(Full::All);
        }
        let is_open = all < self.limits.connections.saturating_sub(self.limits.reserved);
        let of_user = held.peers.iter().filter(|other| other.uid() == peer.uid()).count();
        if is_open && of_user < self.limits.connections_per_peer {
            return None;
        }
        let has_a_claim = self.has_a_claim(peer.uid());
        if !is_open && !has_a_claim {
            return Some(Full::All);
        }
        if !held.looks.may_look(peer, has_a_claim, clock::boottime()) {
            return Some(if is_open { Full::Peer } else { Full::All });
        }
        let refused = self.hit_known(held, peer, is_open);
        if refused.is_some() && is_last {
            held.looks.remember(peer, clock::boottime());
        }
        refused
    }

    /// Whether the identity may turn out to be one that the reserved connections are for.
    fn has_a_claim(&self, uid: u32) -> bool {
        uid == 0 || uid == self.owner || self.check_process_users.contains(&uid)
    }

    /// The same, now that the identity is worth a look.
    fn hit_known(&self, held: &Held, peer: &Peer, is_open: bool) -> Option<Full> {
        let who = peer.identity();
        if who.is_root() || who.is_user(self.owner) || check_process_units::is_one(who) {
            return None;
        }
        // A container's name is its maker's choice, and any user may make cgroups of such names below its own. A peer
        // that is not at home is one peer with all others of its user.
        let same = |other: &&Arc<Peer>| {
            let other_who = other.identity();
            let both_shut_out = who.is_shut_out() && other_who.is_shut_out();
            other.uid() == peer.uid() && (both_shut_out || other_who.principal() == who.principal())
        };
        if held.peers.iter().filter(same).count() >= self.limits.connections_per_peer {
            return Some(Full::Peer);
        }
        (!is_open).then_some(Full::All)
    }

    /// Counts one that is turned away, and names the limit.
    pub(super) fn refuse(&self, peer: &Peer, full: Full) -> Refusal {
        let (counter, refusal) = match full {
            Full::All => (&self.counters.refused.all, Refusal::All { limit: self.limits.connections }),
            Full::Peer => (&self.counters.refused.peer, Refusal::Peer { limit: self.limits.connections_per_peer }),
        };
        counter.fetch_add(1, Ordering::Relaxed);
        let mut held = lock(&self.held);
        let (now, before) = (clock::boottime(), held.last_refused);
        held.last_refused = Some(now);
        // Not before, for one that waits is looked at again; and not one that was refused unseen, or it would be so for
        // ever.
        let _ = self.hit(&mut held, peer, true);
        if before.is_none_or(|before| now.saturating_sub(before) >= QUIET) {
            let (uid, open) = (peer.uid(), held.peers.len());
            tracing::warn!(uid, bound = ?full, open, "connections to the socket are refused");
        }
        refusal
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut held = lock(&self.held);
        if let Some(at) = held.peers.iter().position(|peer| Arc::ptr_eq(peer, &self.peer)) {
            held.peers.swap_remove(at);
        }
        drop(held);
        self.returned.notify_waiters();
    }
}

fn lock(held: &Mutex<Held>) -> MutexGuard<'_, Held> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}
