//! The errors of the last day, in a bucket that leaks hour by hour.

use serde::{Deserialize, Serialize};

/// The hour that has begun and the whole ones of the day before it.
const HOURS: usize = 25;

/// A bucket. It is too full from `capacity` on, and until it has run empty: a day without an error.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Bucket {
    /// What came in each hour, the newest first; what is not there is zero.
    hours: Vec<u32>,
    full: bool,
}

impl Bucket {
    /// More errors came in.
    pub fn add(&mut self, errors: u64, capacity: u32) {
        let errors = u32::try_from(errors).unwrap_or(u32::MAX);
        match self.hours.first_mut() {
            Some(newest) => *newest = newest.saturating_add(errors),
            None if errors > 0 => self.hours.push(errors),
            None => {}
        }
        // A limit of none at all would make every module a problem.
        self.full |= self.level() >= u64::from(capacity.max(1));
    }

    /// So many hours have passed.
    pub fn leak(&mut self, hours: usize) {
        let hours = hours.min(HOURS);
        if !self.hours.is_empty() {
            self.hours.splice(..0, std::iter::repeat_n(0, hours));
        }
        self.hours.truncate(HOURS);
        if self.level() == 0 {
            *self = Self::default();
        }
    }

    /// The errors of the last day.
    #[must_use]
    pub fn level(&self) -> u64 {
        self.hours.iter().map(|errors| u64::from(*errors)).sum()
    }

    #[must_use]
    pub fn is_full(&self) -> bool {
        self.full
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(errors: u64) -> Bucket {
        let mut bucket = Bucket::default();
        bucket.add(errors, 10);
        bucket
    }

    #[test]
    fn it_is_full_at_its_capacity_and_until_a_day_without_errors() {
        assert!(!bucket(9).is_full());
        let mut bucket = bucket(10);
        assert!(bucket.is_full());
        bucket.leak(23);
        bucket.add(1, 10);
        bucket.leak(24);
        assert!(bucket.is_full(), "one came within the last day");
        bucket.leak(1);
        assert_eq!(bucket, Bucket::default());
    }

    #[test]
    fn errors_of_more_than_a_day_do_not_add_up() {
        let mut bucket = Bucket::default();
        for _ in 0..100 {
            bucket.add(1, 10);
            bucket.leak(3);
        }
        assert_eq!(bucket.level(), 8);
        assert!(!bucket.is_full());
    }

    #[test]
    fn absurd_figures_neither_overflow_nor_grow() {
        let mut bucket = bucket(u64::MAX);
        bucket.add(u64::MAX, 0);
        bucket.leak(usize::MAX);
        bucket.add(u64::MAX, u32::MAX);
        assert!(bucket.hours.len() <= HOURS && bucket.is_full());
    }
}
