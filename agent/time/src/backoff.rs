//! The pauses between tries, each twice the one before. Not the crate `backon`: it retries a future, and most loops here
//! do more between two tries than to wait; the pure cores know a number of failures and have no loop at all.

use std::time::Duration;

/// The pauses of one loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
    /// How many pauses there were since the last [`Self::reset`].
    pauses: u32,
}

impl Backoff {
    /// The first pause, and the one that no other exceeds.
    #[must_use]
    pub const fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest, pauses: 0 }
    }

    /// The next pause.
    pub fn pause(&mut self) -> Duration {
        let pause = doubled(self.first, self.pauses, self.longest);
        self.pauses = self.pauses.saturating_add(1);
        pause
    }

    /// It worked: the next pause is the first one again.
    pub fn reset(&mut self) {
        self.pauses = 0;
    }
}

/// `first`, doubled so many `times`, and never more than `longest`.
#[must_use]
pub fn doubled(first: Duration, times: u32, longest: Duration) -> Duration {
    first.saturating_mul(2_u32.saturating_pow(times)).min(longest)
}

/// Half of `pause` is fixed; `chance`, a number in 0..1, decides how much of the other half comes to it. So those that
/// failed together do not try again together.
#[must_use]
pub fn jittered(pause: Duration, chance: f64) -> Duration {
    pause.mul_f64(0.5 + 0.5 * chance)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn secs(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }

    #[test]
    fn pauses_double_up_to_the_longest_and_start_over() {
        let mut backoff = Backoff::new(secs(1), secs(60));
        let pauses: Vec<u64> = (0..8).map(|_| backoff.pause().as_secs()).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
        backoff.reset();
        assert_eq!(backoff.pause(), secs(1));
    }

    #[test]
    fn however_often_it_is_doubled_it_is_no_longer_than_the_longest() {
        for times in [0, 1, 31, 32, 33, u32::MAX] {
            assert_eq!(doubled(secs(5), times, secs(5)), secs(5), "{times}");
            assert_eq!(doubled(secs(5), times, secs(4)), secs(4), "{times}");
        }
        assert_eq!(doubled(secs(1), 31, Duration::MAX), secs(1 << 31));
        assert_eq!(doubled(Duration::MAX, u32::MAX, Duration::MAX), Duration::MAX);
        assert_eq!(doubled(Duration::ZERO, 7, secs(60)), Duration::ZERO);
        let mut worn = Backoff { pauses: u32::MAX, ..Backoff::new(secs(1), secs(60)) };
        assert_eq!((worn.pause(), worn.pause()), (secs(60), secs(60)));
    }

    #[test]
    fn half_of_a_pause_is_chance() {
        for (chance, millis) in [(0.0, 1000), (0.5, 1500), (1.0, 2000)] {
            assert_eq!(jittered(secs(2), chance), Duration::from_millis(millis));
        }
    }
}
