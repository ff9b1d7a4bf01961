//! How many connections there may be, in all and for each user; a permit ends with its connection.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use super::{Limits, peer::Peer};

/// What the socket did, for the metrics.
#[derive(Debug, Default)]
pub struct Counters {
    /// Requests that were answered.
    pub requests: AtomicU64,
    /// Connections that were turned away.
    pub refused: Refusals,
    /// Connections that ended by a timeout or a broken request.
    pub broken: AtomicU64,
}

/// Connections turned away, by the bound they hit.
#[derive(Debug, Default)]
pub struct Refusals {
    pub all: AtomicU64,
    pub user: AtomicU64,
}

/// The bound that was hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Full {
    All,
    User,
}

/// Hands out permits within the limits.
pub(super) struct Permits {
    limits: Limits,
    owner: u32,
    held: Arc<Mutex<Held>>,
    counters: Arc<Counters>,
}

#[derive(Default)]
struct Held {
    all: usize,
    by_user: HashMap<u32, usize>,
    /// Whether the log has been told; it is told again only after a quiet moment.
    told: bool,
}

/// One connection's right to be here.
pub(super) struct Permit {
    uid: u32,
    held: Arc<Mutex<Held>>,
}

impl Permits {
    pub(super) fn new(limits: Limits, owner: u32, counters: Arc<Counters>) -> Self {
        Self { limits, owner, held: Arc::default(), counters }
    }

    pub(super) fn take(&self, peer: Peer) -> Result<Permit, Full> {
        let mut held = lock(&self.held);
        if let Some(full) = self.hit(&held, peer) {
            self.refuse(&mut held, peer, full);
            return Err(full);
        }
        held.all += 1;
        *held.by_user.entry(peer.uid).or_default() += 1;
        Ok(Permit { uid: peer.uid, held: Arc::clone(&self.held) })
    }

    fn hit(&self, held: &Held, peer: Peer) -> Option<Full> {
        if peer.may_act(self.owner) {
            return (held.all >= self.limits.connections).then_some(Full::All);
        }
        if held.by_user.get(&peer.uid).is_some_and(|&count| count >= self.limits.connections_per_user) {
            return Some(Full::User);
        }
        let open = self.limits.connections.saturating_sub(self.limits.reserved);
        (held.all >= open).then_some(Full::All)
    }

    fn refuse(&self, held: &mut Held, peer: Peer, full: Full) {
        let counter = match full {
            Full::All => &self.counters.refused.all,
            Full::User => &self.counters.refused.user,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        if !std::mem::replace(&mut held.told, true) {
            tracing::warn!(uid = peer.uid, bound = ?full, open = held.all, "connections to the socket are refused");
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut held = lock(&self.held);
        held.all -= 1;
        if held.all == 0 {
            held.told = false;
        }
        if let Some(count) = held.by_user.get_mut(&self.uid) {
            *count -= 1;
            if *count == 0 {
                held.by_user.remove(&self.uid);
            }
        }
    }
}

fn lock(held: &Mutex<Held>) -> MutexGuard<'_, Held> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permits() -> Permits {
        let limits = Limits { connections: 6, reserved: 2, connections_per_user: 3, ..Limits::default() };
        Permits::new(limits, 990, Arc::default())
    }

    #[test]
    fn a_user_gets_its_share_and_no_more() {
        let permits = permits();
        let _held: Vec<_> = (0..3).map(|_| permits.take(Peer { uid: 1000 }).map_err(drop).unwrap()).collect();
        assert_eq!(permits.take(Peer { uid: 1000 }).err(), Some(Full::User));
        assert!(permits.take(Peer { uid: 1001 }).is_ok());
    }

    #[test]
    fn users_cannot_shut_root_out() {
        let permits = permits();
        let _held: Vec<_> = (0..4).map(|uid| permits.take(Peer { uid: 1000 + uid }).map_err(drop).unwrap()).collect();
        assert_eq!(permits.take(Peer { uid: 2000 }).err(), Some(Full::All));
        let _root = permits.take(Peer { uid: 0 }).map_err(drop).unwrap();
        let _own = permits.take(Peer { uid: 990 }).map_err(drop).unwrap();
        assert_eq!(permits.take(Peer { uid: 0 }).err(), Some(Full::All));
    }

    #[test]
    fn a_closed_connection_gives_its_permit_back() {
        let permits = permits();
        for _ in 0..20 {
            assert!(permits.take(Peer { uid: 1000 }).is_ok());
        }
        assert_eq!(lock(&permits.held).all, 0);
        assert!(lock(&permits.held).by_user.is_empty());
    }
}
