//! What became of the faults, and of the run.

use std::time::Duration;

use jiff::Timestamp;

use super::{
    act::Verdict,
    fault::Fault,
    memory::Footprint,
    trial::{Miss, Times, Trial},
    watch::Finding,
};

/// What became of one planted fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    pub number: usize,
    pub at: Timestamp,
    pub fault: Fault,
    /// The machine that had it.
    pub node: String,
    pub times: Times,
    /// What did not come in time.
    pub missed: Option<String>,
    /// Where pods were released without proof, or written twice.
    pub breaches: Vec<String>,
}

impl Outcome {
    /// Of one that ended so; none of what a person ended.
    pub(super) fn of(number: usize, at: Timestamp, trial: Trial<'_>, ended: Result<(), Miss>) -> Option<Self> {
        let missed = match ended {
            Ok(()) => None,
            Err(Miss::Missed(why)) => Some(why),
            Err(Miss::Ended) => return None,
        };
        let Trial { choice, node, times, breaches, .. } = trial;
        Some(Self { number, at, fault: choice.fault, node, times, missed, breaches })
    }

    /// A line of progress.
    #[must_use]
    pub fn line(&self) -> String {
        let seconds =
            |time: Option<Duration>| time.map_or_else(|| "-".to_owned(), |t| format!("{:.1} s", t.as_secs_f64()));
        let Times { found, by, acted, over } = &self.times;
        let at = self.at.strftime("%H:%M:%S");
        let mut line = format!(
            "soak: {:>3} {at} {:<3} {:<18} found {} {by}, acted {}, over {}",
            self.number,
            self.node,
            self.fault,
            seconds(*found),
            seconds(*acted),
            seconds(*over)
        );
        if let Some(why) = &self.missed {
            line.push_str("; MISSED: ");
            line.push_str(why);
        }
        self.breaches.iter().for_each(|breach| line.push_str(&format!("; WRONG: {breach}")));
        line
    }
}

/// All that is known at the end.
#[derive(Debug, Clone)]
pub struct Run {
    pub seed: u64,
    pub begun: Timestamp,
    pub lasted: Duration,
    pub outcomes: Vec<Outcome>,
    pub findings: Vec<Finding>,
    /// How often a BMC was ordered to turn its machine off.
    pub powers_off: u64,
    /// How often all Nodes, records and BMCs were looked at.
    pub looks: u64,
    pub memory: Footprint,
    /// Why it ended early.
    pub ended: Option<String>,
}

impl Run {
    /// How many findings are this.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> usize {
        self.findings.iter().filter(|finding| finding.verdict == verdict).count()
    }

    pub(super) fn missed(&self) -> usize {
        self.outcomes.iter().filter(|outcome| outcome.missed.is_some()).count()
    }

    pub(super) fn breaches(&self) -> usize {
        self.outcomes.iter().map(|outcome| outcome.breaches.len()).sum()
    }

    /// How many nodes were fenced to the end.
    pub(super) fn fences(&self) -> usize {
        self.outcomes.iter().filter(|outcome| outcome.fault.is_fenced() && outcome.times.acted.is_some()).count()
    }

    /// Every fault was found and over in time, and nothing else was done or reported.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        let nothing_else = self.count(Verdict::Wrong) + self.count(Verdict::False) + self.breaches() == 0;
        nothing_else && self.missed() == 0 && !self.outcomes.is_empty()
    }
}
