//! When a record was written.

use std::time::Duration;

use jiff::Timestamp;
use nodewell_model::{BootId, Record};

/// By every clock that the record names.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    wall: Timestamp,
    since_boot: Option<Duration>,
    boot_id: Option<BootId>,
}

impl Moment {
    pub(super) fn of(record: &Record<'_>) -> Self {
        Self { wall: record.time, since_boot: record.since_boot, boot_id: record.boot_id }
    }

    /// Whether `then` still counts. A clock that jumped by more than `window`, in either direction, leaves nothing to
    /// compare with.
    pub(super) fn is_within(&self, window: Duration, then: &Self) -> bool {
        self.distance_nanos(then).unsigned_abs() < window.as_nanos()
    }

    pub(super) fn is_of_the_boot_of(&self, then: &Self) -> bool {
        self.boot_id == then.boot_id
    }

    /// How long `then` will still count; at least a millisecond, so that the finding has a life.
    pub(super) fn left_of(&self, window: Duration, then: &Self) -> Duration {
        let age = u128::try_from(self.distance_nanos(then)).unwrap_or(0);
        let left = window.as_nanos().saturating_sub(age);
        Duration::from_nanos(u64::try_from(left).unwrap_or(u64::MAX)).max(Duration::from_millis(1))
    }

    fn distance_nanos(&self, then: &Self) -> i128 {
        match (self.since_boot, then.since_boot) {
            (Some(now), Some(then_since)) if self.boot_id == then.boot_id => nanos(now) - nanos(then_since),
            _ => self.wall.as_nanosecond() - then.wall.as_nanosecond(),
        }
    }
}

fn nanos(duration: Duration) -> i128 {
    i128::try_from(duration.as_nanos()).unwrap_or(i128::MAX)
}
