//! The present, by both clocks; the only place of this crate that reads either.

use std::time::Duration;

use jiff::Timestamp;
use nodewell_remediation::time::{Moment, Now};
use tokio::time::Instant;

/// What others did may be older than this program: its moments are counted from so long before its start.
const BEFORE: Duration = Duration::from_hours(365 * 24);

/// Counts moments from its making, or from long before. A copy counts from the same instant.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    start: Instant,
    /// What its moments were at the start.
    before: Duration,
    wall: Wall,
    slept: fn() -> Duration,
}

#[derive(Debug, Clone, Copy)]
enum Wall {
    System,
    /// It was this at the start and goes on with tokio's clock, which a test may have stopped.
    Counted(Timestamp),
    /// Whatever this shows: a test sets it forwards and backwards.
    Read(fn() -> Timestamp),
}

impl Clock {
    /// The machine's own clocks. `slept` is how long the machine was suspended since it booted (`CLOCK_BOOTTIME` minus
    /// `CLOCK_MONOTONIC`): tokio's clock stands still meanwhile, and a leader that slept leads no more.
    #[must_use]
    pub fn system(slept: fn() -> Duration) -> Self {
        Self { start: Instant::now(), before: BEFORE, wall: Wall::System, slept }
    }

    /// A wall clock that shows `wall` now; for tests and skewed replicas.
    #[must_use]
    pub fn counted(wall: Timestamp) -> Self {
        Self { start: Instant::now(), before: Duration::ZERO, wall: Wall::Counted(wall), slept: || Duration::ZERO }
    }

    /// A wall clock that a test may step; its moments go on as those of [`counted`](Self::counted).
    #[must_use]
    pub fn reading(wall: fn() -> Timestamp) -> Self {
        Self { start: Instant::now(), before: Duration::ZERO, wall: Wall::Read(wall), slept: || Duration::ZERO }
    }

    #[must_use]
    pub fn now(&self) -> Now {
        Now { moment: self.moment(), wall: self.wall() }
    }

    #[must_use]
    pub fn moment(&self) -> Moment {
        Moment(self.before.saturating_add(self.start.elapsed()).saturating_add((self.slept)()))
    }

    #[must_use]
    pub fn wall(&self) -> Timestamp {
        match self.wall {
            Wall::System => Timestamp::now(),
            Wall::Counted(start) => start.checked_add(self.start.elapsed()).unwrap_or(Timestamp::MAX),
            Wall::Read(wall) => wall(),
        }
    }

    /// Returns at `moment`, or at once if it has passed.
    pub async fn until(&self, moment: Moment) {
        while let Some(rest) = moment.0.checked_sub(self.moment().0).filter(|rest| !rest.is_zero()) {
            tokio::time::sleep(rest).await;
        }
    }
}
