//! How many findings wait: a channel counts messages, and one message may hold thousands.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// A number of places that threads wait for.
#[derive(Debug, Clone)]
pub(super) struct Room(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    limit: usize,
    free: Mutex<usize>,
    freed: Condvar,
}

/// So many places, until this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    room: Room,
    size: usize,
}

impl Room {
    pub(super) fn new(limit: usize) -> Self {
        Self(Arc::new(Inner { limit, free: Mutex::new(limit), freed: Condvar::new() }))
    }

    pub(super) fn has(&self, wanted: usize) -> bool {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) >= wanted.min(self.0.limit)
    }

    /// Waits for `wanted` places; a caller that wants more than there are gets all.
    pub(super) fn take(&self, wanted: usize) -> Place {
        let size = wanted.min(self.0.limit);
        let free = self.0.free.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free = self.0.freed.wait_while(free, |free| *free < size).unwrap_or_else(PoisonError::into_inner);
        *free -= size;
        Place { room: self.clone(), size }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        *self.room.0.free.lock().unwrap_or_else(PoisonError::into_inner) += self.size;
        self.room.0.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_taken_and_given_back() {
        let room = Room::new(10);
        let (few, all) = (room.take(4), 6);
        assert!(room.has(all) && !room.has(all + 1) && !room.has(1000));
        drop(few);
        let everything = room.take(1000);
        assert!(!room.has(1));
        let waiting = std::thread::spawn({
            let room = room.clone();
            move || drop(room.take(3))
        });
        drop(everything);
        waiting.join().unwrap();
        assert!(room.has(10));
    }
}
