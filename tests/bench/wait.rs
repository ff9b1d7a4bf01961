//! Waiting in short steps: the harness looks every 20 ms, which is longer than what is measured here.

use std::{
    thread,
    time::{Duration, Instant},
};

const PATIENCE: Duration = Duration::from_secs(30);
/// Short against a millisecond, long enough to leave the cores to what is waited for.
const STEP: Duration = Duration::from_micros(100);

/// The first `Some` of `look`.
///
/// # Panics
/// With `what` if it takes too long.
pub(crate) fn until<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    until_within(PATIENCE, what, look)
}

/// The same with a patience of its own.
pub(crate) fn until_within<T>(patience: Duration, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + patience;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited {patience:?} in vain: {what}");
        thread::sleep(STEP);
    }
}
