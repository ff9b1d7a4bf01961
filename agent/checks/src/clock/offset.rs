//! Steps of the wall clock, and how far it is off while it is synchronised.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::reading::ClockError;

/// Two looks at two clocks are never at the same moment.
const SLACK_MILLIS: i64 = 50;

/// The difference of the clocks at the last look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Mark {
    wall_less_boot_millis: i64,
    tai_secs: i32,
}

impl Mark {
    pub(super) fn new(wall_less_boot_millis: i64, tai_secs: i32) -> Self {
        Self { wall_less_boot_millis, tai_secs }
    }

    /// By how many milliseconds the wall clock was set since, if by more than `step`. A leap second is announced with
    /// the offset of TAI.
    pub(super) fn stepped_to(self, now: Self, step: Duration) -> Option<i64> {
        let leap = i64::from(now.tai_secs) - i64::from(self.tai_secs);
        let leap = if leap.abs() == 1 { leap * 1000 } else { 0 };
        let millis = now.wall_less_boot_millis.saturating_sub(self.wall_less_boot_millis).saturating_add(leap);
        let limit = i64::try_from(step.as_millis()).unwrap_or(i64::MAX).saturating_add(SLACK_MILLIS);
        (millis.saturating_abs() > limit).then_some(millis)
    }
}

/// How far the clock is off, as the kernel and the time daemon report it.
pub(super) fn deviation(error: &ClockError) -> Duration {
    let estimated = u64::try_from(error.estimated_micros).unwrap_or(0).saturating_mul(1000);
    Duration::from_nanos(error.offset_nanos.unsigned_abs().max(estimated))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stepped(before: Mark, now: Mark) -> Option<i64> {
        before.stepped_to(now, Duration::from_secs(1))
    }

    #[test]
    fn more_than_a_second_is_a_step_and_a_leap_second_is_none() {
        assert_eq!(stepped(Mark::new(1000, 0), Mark::new(2000, 0)), None, "a leap second, untold");
        assert_eq!(stepped(Mark::new(1000, 0), Mark::new(2060, 0)), Some(1060));
        assert_eq!(stepped(Mark::new(10_000, 0), Mark::new(1000, 0)), Some(-9000));
        assert_eq!(stepped(Mark::new(10_000, 37), Mark::new(9000, 38)), None, "a leap second, announced");
        assert_eq!(stepped(Mark::new(10_000, 0), Mark::new(10_000, 37)), None, "the kernel was given the TAI offset");
    }

    proptest! {
        #[test]
        fn no_clock_is_too_wild(before: i64, now: i64, tai: i32) {
            let _ = stepped(Mark::new(before, tai), Mark::new(now, 37));
            let error = ClockError { offset_nanos: before, estimated_micros: now, ..ClockError::default() };
            prop_assert!(deviation(&error) >= Duration::from_nanos(before.unsigned_abs()));
        }
    }
}
