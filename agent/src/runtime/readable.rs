//! Descriptors that the runtime waits for.

use std::{
    io,
    os::fd::{AsFd, AsRawFd},
};

use tokio::io::{Interest, unix::AsyncFd};

/// Waits for `owner` to have something to read.
#[expect(
    deprecated,
    reason = "unsound for what gives another descriptor away each time it is asked: ours own theirs until they are dropped"
)]
pub fn readable<T: AsFd + AsRawFd>(owner: T) -> io::Result<AsyncFd<T>> {
    AsyncFd::with_interest(owner, Interest::READABLE)
}
