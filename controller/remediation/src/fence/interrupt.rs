//! What is checked in every phase, before the phase itself: what ends a fence or takes it back, wherever it stands.

use std::time::Duration;

use jiff::SignedDuration;

use super::{
    FenceInput, Next, PredicateState, cut_late, left_off::is_kept_out, levels, record::Draft, supersede::superseded,
};
use crate::{
    api::{
        RETRY,
        fence::{Blocker, IntendedOp, Intent, NodeFence, Phase},
    },
    facts::{Node, kubelet},
    guard::reason::NODE_GONE,
    message::Message,
    policy::Policy,
    time::Moment,
};

/// An intent is acted upon in the next round or never: an older one may have been begun already.
const INTENT_LASTS: SignedDuration = SignedDuration::from_secs(10);

/// The first that applies.
pub(super) fn check(input: &FenceInput<'_>) -> Option<Next> {
    match input.fence.status.phase {
        Phase::Closed => return None,
        // Whatever it was given up for: two writers are worse, and its out-of-service taint is taken back.
        Phase::Quarantined => return given_up_and_gone(input).or_else(|| false_confirmation(input)),
        Phase::Pending
        | Phase::Isolating
        | Phase::Draining
        | Phase::Waiting
        | Phase::AwaitGuards
        | Phase::KdumpWait => {}
        Phase::PoweringOff | Phase::OffConfirmed | Phase::PodsReleased | Phase::PoweringOn | Phase::AwaitReady => {}
        Phase::Reaping | Phase::Recovering | Phase::InDoubt | Phase::Failed => {}
    }
    gone(input)
        .or_else(|| false_confirmation(input))
        .or_else(|| returned(input))
        .or_else(|| old_intent(input))
        .or_else(|| aborted(input))
        .or_else(|| superseded(input))
        .or_else(|| healthy(input))
}

/// The Node this record was opened for.
pub(super) fn own_node<'a>(input: &FenceInput<'a>) -> Option<&'a Node> {
    own_node_of(input.fence, input.node)
}

pub(super) fn own_node_of<'a>(fence: &NodeFence, node: Option<&'a Node>) -> Option<&'a Node> {
    node.filter(|node| node.uid == fence.spec.node_uid)
}

/// A machine whose power is, or may be, off has to be looked at by a person when its Node is gone.
fn gone(input: &FenceInput<'_>) -> Option<Next> {
    if own_node(input).is_some() {
        return None;
    }
    let status = &input.fence.status;
    let is_cut = status.off.is_some() || status.storage_only.is_some() && status.release_begun;
    let powerless = is_cut && !matches!(status.phase, Phase::AwaitReady | Phase::Recovering);
    let intended = status.intent.as_ref().is_some_and(|intent| intent.op != IntendedOp::Reap);
    // After a person's retry: what was intended before it was settled, and its end may be unknown still.
    let retried = status.phase == Phase::InDoubt && status.intent.is_none();
    let draft = Draft::of(input);
    if powerless || intended || retried {
        return Some(draft.settle().quarantine(Blocker::plain("NodeGone/off")).save());
    }
    Some(draft.settle().enter(Phase::Closed, Message::plain("FenceClosed/gone")).save())
}

/// A person took the node away instead of mending it: nothing is waited for any more. Only a machine that was left off
/// is still remembered.
fn given_up_and_gone(input: &FenceInput<'_>) -> Option<Next> {
    let status = &input.fence.status;
    let left_off = status.off.is_some() || status.is_blocked_by(NODE_GONE);
    (own_node(input).is_none() && !left_off)
        .then(|| Draft::of(input).enter(Phase::Closed, Message::plain("FenceClosed/givenUp")).save())
}

/// It lives on with the boot that was confirmed to have ended: its BMC lies, or is another machine's.
fn false_confirmation(input: &FenceInput<'_>) -> Option<Next> {
    if input.fence.status.giving_up.is_some() || !input.post_off_activity?.is_proven(input, own_node(input)?) {
        return None;
    }
    let message = Message::plain("FenceRecovering/falseConfirmation");
    let draft = Draft::of(input).settle().enter(Phase::Recovering, message);
    let methods = levels::methods_of_off(input);
    let asked = input.fence.metadata.annotations.get(RETRY).filter(|value| !value.is_empty());
    let draft = draft.warn(Message::plain("FalseConfirmation")).with(|status| {
        status.giving_up = Some(Blocker::plain("FalseConfirmation"));
        status.off = None;
        status.released_boot.clear();
        status.denied_methods.extend(methods);
        // Another try that was asked for before this was known is no answer to it.
        asked.into_iter().for_each(|value| status.observed_retry.clone_from(value));
    });
    Some(draft.save())
}

/// Another actor turned it on again, and it came up: the pods of its old boot are gone for certain. One that was left off at
/// the limit of its power cycles is no help before a person has looked at it.
fn returned(input: &FenceInput<'_>) -> Option<Next> {
    let phases = [Phase::OffConfirmed, Phase::PodsReleased, Phase::PoweringOn, Phase::InDoubt];
    let status = &input.fence.status;
    if !phases.contains(&status.phase) || status.storage_only.is_some() || !ready_anew(input) || is_kept_out(input) {
        return None;
    }
    Some(Draft::of(input).settle().enter(Phase::Recovering, Message::plain("FenceRecovering")).save())
}

/// Booted again, and its Lease was seen to be renewed since this phase began: it is no late report.
pub(super) fn ready_anew(input: &FenceInput<'_>) -> bool {
    input.kubelet_lease.is_some_and(|lease| lease.change_seen_at > input.entered) && booted_anew(input)
}

/// Ready, its Lease alive, and booted since its power was cut.
pub(super) fn booted_anew(input: &FenceInput<'_>) -> bool {
    let alive = input.kubelet_lease.is_some_and(|lease| lease.stale_for(input.now.moment) < kubelet::ALIVE_WITHIN);
    own_node(input).is_some_and(|node| alive && node.is_ready() && new_boot(input, node))
}

pub(super) fn new_boot(input: &FenceInput<'_>, node: &Node) -> bool {
    let status = &input.fence.status;
    let old = status.off.as_ref().map_or(&status.boot_id, |off| &off.boot_id);
    !old.is_empty() && !node.boot_id.is_empty() && *old != node.boot_id
}

/// An intent that this leader did not just write: whether the act was begun is unknown.
fn old_intent(input: &FenceInput<'_>) -> Option<Next> {
    let status = &input.fence.status;
    let intent = status.intent.as_ref()?;
    if status.phase == Phase::InDoubt || (is_young(input, intent) && is_of_phase(intent.op, status.phase)) {
        return None;
    }
    let op = format!("{:?}", intent.op);
    let message = Message::of("FenceInDoubt/intent", &[("op", &op), ("epoch", &intent.epoch)]);
    Some(Draft::of(input).enter(Phase::InDoubt, message).save())
}

fn is_young(input: &FenceInput<'_>, intent: &Intent) -> bool {
    let age = input.now.wall.duration_since(intent.at);
    intent.epoch == input.epoch && !age.is_negative() && age <= INTENT_LASTS
}

fn is_of_phase(op: IntendedOp, phase: Phase) -> bool {
    matches!(
        (op, phase),
        (IntendedOp::PowerOff, Phase::PoweringOff)
            | (IntendedOp::PowerOn, Phase::PoweringOn)
            | (IntendedOp::Release, Phase::PodsReleased)
            | (IntendedOp::Reap, Phase::Reaping)
    )
}

/// A person aborted it. What was begun is taken back as far as it is safe.
fn aborted(input: &FenceInput<'_>) -> Option<Next> {
    if !input.fence.spec.abort || input.fence.status.giving_up.is_some() {
        return None;
    }
    let (phase, key) = match input.fence.status.phase {
        Phase::PoweringOff | Phase::Reaping => (Phase::InDoubt, "FencePhase/abortedInDoubt"),
        Phase::OffConfirmed | Phase::PodsReleased if input.fence.status.intent.is_some() => {
            (Phase::InDoubt, "FencePhase/abortedInDoubt")
        }
        Phase::OffConfirmed | Phase::PodsReleased => return Some(turned_on_aborted(input)),
        Phase::PoweringOn | Phase::AwaitReady | Phase::Recovering | Phase::InDoubt => return None,
        Phase::Closed | Phase::Quarantined => return None,
        Phase::Pending | Phase::Isolating | Phase::Draining | Phase::Waiting => {
            (Phase::Recovering, "FencePhase/aborted")
        }
        Phase::AwaitGuards if cut_late::is_cut(input) => return Some(cut_late::turn_on_aborted(input)),
        Phase::KdumpWait | Phase::Failed if cut_late::is_cut(input) => (Phase::AwaitGuards, "FencePhase/aborted"),
        Phase::AwaitGuards | Phase::KdumpWait | Phase::Failed => (Phase::Recovering, "FencePhase/aborted"),
    };
    let by = input.fence.metadata.asked_by();
    Some(Draft::of(input).enter(phase, Message::of(key, &[("by", &by)])).save())
}

/// It is off, and back before more of its pods are released.
fn turned_on_aborted(input: &FenceInput<'_>) -> Next {
    let message = Message::of("FencePhase/abortedOff", &[("by", &input.fence.metadata.asked_by())]);
    Draft::of(input).count_order().enter(Phase::PoweringOn, message).save()
}

/// The node has needed no remediation for the policy's `healthyDelay`. An order that was carried out late may have cut it since:
/// such a machine is not left to itself.
fn healthy(input: &FenceInput<'_>) -> Option<Next> {
    let phase = match input.fence.status.phase {
        Phase::AwaitGuards if cut_late::is_cut(input) => return cut_late::turn_on(input),
        Phase::KdumpWait | Phase::Failed if cut_late::is_cut(input) => return None,
        Phase::Pending | Phase::Isolating | Phase::Draining | Phase::Waiting => Phase::Recovering,
        Phase::AwaitGuards | Phase::KdumpWait | Phase::Failed => Phase::Recovering,
        Phase::PoweringOff | Phase::Reaping => Phase::InDoubt,
        Phase::OffConfirmed | Phase::PodsReleased | Phase::PoweringOn | Phase::AwaitReady => return None,
        Phase::Recovering | Phase::InDoubt | Phase::Closed | Phase::Quarantined => return None,
    };
    let key = if phase == Phase::Recovering { "FenceRecovering/healthy" } else { "FencePhase/healthy" };
    is_healthy(input).then(|| Draft::of(input).enter(phase, Message::plain(key)).save())
}

pub(super) fn is_healthy(input: &FenceInput<'_>) -> bool {
    let PredicateState::No { since } = input.predicate else { return false };
    input.now.moment.since(since) >= healthy_delay(input)
}

/// Of a policy that is gone the default: what it asked for is not known, and was not nothing.
pub(super) fn healthy_delay(input: &FenceInput<'_>) -> Duration {
    input.policy.map_or_else(|| Policy::default().healthy_delay, |policy| policy.healthy_delay)
}

/// When it will have been healthy for long enough, if that is yet to come.
pub(super) fn healthy_at(input: &FenceInput<'_>) -> Option<Moment> {
    let PredicateState::No { since } = input.predicate else { return None };
    let at = since.plus(healthy_delay(input));
    (at > input.now.moment).then_some(at)
}

/// When what was done is taken back, if the node stays as healthy as it is: no other step is begun until then.
#[must_use]
pub fn restored_at(input: &FenceInput<'_>) -> Option<Moment> {
    let status = &input.fence.status;
    let is_awaited = match status.phase {
        Phase::Pending | Phase::Isolating | Phase::Draining | Phase::Waiting | Phase::Recovering => true,
        Phase::AwaitGuards | Phase::KdumpWait | Phase::Failed => !cut_late::is_cut(input),
        Phase::PoweringOff | Phase::OffConfirmed | Phase::PodsReleased | Phase::PoweringOn => false,
        Phase::AwaitReady | Phase::Reaping | Phase::InDoubt | Phase::Closed | Phase::Quarantined => false,
    };
    let is_awaited = is_awaited && !input.fence.spec.abort && status.giving_up.is_none();
    healthy_at(input).filter(|_| is_awaited && own_node(input).is_some())
}

/// The policy that asked for it is gone or cannot be read. A record without one was a person's wish.
pub(super) fn without_policy(input: &FenceInput<'_>) -> bool {
    input.policy.is_none() && !input.fence.spec.policy.is_empty()
}
