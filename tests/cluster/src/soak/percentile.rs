//! Percentiles of times, as `make bench` has them.

use std::time::Duration;

/// The nearest-rank percentile, a time that was really measured, in seconds; none of nothing.
#[must_use]
pub fn percentile(times: &[Duration], percent: usize) -> Option<f64> {
    let mut seconds: Vec<f64> = times.iter().map(Duration::as_secs_f64).collect();
    seconds.sort_by(f64::total_cmp);
    let rank = (seconds.len() * percent).div_ceil(100);
    seconds.get(rank.max(1) - 1).copied()
}
