//! A token bucket; pure, time is an argument.

use std::time::Duration;

/// So many at once, then one per interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    pub burst: u32,
    pub interval: Duration,
}

/// A bucket is stored as the moment at which it will be full again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bucket {
    full_at: Duration,
}

impl Bucket {
    pub(crate) const FULL: Self = Self { full_at: Duration::ZERO };

    /// When the next token is there; not after `now` if it is already.
    pub(crate) fn ready(&self, rate: Rate) -> Duration {
        self.full_at.saturating_sub(rate.interval.saturating_mul(rate.burst.saturating_sub(1)))
    }

    /// Takes a token; one that is not there yet is owed.
    pub(crate) fn take(&mut self, rate: Rate, now: Duration) {
        self.full_at = self.full_at.max(now) + rate.interval;
    }

    /// Whether it holds all it can: then it need not be remembered.
    pub(crate) fn is_full(&self, now: Duration) -> bool {
        self.full_at <= now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_and_then_one_an_interval() {
        let rate = Rate { burst: 3, interval: Duration::from_secs(10) };
        let mut bucket = Bucket::FULL;
        let mut passed = Vec::new();
        for now in (100..140).map(Duration::from_secs) {
            while bucket.ready(rate) <= now {
                bucket.take(rate, now);
                passed.push(now.as_secs());
            }
        }
        assert_eq!(passed, [100, 100, 100, 110, 120, 130]);
        assert!(!bucket.is_full(Duration::from_secs(150)));
        assert!(bucket.is_full(Duration::from_secs(160)));
    }

    #[test]
    fn a_young_clock_starts_with_a_full_burst_at_most() {
        let rate = Rate { burst: 2, interval: Duration::from_secs(60) };
        let mut bucket = Bucket::FULL;
        for _ in 0..2 {
            assert!(bucket.ready(rate) <= Duration::from_secs(1));
            bucket.take(rate, Duration::from_secs(1));
        }
        assert!(bucket.ready(rate) > Duration::from_secs(1));
    }
}
