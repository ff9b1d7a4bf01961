//! The stop signal, for threads that sit in `poll(2)` as well as for those that look.

use std::{
    os::fd::{AsFd, BorrowedFd},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use nix::sys::eventfd::{EfdFlags, EventFd};
use tokio::sync::watch;

/// Set once, seen by every clone. The descriptor becomes readable and stays so.
#[derive(Debug, Clone)]
pub struct Stop(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    is_set: AtomicBool,
    event: EventFd,
    watchers: watch::Sender<bool>,
}

impl Stop {
    /// Fails only where the process has no descriptor left.
    pub fn new() -> std::io::Result<Self> {
        let event = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?;
        Ok(Self(Arc::new(Inner { is_set: AtomicBool::new(false), event, watchers: watch::Sender::new(false) })))
    }

    /// Sets it.
    pub fn set(&self) {
        self.0.is_set.store(true, Ordering::Release);
        // The counter can only overflow after 2^64 writes; readable it is in any case.
        let _ = self.0.event.write(1);
        self.0.watchers.send_replace(true);
    }

    /// Whether it was set.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.0.is_set.load(Ordering::Acquire)
    }

    /// For tasks: returns once it was set.
    pub async fn requested(&self) {
        let mut watched = self.0.watchers.subscribe();
        // The sender lives in `self`: waiting can only end with the signal.
        let _ = watched.wait_for(|is_set| *is_set).await;
    }

    /// Readable once it was set: for `poll(2)`.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.0.event.as_fd()
    }
}
