//! The clocks, read here and nowhere else: the wall clock for people, `CLOCK_BOOTTIME` for deadlines.

use std::{sync::OnceLock, time::Duration};

use nix::time::{ClockId, clock_gettime};
use nodewell_ledger::Now;
use nodewell_model::BootId;

use super::pace;

/// This moment, by both clocks that the ledger goes by.
#[must_use]
pub fn now() -> Now {
    Now { wall: jiff::Timestamp::now(), boottime: boottime() }
}

/// Time since boot, suspend included: what ttl, deadlines and back-off are counted in.
#[must_use]
pub fn boottime() -> Duration {
    read(ClockId::CLOCK_BOOTTIME)
}

/// Time since boot without suspend: what the kernel stamps its log with (`local_clock`, close to this).
#[must_use]
pub fn monotonic() -> Duration {
    read(ClockId::CLOCK_MONOTONIC)
}

/// How long the machine has slept since it booted.
#[must_use]
pub fn slept() -> Duration {
    boottime().saturating_sub(monotonic())
}

/// This boot's id; `None` where procfs does not show it.
#[must_use]
pub fn boot_id() -> Option<BootId> {
    static ID: OnceLock<Option<BootId>> = OnceLock::new();
    *ID.get_or_init(|| BootId::parse(&std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?))
}

/// The clock of code that may also run in virtual time.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Clock {
    /// The runtime's time, counted from this moment; `None`: the host's clocks.
    simulated: Option<(tokio::time::Instant, jiff::Timestamp)>,
}

impl Clock {
    /// Starts now, at `wall`, and goes as tokio's clock does: a paused one jumps from timer to timer.
    #[must_use]
    pub fn simulated(wall: jiff::Timestamp) -> Self {
        Self { simulated: Some((tokio::time::Instant::now(), wall)) }
    }

    /// This moment, by both.
    #[must_use]
    pub fn now(&self) -> Now {
        Now { wall: self.wall(), boottime: self.boottime() }
    }

    /// Time since boot, or since the simulation's start.
    #[must_use]
    pub fn boottime(&self) -> Duration {
        self.simulated.map_or_else(boottime, |(start, _)| start.elapsed())
    }

    /// Sleeps for `pause`, or until the next moment of what is done every `longest` ([`pace::next`]).
    pub async fn sleep(&self, pause: Duration, longest: Duration) {
        if self.simulated.is_some() {
            return tokio::time::sleep(pause.min(longest)).await;
        }
        let now = tokio::time::Instant::now();
        pace::sleep_until(pace::next(now, longest).min(now + pause.min(longest))).await;
    }

    /// The wall clock.
    #[must_use]
    pub fn wall(&self) -> jiff::Timestamp {
        let simulated = |(start, wall): (tokio::time::Instant, jiff::Timestamp)| {
            wall.saturating_add(jiff::SignedDuration::try_from(start.elapsed()).ok()?).ok()
        };
        self.simulated.and_then(simulated).unwrap_or_else(jiff::Timestamp::now)
    }
}

fn read(clock: ClockId) -> Duration {
    clock_gettime(clock).map(Duration::from).unwrap_or_default()
}
