//! Waiting for a state with a deadline: the only way a case waits.

use std::{
    fmt::Debug,
    thread,
    time::{Duration, Instant},
};

/// Long enough for a busy machine; what takes longer is broken.
pub const PATIENCE: Duration = Duration::from_secs(20);
/// How long something that must not happen is given to happen anyway.
pub const SETTLE: Duration = Duration::from_millis(700);
/// Between two looks: short against what is measured, long against what a look costs.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The first `Some` of `look`, within [`PATIENCE`].
///
/// # Panics
/// With `what` if the time is over.
#[track_caller]
pub fn until<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    until_within(PATIENCE, what, look)
}

/// The first `Some` of `look`, within `patience`.
///
/// # Panics
/// With `what` if the time is over.
#[track_caller]
pub fn until_within<T>(patience: Duration, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + patience;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited {patience:?} in vain: {what}");
        thread::sleep(LOOK_EVERY);
    }
}

/// Looks again and again for [`SETTLE`]: what `look` gives stays as it is.
///
/// # Panics
/// If it changes.
#[track_caller]
pub fn stays<T: PartialEq + Debug>(what: &str, mut look: impl FnMut() -> T) -> T {
    let first = look();
    let deadline = Instant::now() + SETTLE;
    while Instant::now() < deadline {
        assert_eq!(look(), first, "changed: {what}");
        thread::sleep(LOOK_EVERY);
    }
    first
}
