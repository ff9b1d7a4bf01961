//! What the reader reports of the clock.

use serde::{Deserialize, Serialize};

use super::{daemon::TimeDaemon, source::Source};

/// The only device of the clock check.
pub(super) const CLOCK: &str = "clock";

/// One look.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct ClockReading {
    /// The wall clock less the clock that counts from boot: changes only when the wall clock is set. Both are slewed
    /// alike (`timekeeping_adjust` in kernel/time/timekeeping.c).
    pub(super) wall_less_boot_millis: i64,
    pub(super) sync: SyncStatus,
    pub(super) daemon: TimeDaemon,
    pub(super) source: Option<Source>,
}

/// What the kernel knows of the synchronisation of its clock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum SyncStatus {
    Known(ClockError),
    /// Why it could not be asked.
    Denied(String),
}

/// How far the clock may be off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct ClockError {
    /// What is still to be slewed.
    pub(super) offset_nanos: i64,
    pub(super) max_micros: i64,
    pub(super) estimated_micros: i64,
    /// TAI less UTC; 0 until a program has set it in the kernel.
    pub(super) tai_secs: i32,
}

impl Default for SyncStatus {
    fn default() -> Self {
        Self::Known(ClockError::default())
    }
}
