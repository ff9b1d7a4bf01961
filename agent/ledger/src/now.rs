//! The moment a call is made: the wall clock for people, the boot clock for deadlines.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

/// The moment of a call, read once by the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// The wall clock. It may jump.
    pub wall: Timestamp,
    /// `CLOCK_BOOTTIME`: time since boot, suspend included. It only grows.
    pub boottime: Duration,
}

impl Now {
    /// How old a record of `time` is; nothing for one from the future.
    pub(crate) fn age_of(self, time: Timestamp) -> Duration {
        Duration::try_from(self.wall.duration_since(time)).unwrap_or_default()
    }

    /// What is left of `span` that began at `time`, or `None` if it is over.
    pub(crate) fn left_of(self, span: Duration, time: Timestamp) -> Option<Duration> {
        span.checked_sub(self.age_of(time)).filter(|left| !left.is_zero())
    }

    /// The wall time of a `deadline` that has passed, by today's wall clock.
    pub(crate) fn wall_at(self, deadline: Duration) -> Timestamp {
        let late = self.boottime.saturating_sub(deadline);
        SignedDuration::try_from(late).ok().and_then(|late| self.wall.checked_sub(late).ok()).unwrap_or(self.wall)
    }

    /// The boot time so much later.
    pub(crate) fn after(self, span: Duration) -> Duration {
        self.boottime.saturating_add(span)
    }
}
