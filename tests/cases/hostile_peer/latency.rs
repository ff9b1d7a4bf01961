//! How long the faults took: by the times at which the API server took condition and Event, which a slow look from
//! outside makes no later.

use std::{
    fmt::{self, Write as _},
    time::Duration,
};

use jiff::Timestamp;

#[derive(Debug, Clone, Copy)]
pub(super) struct Latency {
    condition: Duration,
    event: Duration,
}

impl Latency {
    pub(super) fn new(planted: Timestamp, condition: Timestamp, event: Timestamp) -> Self {
        // A clock that was set back in between makes it nothing, which is no failure of the agent's.
        let since = |time: Timestamp| Duration::try_from(time.duration_since(planted)).unwrap_or_default();
        Self { condition: since(condition), event: since(event) }
    }
}

impl fmt::Display for Latency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "condition {:?}, Event {:?}", self.condition, self.event)
    }
}

/// All that were measured so far. Their distribution is printed when this is dropped: also where the case fails.
#[derive(Debug, Default)]
pub(super) struct Latencies(Vec<Latency>);

impl Latencies {
    pub(super) fn push(&mut self, latency: Latency) {
        self.0.push(latency);
    }

    /// None took longer.
    pub(super) fn judge(&self, limit: Duration) {
        for (what, of) in columns() {
            let took = self.0.iter().map(of).enumerate();
            let late: Vec<(usize, Duration)> = took.filter(|(_, took)| *took > limit).collect();
            let (count, all) = (late.len(), self.0.len());
            assert!(late.is_empty(), "{count} of {all} took longer than {limit:?} to their {what}: {late:?}");
        }
    }
}

impl Drop for Latencies {
    fn drop(&mut self) {
        eprint!("{}", table(&self.0));
    }
}

/// The distribution of both, a line each.
fn table(all: &[Latency]) -> String {
    let mut text = String::new();
    for (what, of) in columns() {
        let mut sorted: Vec<Duration> = all.iter().map(of).collect();
        sorted.sort_unstable();
        let [half, nine, most, slowest] = [50, 90, 99, 100].map(|percent| percentile(&sorted, percent));
        let count = sorted.len();
        let _ = writeln!(
            text,
            "    {count} faults to their {what}: p50 {half:?}, p90 {nine:?}, p99 {most:?}, slowest {slowest:?}"
        );
    }
    text
}

type Column = fn(&Latency) -> Duration;

fn columns() -> [(&'static str, Column); 2] {
    [("condition", |latency| latency.condition), ("Event", |latency| latency.event)]
}

/// The smallest that so many of a hundred do not exceed.
fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or_default()
}
