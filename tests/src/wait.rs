//! Waiting for a state with a deadline: the only way a case waits.

use std::{
    thread,
    time::{Duration, Instant},
};

/// Long enough for a busy machine; what takes longer is broken.
pub const PATIENCE: Duration = Duration::from_secs(180);
/// What does not change for so long has come to rest.
pub const SETTLE: Duration = Duration::from_millis(700);
/// Between two looks: short against what is measured, long against what a look costs.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Where it takes longer: looks of minutes at every case beside each other would take a processor's third.
const LOOK_SELDOM: Duration = Duration::from_millis(100);

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
pub fn until_within<T>(patience: Duration, what: &str, look: impl FnMut() -> Option<T>) -> T {
    found_within(patience, look).unwrap_or_else(|| panic!("waited {patience:?} in vain: {what}"))
}

/// The same for what may not come: `None` if the time is over.
#[must_use]
pub fn found_within<T>(patience: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let begun = Instant::now();
    loop {
        let found = look();
        let elapsed = begun.elapsed();
        if found.is_some() || elapsed >= patience {
            return found;
        }
        thread::sleep((elapsed / 20).clamp(LOOK_EVERY, LOOK_SELDOM).min(patience.saturating_sub(elapsed)));
    }
}

/// Looks for as long as `period` whether a state lasts.
///
/// # Panics
/// With `what` once it does not.
#[track_caller]
pub fn lasts(period: Duration, what: &str, mut look: impl FnMut() -> bool) {
    let begun = Instant::now();
    while begun.elapsed() < period {
        assert!(look(), "no longer so after {:?}: {what}", begun.elapsed());
        thread::sleep(LOOK_EVERY);
    }
}

/// What `look` gives once it has not changed for [`SETTLE`].
///
/// # Panics
/// With `what` if it never rests.
#[track_caller]
pub fn stable<T: PartialEq>(what: &str, mut look: impl FnMut() -> T) -> T {
    let (mut last, mut since) = (look(), Instant::now());
    until(what, || {
        let now = look();
        if now != last {
            (last, since) = (now, Instant::now());
        }
        (since.elapsed() >= SETTLE).then_some(())
    });
    last
}
