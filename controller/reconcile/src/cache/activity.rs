//! What was decided and done since this program began, and how long it took: for metrics, never for decisions.

use std::{collections::BTreeMap, time::Duration};

use nodewell_remediation::{
    action::{Done, Failed, IrreversibleOp, Op, Outcome, ReversibleOp},
    snapshot::PowerState,
};

use super::{Cache, histogram::Histogram};

/// A decision, in seconds: milliseconds for a calm cluster, and a tenth of a second for 5,000 nodes is late.
const DECISION: &[f64] = &[0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0];
/// An action, in seconds: a patch, an agent's `off`, a drain.
const ACTION: &[f64] = &[0.01, 0.05, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1200.0];

/// By the kind of the action and what came of it; all of them labels of this program.
pub type Acts = BTreeMap<(&'static str, &'static str), u64>;

/// Everything that is counted.
#[derive(Debug, Clone, PartialEq)]
pub struct ActivityCounters {
    /// Decisions of the whole cluster.
    pub decisions: Histogram,
    pub acts: Acts,
    /// Actions by kind, in seconds from their beginning to their record.
    pub act_seconds: BTreeMap<&'static str, Histogram>,
    /// Answers of BMCs to the question for the power's state: `on`, `off`, `unknown`.
    pub power_reads: BTreeMap<&'static str, u64>,
}

impl Default for ActivityCounters {
    fn default() -> Self {
        Self {
            decisions: Histogram::new(DECISION),
            acts: Acts::new(),
            act_seconds: BTreeMap::new(),
            power_reads: BTreeMap::new(),
        }
    }
}

impl ActivityCounters {
    fn act(&mut self, kind: &'static str, outcome: &'static str, took: Duration) {
        *self.acts.entry((kind, outcome)).or_default() += 1;
        self.act_seconds.entry(kind).or_insert_with(|| Histogram::new(ACTION)).observe(took);
    }
}

impl Cache {
    /// As they are now.
    #[must_use]
    pub fn activity_counters(&self) -> ActivityCounters {
        self.lock().counters.clone()
    }

    pub(crate) fn decided(&self, took: Duration) {
        self.lock().counters.decisions.observe(took);
    }

    pub(crate) fn stepped(&self, op: &Op, outcome: &Outcome, took: Duration) {
        self.lock().counters.act(kind(op), label(outcome), took);
    }

    /// A write of a record: `open`, `save` or `close`.
    pub(crate) fn wrote(&self, kind: &'static str, is_done: bool, took: Duration) {
        self.lock().counters.act(kind, if is_done { "done" } else { "refused" }, took);
    }

    pub(crate) fn power_was_read(&self, state: PowerState) {
        let label = match state {
            PowerState::On => "on",
            PowerState::Off => "off",
            PowerState::Unknown => "unknown",
        };
        *self.lock().counters.power_reads.entry(label).or_default() += 1;
    }
}

fn kind(op: &Op) -> &'static str {
    match op {
        Op::Reversible(op) => match op {
            ReversibleOp::Taint(_) => "taint",
            ReversibleOp::Untaint(_) => "untaint",
            ReversibleOp::Cordon => "cordon",
            ReversibleOp::Uncordon => "uncordon",
            ReversibleOp::ForgetRelease => "forget_release",
            ReversibleOp::Drain(_) => "drain",
            ReversibleOp::ReadPower { .. } => "read_power",
            ReversibleOp::Methods(_) => "methods",
        },
        Op::Irreversible(op) => match op {
            IrreversibleOp::PowerOff => "power_off",
            IrreversibleOp::PowerOn => "power_on",
            IrreversibleOp::Release { .. } => "release",
            IrreversibleOp::Reap => "reap",
        },
    }
}

fn label(outcome: &Outcome) -> &'static str {
    match outcome {
        Ok(Done::NotOurs) => "not_ours",
        Ok(Done::Drain(report)) if !report.done => "incomplete",
        Ok(_) => "done",
        Err(Failed::Gone(_)) => "gone",
        Err(Failed::NotBegun(_)) => "not_begun",
        Err(Failed::Refused(_)) => "refused",
        Err(Failed::InDoubt(_)) => "in_doubt",
        Err(Failed::Timeout(_)) => "timeout",
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use nodewell_remediation::api::fence::DrainReport;

    use super::*;
    use crate::{cache::Limits, clock::Clock};

    #[test]
    fn what_came_of_an_action_is_counted_by_its_kind() {
        let cache = Cache::new(Clock::counted(Timestamp::UNIX_EPOCH), Limits::default());
        let took = Duration::from_secs(2);
        cache.stepped(&IrreversibleOp::PowerOff.into(), &Err(Failed::InDoubt("no end".into())), took);
        cache.stepped(&ReversibleOp::Cordon.into(), &Ok(Done::NotOurs), took);
        cache.wrote("save", false, took);
        cache.wrote("save", false, took);
        cache.power_was_read(PowerState::Unknown);
        cache.decided(took);
        let counters = cache.activity_counters();
        let acts = [(("cordon", "not_ours"), 1), (("power_off", "in_doubt"), 1), (("save", "refused"), 2)];
        assert_eq!(counters.acts, acts.into());
        assert_eq!(counters.decisions.count(), 1);
        assert_eq!(counters.act_seconds["power_off"].count(), 1);
        assert_eq!(counters.power_reads, [("unknown", 1)].into());
        assert_eq!(label(&Ok(Done::Drain(DrainReport::default()))), "incomplete");
        assert_eq!(label(&Ok(Done::Drain(DrainReport { done: true, ..DrainReport::default() }))), "done");
    }
}
