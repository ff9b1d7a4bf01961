//! What the machine's clocks show of its sleep.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// How long the machine was suspended since it booted: `CLOCK_BOOTTIME` goes on meanwhile, `CLOCK_MONOTONIC` does not.
#[must_use]
pub fn slept() -> Duration {
    // Linux has had both since 2.6.39; a kernel without them does not suspend either.
    let read = |clock| clock_gettime(clock).map_or(Duration::ZERO, Duration::from);
    let awake = read(ClockId::CLOCK_MONOTONIC);
    read(ClockId::CLOCK_BOOTTIME).saturating_sub(awake)
}
