//! Signs that count once they have lasted, and are over once their absence has: a verdict that does not flap.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How long it takes to believe it, and to believe that it is over. It takes two readings at least where this is not
/// zero, however rarely they come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DebounceTimes {
    pub for_duration: Duration,
    pub keep_firing_for: Duration,
}

/// One sign.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Debounce {
    holds: bool,
    /// Since when the readings have shown the opposite of `holds`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    contrary_secs: Option<u64>,
}

impl Debounce {
    /// Adds a reading, and returns whether the sign is to be believed.
    pub fn observe(&mut self, present: bool, now: Duration, times: DebounceTimes) -> bool {
        if present == self.holds {
            self.contrary_secs = None;
            return self.holds;
        }
        let needed = if present { times.for_duration } else { times.keep_firing_for };
        // A clock behind the first reading is that of another boot.
        let since = self.contrary_secs.map_or(now.as_secs(), |since| since.min(now.as_secs()));
        if now.as_secs() - since >= needed.as_secs() && (self.contrary_secs.is_some() || needed.is_zero()) {
            *self = Self { holds: present, contrary_secs: None };
        } else {
            self.contrary_secs = Some(since);
        }
        self.holds
    }

    pub fn holds(&self) -> bool {
        self.holds
    }

    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMES: DebounceTimes =
        DebounceTimes { for_duration: Duration::from_secs(180), keep_firing_for: Duration::from_secs(300) };

    fn replay(readings: &[(u64, bool)]) -> Vec<bool> {
        let mut sign = Debounce::default();
        readings.iter().map(|(secs, present)| sign.observe(*present, Duration::from_secs(*secs), TIMES)).collect()
    }

    #[test]
    fn it_is_believed_once_it_has_lasted_and_until_it_has_been_gone_for_long() {
        let readings = [(0, true), (60, true), (180, true), (240, false), (539, false), (540, false)];
        assert_eq!(replay(&readings), [false, false, true, true, true, false]);
    }

    #[test]
    fn one_contrary_reading_starts_the_wait_again() {
        assert_eq!(
            replay(&[(0, true), (170, false), (180, true), (359, true), (360, true)])[2..],
            [false, false, true]
        );
    }

    #[test]
    fn two_readings_are_enough_however_rare() {
        assert_eq!(replay(&[(0, true), (100_000, true)]), [false, true]);
        assert_eq!(replay(&[(100_000, true)]), [false]);
    }

    #[test]
    fn zero_times_believe_at_once() {
        let mut sign = Debounce::default();
        let none = DebounceTimes { for_duration: Duration::ZERO, keep_firing_for: Duration::ZERO };
        assert!(sign.observe(true, Duration::from_secs(7), none));
        assert!(!sign.observe(false, Duration::from_secs(7), none));
    }

    #[test]
    fn a_clock_that_starts_again_waits_again() {
        assert_eq!(replay(&[(100_000, true), (10, true), (20, true), (190, true)]), [false, false, false, true]);
    }
}
