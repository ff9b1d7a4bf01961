//! Guards: what forbids an act although a policy asks for it. Budgets, rates, storms, etcd's quorum, other programs that have
//! the node.
//!
//! Every guard is asked, and each names its numbers. A guard that forbids returns a [`Blocker`]: a reason and a message. Nothing here allows anything: what cannot be read blocks. An
//! act that has begun is not stopped half way by a budget or a storm, for a node that is off is better brought back;
//! the kill switch, a person's annotation to skip the node and every other program that has it stop it even so.

pub mod budgets;
pub mod history;
pub(crate) mod life;
pub mod never;
mod node;
pub mod reason;
pub(crate) mod stage;
pub(crate) mod storm;
pub(crate) mod tally;
mod times;

use std::collections::BTreeMap;

use self::{
    history::History,
    reason::{
        CACHE_NOT_SYNCED, DRY_RUN, EVENTS_NOT_TRUSTED, KILL_SWITCH, NOT_LEADING, OBSERVE, PAUSED, POLICY_UNREADABLE,
        PREDICATE_ERROR,
    },
    stage::DisruptionLevel,
    tally::Tally,
};
use crate::{
    api::{
        fence::{Blocker, NodeFence},
        policy::Mode,
    },
    facts::Node,
    fence::GuardBlockers,
    message::MessageArgs,
    policy::Policy,
    snapshot::Snapshot,
    time::Now,
};
pub use node::claimed;
pub(crate) use node::node_ready;

/// What the guards look at in one pass over all nodes: the cluster's state, what this pass has already decided, and
/// the storms.
pub(crate) struct EvaluationInput<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) now: Now,
    pub(crate) tally: Tally<'a>,
    pub(crate) history: History,
    /// Blockers by each policy's storms.
    pub(crate) storms: BTreeMap<String, Vec<Blocker>>,
}

/// One node that a policy asks to remediate.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) name: &'a str,
    /// Nothing if the Node is gone, or was created again under the same name.
    pub(crate) node: Option<&'a Node>,
    pub(crate) fence: Option<&'a NodeFence>,
    pub(crate) policy: &'a Policy,
    /// Why the policy cannot be read.
    pub(crate) unreadable: Option<&'a str>,
    /// Why its predicate, or one of another policy for this node, cannot be judged.
    pub(crate) error: Option<&'a str>,
    /// Its predicate is true only because of Events: without them it would be false.
    pub(crate) by_events_alone: bool,
}

/// The answers of all guards for one node, by how disruptive the act is.
pub(crate) fn all_blockers(input: &EvaluationInput<'_>, subject: &Subject<'_>) -> GuardBlockers {
    let always = even_under_way(input, subject);
    let list = |level| {
        let mut blockers = always.clone();
        if subject.fence.is_some_and(|fence| stage::is_under_way(fence, level)) {
            blockers.extend(times::pods(input, subject, level));
        } else {
            blockers.extend(before_it_begins(input, subject, level));
        }
        blockers
    };
    GuardBlockers {
        isolate: list(DisruptionLevel::Isolate),
        drain: list(DisruptionLevel::Drain),
        power: list(DisruptionLevel::Power),
    }
}

/// What stops even an act that has begun.
fn even_under_way(input: &EvaluationInput<'_>, subject: &Subject<'_>) -> Vec<Blocker> {
    let mut blockers = general(input.snapshot);
    if let Some(problem) = subject.unreadable {
        let args: MessageArgs<'_> = &[("policy", &subject.policy.name), ("error", &problem)];
        blockers.push(Blocker::of(POLICY_UNREADABLE, args));
    } else {
        blockers.extend(observe_only(subject.policy));
    }
    blockers.extend(node::blockers(input, subject));
    blockers
}

fn observe_only(policy: &Policy) -> Option<Blocker> {
    match policy.mode {
        Mode::Observe => Some(Blocker::of(OBSERVE, &[("policy", &policy.name)])),
        Mode::Enforce | Mode::Paused => None,
    }
}

/// What blocks every act on every node.
pub(crate) fn general(snapshot: &Snapshot) -> Vec<Blocker> {
    let mut blockers = Vec::new();
    if snapshot.epoch == 0 {
        blockers.push(Blocker::plain(NOT_LEADING));
    }
    if snapshot.dry_run {
        blockers.push(Blocker::plain(DRY_RUN));
    }
    if let Some(by) = &snapshot.stopped {
        blockers.push(Blocker::of(KILL_SWITCH, &[("by", by)]));
    }
    if !snapshot.host.synced {
        blockers.push(not_synced(snapshot));
    }
    blockers
}

fn not_synced(snapshot: &Snapshot) -> Blocker {
    match &snapshot.host.unread {
        Some(unread) => Blocker::of("CacheNotSynced/restored", &[("sources", unread)]),
        None => Blocker::plain(CACHE_NOT_SYNCED),
    }
}

/// What stops an act that has not begun.
fn before_it_begins(input: &EvaluationInput<'_>, subject: &Subject<'_>, level: DisruptionLevel) -> Vec<Blocker> {
    let policy = subject.policy;
    let mut blockers = Vec::new();
    if policy.mode == Mode::Paused && subject.fence.is_none() {
        blockers.push(Blocker::of(PAUSED, &[("policy", &policy.name)]));
    }
    if let Some(error) = subject.error {
        blockers.push(Blocker::of(PREDICATE_ERROR, &[("error", &error)]));
    }
    if subject.by_events_alone {
        blockers.push(Blocker::of(EVENTS_NOT_TRUSTED, &[("policy", &policy.name)]));
    }
    blockers.extend(input.storms.get(&policy.name).into_iter().flatten().cloned());
    blockers.extend(times::new_node(input, subject));
    blockers.extend(times::shutting_down(input, subject));
    blockers.extend(times::late_kubelet(input, subject));
    blockers.extend(node::control_plane(input, subject, level));
    blockers.extend(budgets::blockers(input, subject, level));
    blockers.extend(times::rate(input, subject, level));
    if level != DisruptionLevel::Isolate {
        blockers.extend(times::pods(input, subject, level));
    }
    if level == DisruptionLevel::Power {
        blockers.extend(times::power_cycles(input, subject));
        blockers.extend(node::ready(input, subject));
    }
    blockers
}

#[cfg(test)]
mod tests;
