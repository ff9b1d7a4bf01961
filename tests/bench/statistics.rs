//! What is reported of many samples of one measure.

use std::time::Duration;

/// Samples in ascending order; never empty.
#[derive(Debug, Clone)]
pub(crate) struct Samples(Vec<f64>);

impl Samples {
    /// # Panics
    /// If there is none.
    pub(crate) fn new(samples: impl IntoIterator<Item = f64>) -> Self {
        let mut samples: Vec<f64> = samples.into_iter().collect();
        assert!(!samples.is_empty(), "nothing was measured");
        samples.sort_by(f64::total_cmp);
        Self(samples)
    }

    pub(crate) fn millis(times: &[Duration]) -> Self {
        Self::new(times.iter().map(|time| time.as_secs_f64() * 1e3))
    }

    pub(crate) fn median(&self) -> f64 {
        self.at(50)
    }

    pub(crate) fn p99(&self) -> f64 {
        self.at(99)
    }

    pub(crate) fn min(&self) -> f64 {
        self.0[0]
    }

    pub(crate) fn max(&self) -> f64 {
        self.0[self.0.len() - 1]
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The nearest-rank percentile: a sample that was really measured.
    fn at(&self, percent: usize) -> f64 {
        let rank = (self.0.len() * percent).div_ceil(100);
        self.0[rank.max(1) - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_samples() {
        let samples = Samples::new((1..=100).rev().map(f64::from));
        assert_eq!((samples.median(), samples.p99()), (50.0, 99.0));
        assert_eq!((samples.min(), samples.max(), samples.len()), (1.0, 100.0, 100));
    }

    #[test]
    fn one_sample_is_everything() {
        let samples = Samples::millis(&[Duration::from_millis(7)]);
        assert_eq!((samples.median(), samples.p99(), samples.min()), (7.0, 7.0, 7.0));
    }
}
