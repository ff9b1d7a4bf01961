//! What is asked before a phase is: things that end a fence, or turn it round, wherever it stands.

use std::time::Duration;

use jiff::SignedDuration;

use super::{Case, Next, Wanted, record::Draft};
use crate::{
    api::fence::{Blocker, Intent, Irreversible, Phase},
    facts::{Node, kubelet},
    guard::reason::NODE_GONE,
    policy::Policy,
    time::Moment,
};

/// An intent is acted upon in the next round or never: an older one may have been begun already.
const INTENT_LASTS: SignedDuration = SignedDuration::from_secs(10);

/// The first that applies.
pub(super) fn check(case: &Case<'_>) -> Option<Next> {
    match case.fence.status.phase {
        Phase::Closed => return None,
        Phase::Quarantined => return given_up_and_gone(case),
        Phase::Pending | Phase::Isolating | Phase::Draining | Phase::Waiting | Phase::Guarded | Phase::KdumpWait => {}
        Phase::PoweringOff | Phase::OffConfirmed | Phase::PodsReleased | Phase::PoweringOn | Phase::AwaitReady => {}
        Phase::Reaping | Phase::Recovering | Phase::InDoubt | Phase::Failed => {}
    }
    gone(case)
        .or_else(|| false_confirmation(case))
        .or_else(|| returned(case))
        .or_else(|| old_intent(case))
        .or_else(|| aborted(case))
        .or_else(|| well(case))
}

/// The Node this record was opened for.
pub(super) fn own_node<'a>(case: &Case<'a>) -> Option<&'a Node> {
    case.node.filter(|node| node.uid == case.fence.spec.node_uid)
}

/// A machine whose power is, or may be, off has to be looked at by a person when its Node is gone.
fn gone(case: &Case<'_>) -> Option<Next> {
    if own_node(case).is_some() {
        return None;
    }
    let status = &case.fence.status;
    let powerless = status.off.is_some() && !matches!(status.phase, Phase::AwaitReady | Phase::Recovering);
    let meant = status.intent.as_ref().is_some_and(|intent| intent.act != Irreversible::Reap);
    let draft = Draft::of(case);
    if powerless || meant {
        let message = "the Node is gone while its machine is, or may be, off; turn it on or take it out of service";
        return Some(draft.settle().quarantine(Blocker::new(NODE_GONE, message)).save());
    }
    Some(draft.settle().enter(Phase::Closed, "the Node is gone, and what was ours with it").save())
}

/// A person took the node away instead of mending it: nothing is waited for any more. Only a machine that was left off
/// is still remembered.
fn given_up_and_gone(case: &Case<'_>) -> Option<Next> {
    let status = &case.fence.status;
    let left_off =
        status.off.is_some() || status.blocked_by.as_ref().is_some_and(|blocker| blocker.reason == NODE_GONE);
    (own_node(case).is_none() && !left_off)
        .then(|| Draft::of(case).enter(Phase::Closed, "the Node that was given up is gone").save())
}

/// It lives on with the boot that was confirmed to have ended: its BMC lies, or is another machine's.
fn false_confirmation(case: &Case<'_>) -> Option<Next> {
    if case.fence.status.giving_up.is_some() || !case.revival?.is_proven(case, own_node(case)?) {
        return None;
    }
    let message =
        "the node is Ready with the boot that its BMC said had ended; do not trust this BMC, look at its wiring";
    let blocker = Blocker::new("FalseConfirmation", message);
    let draft = Draft::of(case).settle().enter(Phase::Recovering, blocker.message.clone());
    let draft = draft.warn("FalseConfirmation", message).with(|status| {
        status.giving_up = Some(blocker);
        status.off = None;
        status.released_boot.clear();
    });
    Some(draft.save())
}

/// Another actor turned it on again, and it came up: the pods of its old boot are gone for certain.
fn returned(case: &Case<'_>) -> Option<Next> {
    let phases = [Phase::OffConfirmed, Phase::PodsReleased, Phase::PoweringOn, Phase::InDoubt];
    let status = &case.fence.status;
    if !phases.contains(&status.phase) || status.storage_only.is_some() || !ready_anew(case) {
        return None;
    }
    let why = "the node is Ready with a new boot id";
    Some(Draft::of(case).settle().enter(Phase::Recovering, why).save())
}

/// Booted again, and its Lease was seen to be renewed since this phase began: it is no late report.
pub(super) fn ready_anew(case: &Case<'_>) -> bool {
    case.kubelet_lease.is_some_and(|lease| lease.seen > case.entered) && booted_anew(case)
}

/// Ready, its Lease alive, and booted since its power was cut.
pub(super) fn booted_anew(case: &Case<'_>) -> bool {
    let alive = case.kubelet_lease.is_some_and(|lease| lease.stale_for(case.now.moment) < kubelet::LIVES);
    own_node(case).is_some_and(|node| alive && node.is_ready() && new_boot(case, node))
}

pub(super) fn new_boot(case: &Case<'_>, node: &Node) -> bool {
    let status = &case.fence.status;
    let old = status.off.as_ref().map_or(&status.boot_id, |off| &off.boot_id);
    !old.is_empty() && !node.boot_id.is_empty() && *old != node.boot_id
}

/// An intent that this leader did not just write: whether the act was begun is unknown.
fn old_intent(case: &Case<'_>) -> Option<Next> {
    let status = &case.fence.status;
    let intent = status.intent.as_ref()?;
    if status.phase == Phase::InDoubt || (is_young(case, intent) && belongs(intent.act, status.phase)) {
        return None;
    }
    let why = format!("{:?} was meant by epoch {} and its end is not known", intent.act, intent.epoch);
    Some(Draft::of(case).enter(Phase::InDoubt, why).save())
}

fn is_young(case: &Case<'_>, intent: &Intent) -> bool {
    let age = case.now.wall.duration_since(intent.at);
    intent.epoch == case.epoch && !age.is_negative() && age <= INTENT_LASTS
}

fn belongs(act: Irreversible, phase: Phase) -> bool {
    matches!(
        (act, phase),
        (Irreversible::PowerOff, Phase::PoweringOff)
            | (Irreversible::PowerOn, Phase::PoweringOn)
            | (Irreversible::Release, Phase::PodsReleased)
            | (Irreversible::Reap, Phase::Reaping)
    )
}

/// A person aborted it. What was begun is taken back as far as it is safe.
fn aborted(case: &Case<'_>) -> Option<Next> {
    if !case.fence.spec.abort || case.fence.status.giving_up.is_some() {
        return None;
    }
    let (phase, why) = match case.fence.status.phase {
        Phase::PoweringOff | Phase::Reaping => (Phase::InDoubt, "aborted while an act was meant"),
        Phase::OffConfirmed | Phase::PodsReleased if case.fence.status.intent.is_some() => {
            (Phase::InDoubt, "aborted while a release was meant")
        }
        Phase::OffConfirmed | Phase::PodsReleased => (Phase::PoweringOn, "aborted; power on takes it back"),
        Phase::PoweringOn | Phase::AwaitReady | Phase::Recovering | Phase::InDoubt => return None,
        Phase::Closed | Phase::Quarantined => return None,
        Phase::Pending | Phase::Isolating | Phase::Draining | Phase::Waiting => (Phase::Recovering, "aborted"),
        Phase::Guarded | Phase::KdumpWait | Phase::Failed => (Phase::Recovering, "aborted"),
    };
    let by = case.fence.metadata.asked_by();
    Some(Draft::of(case).enter(phase, format!("{why}; {by}")).save())
}

/// The node needs no more remediation, and that for long enough.
fn well(case: &Case<'_>) -> Option<Next> {
    let phase = match case.fence.status.phase {
        Phase::Pending | Phase::Isolating | Phase::Draining | Phase::Waiting => Phase::Recovering,
        Phase::Guarded | Phase::KdumpWait | Phase::Failed => Phase::Recovering,
        Phase::PoweringOff | Phase::Reaping => Phase::InDoubt,
        Phase::OffConfirmed | Phase::PodsReleased | Phase::PoweringOn | Phase::AwaitReady => return None,
        Phase::Recovering | Phase::InDoubt | Phase::Closed | Phase::Quarantined => return None,
    };
    is_well(case).then(|| Draft::of(case).enter(phase, "the node has been well long enough").save())
}

pub(super) fn is_well(case: &Case<'_>) -> bool {
    let Wanted::No { since } = case.wanted else { return false };
    case.now.moment.since(since) >= healthy_for(case)
}

/// Of a policy that is gone the default: what it asked for is not known, and was not nothing.
pub(super) fn healthy_for(case: &Case<'_>) -> Duration {
    case.policy.map_or_else(|| Policy::default().healthy_for, |policy| policy.healthy_for)
}

/// When it will have been well for long enough, if that is yet to come.
pub(super) fn well_at(case: &Case<'_>) -> Option<Moment> {
    let Wanted::No { since } = case.wanted else { return None };
    let at = since.plus(healthy_for(case));
    (at > case.now.moment).then_some(at)
}

/// The policy that asked for it is gone or cannot be read. A record without one was a person's wish.
pub(super) fn without_policy(case: &Case<'_>) -> bool {
    case.policy.is_none() && !case.fence.spec.policy.is_empty()
}
