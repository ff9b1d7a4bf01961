//! Connections beyond a limit that wait for a moment: as many as may be served, and of one user as many as one peer may
//! have, so that a flood waits nowhere.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::SocketLimits;

pub(super) struct Queue {
    most: usize,
    most_of_user: usize,
    users: Arc<Mutex<Vec<u32>>>,
}

/// One connection's slot; it is left when dropped.
pub(super) struct Slot {
    uid: u32,
    users: Arc<Mutex<Vec<u32>>>,
}

impl Queue {
    pub(super) fn new(limits: &SocketLimits) -> Self {
        Self { most: limits.connections, most_of_user: limits.connections_per_peer, users: Arc::default() }
    }

    /// Nothing where too many wait already.
    pub(super) fn enter(&self, uid: u32) -> Option<Slot> {
        let mut users = lock(&self.users);
        let of_user = users.iter().filter(|other| **other == uid).count();
        if users.len() >= self.most || of_user >= self.most_of_user {
            return None;
        }
        users.push(uid);
        Some(Slot { uid, users: Arc::clone(&self.users) })
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut users = lock(&self.users);
        if let Some(at) = users.iter().position(|uid| *uid == self.uid) {
            users.swap_remove(at);
        }
    }
}

fn lock(users: &Mutex<Vec<u32>>) -> MutexGuard<'_, Vec<u32>> {
    users.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_user_leaves_room_for_others_and_a_place_is_given_back() {
        let limits = SocketLimits { connections: 3, connections_per_peer: 2, ..SocketLimits::default() };
        let queue = Queue::new(&limits);
        let mut of_one: Vec<Slot> = (0..2).map(|_| queue.enter(1000).unwrap()).collect();
        assert!(queue.enter(1000).is_none());
        let _other = queue.enter(1001).unwrap();
        assert!(queue.enter(1002).is_none(), "all slots are taken");
        drop(of_one.pop());
        assert!(queue.enter(1002).is_some());
    }
}
