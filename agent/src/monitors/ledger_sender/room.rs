//! How many findings wait: a channel counts messages, and one message may hold thousands.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// A number of permits that threads wait for: a semaphore for threads.
#[derive(Debug, Clone)]
pub(super) struct Room(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    limit: usize,
    free: Mutex<usize>,
    freed: Condvar,
}

/// So many permits, until this is dropped.
#[derive(Debug)]
pub(super) struct Permit {
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

    /// Waits for `wanted` permits; a caller that wants more than there are gets all.
    pub(super) fn acquire(&self, wanted: usize) -> Permit {
        let size = wanted.min(self.0.limit);
        let free = self.0.free.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free = self.0.freed.wait_while(free, |free| *free < size).unwrap_or_else(PoisonError::into_inner);
        *free -= size;
        Permit { room: self.clone(), size }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        *self.room.0.free.lock().unwrap_or_else(PoisonError::into_inner) += self.size;
        self.room.0.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permits_are_acquired_and_released() {
        let room = Room::new(10);
        let (few, all) = (room.acquire(4), 6);
        assert!(room.has(all) && !room.has(all + 1) && !room.has(1000));
        drop(few);
        let everything = room.acquire(1000);
        assert!(!room.has(1));
        let waiting = std::thread::spawn({
            let room = room.clone();
            move || drop(room.acquire(3))
        });
        drop(everything);
        waiting.join().unwrap();
        assert!(room.has(10));
    }
}
