//! What became of the faults, and of the run.

use std::time::Duration;

use jiff::Timestamp;

use super::{
    act::Verdict,
    fault::Fault,
    memory::Footprint,
    setting::Setting,
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
    pub setting: Setting,
    pub begun: Timestamp,
    pub lasted: Duration,
    /// So many faults are a proof.
    pub at_least: usize,
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

    pub(super) fn found(&self) -> usize {
        self.outcomes.iter().filter(|outcome| outcome.times.found.is_some()).count()
    }

    /// Why it proves nothing, a sentence each: none where enough faults were planted to the end of its time, every one
    /// was found and over in time, nothing else was done or reported, and memory is what it was.
    #[must_use]
    pub fn failures(&self) -> Vec<String> {
        let counted = [
            ("faults missed", self.missed()),
            ("acts without a cause", self.count(Verdict::Wrong)),
            ("false reports", self.count(Verdict::False)),
            ("releases without proof or second writers", self.breaches()),
        ];
        let counted =
            counted.into_iter().filter(|(_, count)| *count > 0).map(|(what, count)| format!("{what}: {count}"));
        let early = self.ended.as_ref().map(|why| format!("it ended early: {why}"));
        // Of one that ended early memory has not come to rest.
        let grown = if early.is_none() { self.memory.grown() } else { Vec::new() };
        counted.chain(early).chain(self.too_few()).chain(self.not_watched()).chain(grown).collect()
    }

    /// A look takes a second or two; an API server that does not answer holds up some.
    fn not_watched(&self) -> Option<String> {
        let (looks, seconds) = (self.looks, self.lasted.as_secs());
        (looks < seconds / 5).then(|| format!("the cluster was not looked at: {looks} looks in {seconds} s"))
    }

    fn too_few(&self) -> Option<String> {
        let (planted, needed) = (self.outcomes.len(), self.at_least.max(1));
        let what = "give it more --minutes, or ask for fewer by --least";
        (planted < needed).then(|| format!("faults planted: {planted}, of {needed} that are needed; {what}"))
    }

    /// It proves what it is for.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.failures().is_empty()
    }
}
