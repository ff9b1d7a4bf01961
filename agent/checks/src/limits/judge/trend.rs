//! Growth over a day, distinguished from a level that moves: a robust slope over hourly minima.

use serde::{Deserialize, Serialize};

/// A day.
const HOURS: usize = 24;
/// A trend is looked for in so many of them: an agent that was away for an hour or two starts no new day.
const ENOUGH: usize = 20;

/// The least that was read in one hour: what is in use for a moment only does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sample {
    /// Since boot.
    pub(super) hour: i64,
    pub(super) least: u64,
}

/// The last day.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Day {
    samples: Vec<Sample>,
    /// The hour that is not over; not saved, because it changes all the time.
    #[serde(skip)]
    open: Option<Sample>,
}

/// How a day went.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Trend {
    /// The median of the slopes between any two hours (Theil and Sen): one odd hour does not move it.
    pub(super) per_day: f64,
    /// The share of pairs of hours of which the later is higher (Kendall): 1.0 grows without a break, 0.5 moves.
    pub(super) rising: f64,
    /// At the start of the day, by that slope.
    pub(super) from: f64,
    /// Whether the last six hours are above the six before.
    pub(super) goes_on: bool,
}

impl Day {
    /// Adds a reading; true when an hour is over, and there is something new to judge.
    pub(super) fn take(&mut self, hour: i64, value: u64) -> bool {
        // Of another boot, or of a file that the agent did not write.
        self.samples.retain(|sample| sample.hour < hour && hour.saturating_sub(sample.hour) <= HOURS as i64);
        match &mut self.open {
            Some(open) if open.hour == hour => {
                open.least = open.least.min(value);
                return false;
            }
            open => {
                let ended = open.replace(Sample { hour, least: value });
                self.samples.extend(ended.filter(|ended| ended.hour < hour));
            }
        }
        self.samples.sort_by_key(|sample| sample.hour);
        self.samples.dedup_by_key(|sample| sample.hour);
        true
    }

    /// `None` before there was nearly a day.
    pub(super) fn trend(&self) -> Option<Trend> {
        if self.samples.len() < ENOUGH {
            return None;
        }
        let mut slopes: Vec<f64> = self.pairs().map(|(one, other)| slope(one, other)).collect();
        slopes.sort_by(f64::total_cmp);
        let per_hour = *slopes.get(slopes.len() / 2)?;
        let rising = self.pairs().filter(|(one, other)| other.least > one.least).count();
        Some(Trend {
            per_day: per_hour * to_float(HOURS as u64),
            rising: to_float(rising as u64) / to_float(slopes.len().max(1) as u64),
            from: to_float(self.samples.first()?.least),
            goes_on: self.goes_on(),
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    fn pairs(&self) -> impl Iterator<Item = (&Sample, &Sample)> {
        let later = |n: usize| self.samples.iter().skip(n + 1);
        self.samples.iter().enumerate().flat_map(move |(n, one)| later(n).map(move |other| (one, other)))
    }

    fn goes_on(&self) -> bool {
        let mut newest = self.samples.rchunks(6).map(|hours| hours.iter().map(|sample| sample.least).min());
        newest.next().flatten() > newest.next().flatten()
    }
}

fn slope(one: &Sample, other: &Sample) -> f64 {
    let hours = u64::try_from(other.hour.saturating_sub(one.hour)).unwrap_or(1).max(1);
    (to_float(other.least) - to_float(one.least)) / to_float(hours)
}

/// Exact enough for a slope.
#[expect(clippy::cast_precision_loss, reason = "an f64 has 52 bits")]
fn to_float(value: u64) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests;
