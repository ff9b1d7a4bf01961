//! The state machine of one record: what its next step is, and what the record says after a step.
//! `docs/remediation-states.md` has its edges, each with its guard; [`edges`] has them for the tests.
//!
//! Power is *cut* by fence agents; the node's pods are *released* ([`crate::api`]) once Off is confirmed; the machine is
//! *reaped* where the provider deletes it. An irreversible operation is *intended*, that is named in the stored record,
//! before it is begun.

mod apply_outcome;
mod attached;
mod begin;
mod blockers;
mod booted;
mod cut_late;
mod doubt;
mod drain_again;
mod draining;
pub mod edges;
pub mod evidence;
mod interrupt;
mod left_off;
pub mod levels;
pub mod off_run;
pub mod post_off_activity;
mod power;
mod proposal;
mod record;
mod recover;
mod refilled;
mod release;
mod restore;
mod steps;
mod still_cut;
mod supersede;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use jiff::Timestamp;

pub use self::{
    booted::NewBoot,
    drain_again::undrained,
    interrupt::restored_at,
    release::{is_deleted_by_release, must_be_silent, needs_lease, out_of_service},
    restore::must_stay_cut_off,
    supersede::may_give_way,
};
use self::{post_off_activity::PostOffActivity, steps::PolicyStep};
use crate::{
    action::{Action, EventDraft, Op, Outcome},
    api::fence::{Blocker, NodeFence, Phase},
    drain::DrainRules,
    facts::{LeaseView, Node},
    policy::Policy,
    snapshot::Gathered,
    time::{Moment, Now},
};

/// All that the next step depends on. It does not know other nodes: what they forbid is in `guard_blockers`.
#[derive(Debug, Clone)]
pub struct FenceInput<'a> {
    pub fence: &'a NodeFence,
    /// The Node of the record's name, which may be another one (its UID differs then).
    pub node: Option<&'a Node>,
    pub kubelet_lease: Option<&'a LeaseView>,
    pub agent_lease: Option<&'a LeaseView>,
    pub gathered: &'a Gathered,
    /// Methods that records before this one denied.
    pub denied_before: Option<&'a BTreeSet<String>>,
    /// The policy as it is now; nothing if it is gone or cannot be read.
    pub policy: Option<&'a Policy>,
    pub predicate: PredicateState,
    pub guard_blockers: &'a GuardBlockers,
    /// The policy that frees the pods of its dead node and could open a record now, were this one not there.
    pub superseded_by: Option<&'a str>,
    /// When this controller first saw the record in its present phase, and its drain begun; timers count from here.
    pub entered: Moment,
    /// What was seen of the node since its Off was confirmed.
    pub post_off_activity: Option<&'a PostOffActivity>,
    pub epoch: u64,
    pub now: Now,
}

/// The rules of the drain that a record is in.
#[must_use]
pub fn drain_at_hand(fence: &NodeFence) -> Option<DrainRules> {
    match steps::current(fence) {
        Some(Ok(PolicyStep::Drain(step))) if fence.status.phase == Phase::Draining => steps::drain_rules(step).ok(),
        Some(
            Ok(
                PolicyStep::Taint(_)
                | PolicyStep::Cordon
                | PolicyStep::Drain(_)
                | PolicyStep::Power { .. }
                | PolicyStep::Reap { .. },
            )
            | Err(_),
        )
        | None => None,
    }
}

/// The answer of the policy's predicate for the node now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PredicateState {
    /// It still needs remediation.
    Yes,
    /// It has needed none since.
    No { since: Moment },
    /// The predicate cannot be evaluated: nothing more disruptive than before is begun.
    Unknown,
}

/// What blocks this node by the guards; an empty list allows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GuardBlockers {
    /// Taint and cordon.
    pub isolate: Vec<Blocker>,
    /// Drain.
    pub drain: Vec<Blocker>,
    /// Reboot, power cycle, reap, release of pods.
    pub power: Vec<Blocker>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    Act(Action),
    /// Nothing now; look again at `until`, or when something changes.
    Wait {
        until: Option<Moment>,
        blockers: Vec<Blocker>,
    },
}

/// The next thing for this record. An irreversible step is only given out when the record as stored means that very
/// act, by this epoch, and intended it a moment ago. A caller that performs it and cannot store its outcome does not
/// perform it again: the intent grows old, and then the first thing is to ask for the power's state.
#[must_use]
pub fn next(input: &FenceInput<'_>) -> Next {
    let standstill = blockers::to_write(input);
    if !standstill.is_empty() {
        return Next::Wait { until: None, blockers: standstill };
    }
    let next = interrupt::check(input).unwrap_or_else(|| phase(input));
    match (next, interrupt::healthy_at(input)) {
        (Next::Wait { until, blockers }, Some(healthy)) => {
            Next::Wait { until: Some(until.map_or(healthy, |at| at.min(healthy))), blockers }
        }
        (next, _) => next,
    }
}

/// `fence`, which is not stored yet, as it is to be opened: in its first step.
pub(crate) fn opened(fence: NodeFence, at: Timestamp) -> NodeFence {
    begin::opened(fence, at)
}

fn phase(input: &FenceInput<'_>) -> Next {
    if let Some(next) = off_run::remember(input).or_else(|| power::methods_changed(input)) {
        return next;
    }
    match input.fence.status.phase {
        Phase::Pending => begin::pending(input),
        Phase::Isolating => begin::isolating(input),
        Phase::Draining => draining::draining(input),
        Phase::Waiting => begin::waiting(input),
        Phase::AwaitGuards => power::await_guards(input),
        Phase::KdumpWait => power::kdump_wait(input),
        Phase::PoweringOff => power::powering_off(input),
        Phase::Reaping => power::reaping(input),
        Phase::OffConfirmed => release::off_confirmed(input),
        Phase::PodsReleased => release::pods_released(input),
        Phase::PoweringOn => restore::powering_on(input),
        Phase::AwaitReady => restore::await_ready(input),
        Phase::Recovering => recover::recovering(input),
        Phase::Closed => recover::closed(input),
        Phase::InDoubt => doubt::in_doubt(input),
        Phase::Failed => doubt::failed(input),
        Phase::Quarantined => doubt::quarantined(input),
    }
}

/// The record after `op` ended with `outcome`, and what to report of it. The caller that performs saves it.
#[must_use]
pub fn apply_outcome(fence: &NodeFence, op: &Op, outcome: &Outcome, epoch: u64, now: Now) -> (NodeFence, EventDraft) {
    apply_outcome::apply_outcome(record::Draft::new(fence, epoch, now.wall), op, outcome).finish()
}
