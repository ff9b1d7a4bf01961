//! How time goes on between the rounds of a judge, by clocks that do not jump.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::probe::Now;

/// When a round was, as it is remembered across restarts and reboots.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    wall: Timestamp,
    boottime_secs: u64,
    boot_id: String,
}

/// What happened to the time since the round before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    pub elapsed: Duration,
    pub new_boot: bool,
}

impl From<&Now> for Moment {
    fn from(now: &Now) -> Self {
        Self { wall: now.wall, boottime_secs: now.boottime.as_secs(), boot_id: now.boot_id.clone() }
    }
}

impl Moment {
    /// The step from this moment to `now`. Across a reboot only the wall clock measures it; one that went back gives no
    /// step.
    pub fn step_to(&self, now: &Now) -> Step {
        if self.is_same_boot(now) {
            let elapsed = now.boottime.saturating_sub(Duration::from_secs(self.boottime_secs));
            return Step { elapsed, new_boot: false };
        }
        let elapsed = Duration::try_from(now.wall.duration_since(self.wall)).unwrap_or_default();
        Step { elapsed, new_boot: true }
    }

    fn is_same_boot(&self, now: &Now) -> bool {
        match self.boot_id.is_empty() || now.boot_id.is_empty() {
            true => now.boottime.as_secs() >= self.boottime_secs,
            false => self.boot_id == now.boot_id,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now(wall: i64, boottime: u64, boot_id: &str) -> Now {
        let wall = Timestamp::from_second(wall).unwrap();
        Now { wall, boottime: Duration::from_secs(boottime), boot_id: boot_id.to_owned() }
    }

    fn step(then: Now, now: Now) -> (u64, bool) {
        let step = Moment::from(&then).step_to(&now);
        (step.elapsed.as_secs(), step.new_boot)
    }

    #[test]
    fn a_wall_clock_that_jumps_does_not_count_within_a_boot() {
        assert_eq!(step(now(1000, 10, "a"), now(900_000, 70, "a")), (60, false));
        assert_eq!(step(now(1000, 10, "a"), now(5, 70, "a")), (60, false));
    }

    #[test]
    fn across_a_reboot_the_wall_clock_counts_if_it_went_on() {
        assert_eq!(step(now(1000, 10, "a"), now(1600, 5, "b")), (600, true));
        assert_eq!(step(now(1000, 10, "a"), now(500, 99, "b")), (0, true));
    }

    #[test]
    fn without_a_boot_id_the_time_since_boot_decides() {
        assert_eq!(step(now(1000, 10, ""), now(1060, 70, "")), (60, false));
        assert_eq!(step(now(1000, 10, ""), now(1060, 3, "")), (60, true));
    }
}
