//! What speaks against an act although a policy asks for it: budgets, rates, storms, quorum, other people's claims.
//!
//! Every guard is asked, and each names its numbers. Nothing here allows anything: what cannot be read blocks. An
//! act that has begun is not stopped half way by a budget or a storm, for a node that is off is better brought back;
//! the kill switch, a person's annotation to skip the node and every claim on that one node stop it even so.

pub mod budgets;
pub mod history;
pub(crate) mod life;
mod node;
pub mod reason;
pub(crate) mod stage;
pub(crate) mod storm;
pub(crate) mod tally;
mod times;

use std::collections::BTreeMap;

pub use node::claimed;

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
    policy::Policy,
    snapshot::Snapshot,
    time::Now,
};

/// The whole of one pass: what is out, what was given out, which storms there are.
pub(crate) struct EvaluationInput<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) now: Now,
    pub(crate) tally: Tally<'a>,
    pub(crate) history: History,
    /// What blocks by each policy's storms.
    pub(crate) storms: BTreeMap<String, Vec<Blocker>>,
}

/// One node that a policy asks something for.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) name: &'a str,
    /// Nothing if it is gone, or another one has its name.
    pub(crate) node: Option<&'a Node>,
    pub(crate) fence: Option<&'a NodeFence>,
    pub(crate) policy: &'a Policy,
    /// Why the policy cannot be asked.
    pub(crate) unreadable: Option<&'a str>,
    /// Why its predicate, or one of another policy for this node, cannot be judged.
    pub(crate) error: Option<&'a str>,
    /// Its predicate is true by Events alone: the node itself reports nothing that it needs.
    pub(crate) by_events_alone: bool,
}

/// The answers of all guards for one node.
pub(crate) fn all_blockers(input: &EvaluationInput<'_>, subject: &Subject<'_>) -> GuardBlockers {
    let always = always(input, subject);
    let list = |level| {
        let mut blockers = always.clone();
        if subject.fence.is_some_and(|fence| stage::is_under_way(fence, level)) {
            blockers.extend(times::pods(input, subject, level));
        } else {
            blockers.extend(before(input, subject, level));
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
fn always(input: &EvaluationInput<'_>, subject: &Subject<'_>) -> Vec<Blocker> {
    let mut blockers = general(input.snapshot);
    if let Some(problem) = subject.unreadable {
        let text =
            format!("policy {}: {problem}; nothing more disruptive is done until it can be read", subject.policy.name);
        blockers.push(Blocker::new(POLICY_UNREADABLE, text));
    } else {
        blockers.extend(observes(subject.policy));
    }
    blockers.extend(node::blockers(input, subject));
    blockers
}

fn observes(policy: &Policy) -> Option<Blocker> {
    match policy.mode {
        Mode::Observe => {
            let text = format!("policy {} only observes; set spec.mode to Enforce to act", policy.name);
            Some(Blocker::new(OBSERVE, text))
        }
        Mode::Enforce | Mode::Paused => None,
    }
}

/// What blocks everything.
pub(crate) fn general(snapshot: &Snapshot) -> Vec<Blocker> {
    let mut blockers = Vec::new();
    if snapshot.epoch == 0 {
        blockers.push(Blocker::new(NOT_LEADING, "another controller leads; it acts"));
    }
    if snapshot.dry_run {
        blockers
            .push(Blocker::new(DRY_RUN, "the controller was started with --dry-run; it only says what it would do"));
    }
    if let Some(who) = &snapshot.stopped {
        blockers.push(Blocker::new(KILL_SWITCH, format!("stopped by {who}; take it away to go on")));
    }
    if !snapshot.host.synced {
        blockers.push(Blocker::new(CACHE_NOT_SYNCED, why_not_synced(snapshot)));
    }
    blockers
}

fn why_not_synced(snapshot: &Snapshot) -> String {
    match &snapshot.host.unread {
        Some(unread) => format!(
            "the API server's store went back, as after a restore of etcd; not listed again yet: {unread}. Records may \
             be older than machines: see \"After a restore of etcd\" in docs/outages.md"
        ),
        None => "the controller's watches are not complete; it waits for the API server".to_owned(),
    }
}

/// What stops an act that has not begun.
fn before(input: &EvaluationInput<'_>, subject: &Subject<'_>, level: DisruptionLevel) -> Vec<Blocker> {
    let policy = subject.policy;
    let mut blockers = Vec::new();
    if policy.mode == Mode::Paused && subject.fence.is_none() {
        blockers.push(Blocker::new(
            PAUSED,
            format!("policy {} is paused; what is open is brought to its end", policy.name),
        ));
    }
    if let Some(error) = subject.error {
        blockers.push(Blocker::new(PREDICATE_ERROR, format!("cannot judge this node: {error}")));
    }
    if subject.by_events_alone {
        let text = format!(
            "policy {} is true by Events alone, which others may write: no condition that the node's own agent or kubelet \
             reports is needed for it; ask for one in spec.when, or set spec.trustEvents",
            policy.name
        );
        blockers.push(Blocker::new(EVENTS_NOT_TRUSTED, text));
    }
    blockers.extend(input.storms.get(&policy.name).into_iter().flatten().cloned());
    blockers.extend(times::new_node(input, subject));
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
