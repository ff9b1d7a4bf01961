//! Restarts that systemd made by itself, counted from its own counter (`NRestarts`) within a window. Pure.

use std::{collections::VecDeque, time::Duration};

use serde::{Deserialize, Serialize};

/// So many within so long are a loop, and none for so long is its end: as the rules on the journal have it.
pub const FREQUENT: (usize, Duration) = (5, Duration::from_mins(20));

/// Of one unit, in one boot.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Restarts {
    last: Option<u32>,
    /// When each was seen, since boot; no more than are needed.
    times: VecDeque<Duration>,
    is_frequent: bool,
}

impl Restarts {
    /// Records that the counter stands at `count`. It begins again at zero when the unit is started by request.
    pub(super) fn observe(&mut self, count: u32, now: Duration) {
        let grown = self.last.map_or(0, |last| count.checked_sub(last).unwrap_or(count));
        self.last = Some(count);
        let (limit, window) = FREQUENT;
        for _ in 0..limit.min(usize::try_from(grown).unwrap_or(limit)) {
            self.times.push_back(now);
        }
        let spare = self.times.len().saturating_sub(limit);
        self.times.drain(..spare);
        self.times.retain(|time| now.saturating_sub(*time) < window);
        self.is_frequent = self.times.len() >= limit || (self.is_frequent && !self.times.is_empty());
    }

    pub(super) fn is_frequent(&self) -> bool {
        self.is_frequent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minutes: u64) -> Duration {
        Duration::from_mins(minutes)
    }

    #[test]
    fn five_within_twenty_minutes_are_a_loop_and_twenty_quiet_ones_its_end() {
        let mut restarts = Restarts::default();
        restarts.observe(100, at(0));
        assert!(!restarts.is_frequent(), "the time of those is unknown");
        for n in 1..=4 {
            restarts.observe(100 + n, at(u64::from(n)));
            assert!(!restarts.is_frequent());
        }
        restarts.observe(105, at(5));
        assert!(restarts.is_frequent());
        restarts.observe(105, at(24));
        assert!(restarts.is_frequent());
        restarts.observe(105, at(25));
        assert!(!restarts.is_frequent());
    }

    #[test]
    fn a_counter_that_begins_again_is_no_jump_back_and_a_slow_one_no_loop() {
        let mut restarts = Restarts::default();
        restarts.observe(9, at(0));
        restarts.observe(2, at(1));
        restarts.observe(4, at(2));
        assert!(!restarts.is_frequent());
        restarts.observe(5, at(3));
        assert!(restarts.is_frequent(), "two, two and one");
        let mut slow = Restarts::default();
        for n in 0..100 {
            slow.observe(n, at(u64::from(n) * 5));
            assert!(!slow.is_frequent());
        }
        slow.observe(u32::MAX, at(501));
        assert!(slow.is_frequent() && slow.times.len() == 5);
    }
}
