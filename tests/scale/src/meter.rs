//! What goes over the wire, second by second: requests by verb, and bytes.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// A request without an answer: nothing listens, or the connection broke.
pub const UNANSWERED: &str = "unanswered";
/// Answered with "too many requests".
pub const TURNED_AWAY: &str = "turned-away";

/// Requests of one kind, and the bytes that they took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    pub requests: u64,
    /// To the server.
    pub bytes_up: u64,
    /// From it.
    pub bytes_down: u64,
}

impl Traffic {
    fn add(&mut self, other: Self) {
        self.requests += other.requests;
        self.bytes_up += other.bytes_up;
        self.bytes_down += other.bytes_down;
    }
}

type Second = BTreeMap<&'static str, Traffic>;

/// Counts by second of the cluster's time; shared by all components that see a request pass.
#[derive(Debug, Default)]
pub struct Meter {
    seconds: Mutex<BTreeMap<u64, Second>>,
}

/// What passed in a window of time.
#[derive(Debug, Clone, PartialEq)]
pub struct Figures {
    pub window: Duration,
    pub by_verb: BTreeMap<&'static str, Load>,
    /// Of all verbs together; the busiest second is no sum.
    pub all: Load,
}

/// Of one verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Load {
    pub total: Traffic,
    /// Requests in the busiest second.
    pub peak: u64,
}

impl Load {
    fn add(&mut self, second: Traffic) {
        self.total.add(second);
        self.peak = self.peak.max(second.requests);
    }
}

impl Meter {
    /// `traffic` passed at `at`.
    pub fn count(&self, at: Duration, verb: &'static str, traffic: Traffic) {
        self.lock().entry(at.as_secs()).or_default().entry(verb).or_default().add(traffic);
    }

    /// What passed from `from` on, and before `to`; a second that has begun counts as a whole.
    #[must_use]
    pub fn figures(&self, from: Duration, to: Duration) -> Figures {
        let mut figures = Figures { window: to.saturating_sub(from), by_verb: BTreeMap::new(), all: Load::default() };
        let end = to.as_secs() + u64::from(to.subsec_nanos() > 0);
        for second in self.lock().range(from.as_secs()..end).map(|(_, second)| second) {
            let mut sum = Traffic::default();
            for (verb, traffic) in second {
                figures.by_verb.entry(verb).or_default().add(*traffic);
                sum.add(*traffic);
            }
            figures.all.add(sum);
        }
        figures
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Second>> {
        self.seconds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Figures {
    /// How many requests of `verb` there were.
    #[must_use]
    pub fn requests(&self, verb: &str) -> u64 {
        self.by_verb.get(verb).map_or(0, |load| load.total.requests)
    }

    /// The mean of `load`.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    pub fn per_second(&self, load: &Load) -> f64 {
        load.total.requests as f64 / self.window.as_secs_f64().max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_has_the_total_and_the_busiest_second_of_each_verb_and_of_all() {
        let meter = Meter::default();
        let one = Traffic { requests: 1, bytes_up: 10, bytes_down: 20 };
        for (millis, verb) in
            [(900, "patch"), (1100, "patch"), (1900, "patch"), (1950, "post"), (2990, "post"), (3000, "late")]
        {
            meter.count(Duration::from_millis(millis), verb, one);
        }
        let figures = meter.figures(Duration::from_secs(1), Duration::from_secs(3));
        assert_eq!(figures.by_verb["patch"].peak, 2);
        assert_eq!(
            figures.by_verb["post"],
            Load { total: Traffic { requests: 2, bytes_up: 20, bytes_down: 40 }, peak: 1 }
        );
        assert_eq!((figures.all.total.requests, figures.all.peak), (4, 3));
        assert!((figures.per_second(&figures.all) - 2.0).abs() < 1e-9);
        assert_eq!(figures.requests("delete"), 0);
    }
}
