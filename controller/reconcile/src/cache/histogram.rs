//! A histogram as Prometheus has them: how many were at most so long.

use std::time::Duration;

/// Seconds, by upper bounds that were chosen once.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    bounds: &'static [f64],
    /// Of each bound alone; what is above all of them is last.
    counts: Vec<u64>,
    sum: f64,
}

impl Histogram {
    /// `bounds` grow.
    #[must_use]
    pub fn new(bounds: &'static [f64]) -> Self {
        Self { bounds, counts: vec![0; bounds.len() + 1], sum: 0.0 }
    }

    pub fn observe(&mut self, took: Duration) {
        let seconds = took.as_secs_f64();
        let bucket = self.bounds.partition_point(|bound| *bound < seconds);
        self.counts[bucket] += 1;
        self.sum += seconds;
    }

    /// Each bound with how many were at most that; `None` is the last, above all bounds.
    pub fn buckets(&self) -> impl Iterator<Item = (Option<f64>, u64)> + '_ {
        let bounds = self.bounds.iter().copied().map(Some).chain([None]);
        bounds.zip(&self.counts).scan(0, |sum, (bound, count)| {
            *sum += count;
            Some((bound, *sum))
        })
    }

    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Of all seconds.
    #[must_use]
    pub fn sum(&self) -> f64 {
        self.sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_holds_what_is_equal_and_each_holds_the_ones_before() {
        let mut histogram = Histogram::new(&[1.0, 2.0]);
        for seconds in [1, 2, 2, 9] {
            histogram.observe(Duration::from_secs(seconds));
        }
        let buckets: Vec<_> = histogram.buckets().collect();
        assert_eq!(buckets, [(Some(1.0), 1), (Some(2.0), 3), (None, 4)]);
        assert_eq!((histogram.count(), histogram.sum()), (4, 14.0));
    }
}
