//! The clocks, read here and nowhere else: the wall clock for people, `CLOCK_BOOTTIME` for deadlines.

use std::{sync::OnceLock, time::Duration};

use nix::time::{ClockId, clock_gettime};
use nodewell_ledger::Now;
use nodewell_model::BootId;

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

/// This boot's id; `None` where procfs does not say.
#[must_use]
pub fn boot_id() -> Option<BootId> {
    static ID: OnceLock<Option<BootId>> = OnceLock::new();
    *ID.get_or_init(|| BootId::parse(&std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?))
}

fn read(clock: ClockId) -> Duration {
    clock_gettime(clock).map(Duration::from).unwrap_or_default()
}
