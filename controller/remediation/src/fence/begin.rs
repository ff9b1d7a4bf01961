//! The phases before power is touched, but for Draining: Pending, Isolating, Waiting.

use std::time::Duration;

use jiff::Timestamp;

use super::{
    FenceInput, Next, PredicateState,
    blockers::{wait, wait_until},
    drain_again,
    interrupt::{own_node, without_policy},
    record::{Draft, forget_drain, perform},
    recover::has_own_cordon_annotation,
    steps::{self, PolicyStep},
};
use crate::{
    action::ReversibleOp,
    api::{
        fence::{Blocker, NodeFence, Phase},
        policy::TaintStep,
    },
    facts::{Node, Taint},
    guard::reason::{POLICY_UNREADABLE, PREDICATE_FALSE, STEP_ROUND_LIMIT},
    message::Message,
    time::Moment,
};

/// How long a node is watched after the last step before the steps are begun again.
pub(super) const LAST_WAIT: Duration = Duration::from_secs(300);
/// How often the steps are begun again before a person has to look.
pub(super) const STEP_ROUNDS: u32 = 5;

/// Remembers what the node was before the first act.
pub(super) fn pending(input: &FenceInput<'_>) -> Next {
    let blockers = policy_blockers(input);
    if !blockers.is_empty() {
        return wait(input, blockers, None);
    }
    enter_step(input, 0, Draft::of(input), opening(input.fence))
}

/// A record that is about to be opened begins with its first step at once: that is one write less before a node that is
/// not well is cordoned. Whatever keeps the step from being read is reported when its turn comes.
pub(super) fn opened(fence: NodeFence, at: Timestamp) -> NodeFence {
    let Some(Ok(step)) = steps::at(&fence, 0) else { return fence };
    let draft = Draft::new(&fence, fence.status.epoch, at);
    let why = opening(&fence);
    draft.enter_step(0, step.phase(), why).finish().0
}

/// Who asked for a record that no policy has opened: its log and Events show it when the record is deleted.
fn opening(fence: &NodeFence) -> Message {
    if fence.spec.policy.is_empty() {
        return Message::of("FencePhase/openedByHand", &[("by", &fence.metadata.asked_by())]);
    }
    Message::plain("FencePhase/opened")
}

/// Goes to the step `index`, or waits after the last one.
pub(super) fn enter_step(input: &FenceInput<'_>, index: usize, mut draft: Draft, why: Message) -> Next {
    let Some(step) = steps::at(input.fence, index) else {
        let last = input.fence.spec.steps.len().saturating_sub(1);
        return draft
            .with(|status| status.policy_step = last)
            .enter(Phase::Waiting, Message::plain("FenceWaiting/all"))
            .save();
    };
    let phase = match step {
        Ok(step) => step.phase(),
        Err(blocker) => return wait(input, vec![blocker], None),
    };
    let status = draft.status();
    if let Some(node) = own_node(input).filter(|_| status.off.is_none()) {
        status.boot_id.clone_from(&node.boot_id);
        status.system_uuid.clone_from(&node.system_uuid);
    }
    draft.enter_step(index, phase, why).save()
}

/// Blockers that come from the policy: it cannot be read, or its predicate is not true any more.
pub(super) fn policy_blockers(input: &FenceInput<'_>) -> Vec<Blocker> {
    let mut blockers = Vec::new();
    if without_policy(input) {
        blockers.push(Blocker::of("PolicyUnreadable/record", &[("policy", &input.fence.spec.policy)]));
    }
    match input.predicate {
        PredicateState::Yes => {}
        PredicateState::No { .. } => blockers.push(Blocker::plain(PREDICATE_FALSE)),
        PredicateState::Unknown => blockers.push(Blocker::plain("PredicateError/record")),
    }
    blockers
}

pub(super) fn isolating(input: &FenceInput<'_>) -> Next {
    match steps::current(input.fence) {
        Some(Ok(PolicyStep::Taint(step))) => tainting(input, step),
        Some(Ok(PolicyStep::Cordon)) => cordoning(input),
        Some(Err(blocker)) => wait(input, vec![blocker], None),
        Some(Ok(PolicyStep::Drain(_) | PolicyStep::Power { .. } | PolicyStep::Reap { .. })) | None => {
            enter_step(input, input.fence.status.policy_step, Draft::of(input), Message::plain("FencePhase/changed"))
        }
    }
}

/// The taint is remembered as ours before it is set, so that it is not forgotten whatever happens in between.
fn tainting(input: &FenceInput<'_>, step: &TaintStep) -> Next {
    let taint = steps::taint(step);
    let there = own_node(input).is_some_and(|node| has(&node.taints, &taint));
    let ours = has(&input.fence.status.own_changes.taints, &taint);
    if there {
        let why = if ours { "FencePhase/tainted" } else { "FencePhase/taintedBefore" };
        return step_done(input, Draft::of(input), why);
    }
    let blockers = isolation_blockers(input);
    if !blockers.is_empty() {
        return wait(input, blockers, None);
    }
    if ours {
        return back_off(input).unwrap_or_else(|| perform(input, ReversibleOp::Taint(taint)));
    }
    let message = Message::of("TaintIntended", &[("taint", &taint.key)]);
    Draft::of(input).note(message).with(|status| status.own_changes.taints.push(taint)).save()
}

/// The record need not remember the cordon: the Node's annotation `nodewell.dev/cordoned-by` does.
fn cordoning(input: &FenceInput<'_>) -> Next {
    let status = &input.fence.status;
    if status.own_changes.cordon && own_node(input).is_some_and(|node| node.unschedulable) {
        return step_done(input, Draft::of(input), "FencePhase/cordoned");
    }
    let mut blockers = isolation_blockers(input);
    // In the first round the Node may be seen as it was before. In a later one a person has uncordoned it meanwhile: one that
    // is known to be dead by now waits for no person.
    let is_later = status.step_rounds > 0 || status.drain_rounds > 0;
    if is_later && uncordoned_by_other(input) && !drain_again::is_known_dead(input) {
        blockers.push(Blocker::plain("NotCordoned/uncordoned"));
    }
    if !blockers.is_empty() {
        return wait(input, blockers, None);
    }
    back_off(input).unwrap_or_else(|| perform(input, ReversibleOp::Cordon))
}

/// The record's own uncordon takes the annotation of its cordon with it, whether its end was heard of or not; `kubectl uncordon`
/// leaves it.
fn uncordoned_by_other(input: &FenceInput<'_>) -> bool {
    let is_left = |node: &Node| !node.unschedulable && has_own_cordon_annotation(input, node);
    input.fence.status.own_changes.cordon && own_node(input).is_some_and(is_left)
}

fn isolation_blockers(input: &FenceInput<'_>) -> Vec<Blocker> {
    let mut blockers = policy_blockers(input);
    blockers.extend(input.guard_blockers.isolate.iter().cloned());
    blockers
}

/// Between two tries of a step that failed and can be tried again at will.
pub(super) fn back_off(input: &FenceInput<'_>) -> Option<Next> {
    let status = &input.fence.status;
    let failed = status.last_failure.filter(|_| status.failures > 0)?;
    let by_wall = Duration::try_from(input.now.wall.duration_since(failed));
    let since = match by_wall {
        Ok(since) if status.epoch == input.epoch => since,
        // Another leader's clock says nothing of ours, nor does ours that was set back since.
        Ok(_) | Err(_) => input.now.moment.since(input.entered),
    };
    let left = super::doubt::delay(status.failures).checked_sub(since).filter(|left| !left.is_zero())?;
    Some(wait_until(input, input.now.moment.plus(left)))
}

/// On to the wait after this step, or to the next one.
pub(super) fn step_done(input: &FenceInput<'_>, draft: Draft, why: &str) -> Next {
    match steps::then_wait(input.fence) {
        Err(blocker) => wait(input, vec![blocker], None),
        Ok(span) if span.is_zero() => enter_step(input, input.fence.status.policy_step + 1, draft, Message::plain(why)),
        Ok(_) => draft.enter(Phase::Waiting, Message::plain(why)).save(),
    }
}

/// The wait counts from when this controller saw it begin: a new leader waits longer, never shorter.
pub(super) fn waiting(input: &FenceInput<'_>) -> Next {
    let status = &input.fence.status;
    let span = match steps::then_wait(input.fence) {
        Ok(span) => span,
        Err(blocker) => return wait(input, vec![blocker], None),
    };
    let is_last = status.policy_step + 1 >= input.fence.spec.steps.len();
    let left_pods = is_last.then(|| drain_again::left_pods(input.fence)).flatten();
    let pause = left_pods.as_ref().map_or(LAST_WAIT, |left| left.pause);
    let until = input.entered.plus(if is_last { span.max(pause) } else { span });
    let mut blockers = policy_blockers(input);
    if input.now.moment < until {
        // Nothing is begun meanwhile. That its policy has to be mended is reported all the same; a predicate may err on
        // and off.
        blockers.retain(|blocker| blocker.reason == POLICY_UNREADABLE);
        blockers.extend(left_pods.map(|left| left.blocker));
        return wait(input, blockers, Some(until.since(input.now.moment)));
    }
    match blockers.is_empty() {
        false => wait(input, blockers.into_iter().chain(left_pods.map(|left| left.blocker)).collect(), None),
        true if left_pods.is_some() => drain_again::begin_again(input),
        true if is_last => begin_again(input),
        true => enter_step(input, status.policy_step + 1, Draft::of(input), Message::plain("FencePhase/unhealthy")),
    }
}

/// Steps that cut the power are begun again, a few times: it did not help for long, or the machine was off already. A machine that
/// was reaped is another one by now, or none.
fn begin_again(input: &FenceInput<'_>) -> Next {
    let status = &input.fence.status;
    let is_reaped = matches!(steps::current(input.fence), Some(Ok(PolicyStep::Reap { .. })));
    if is_reaped || !steps::cuts_power(input.fence) {
        return wait(input, vec![Blocker::plain("StepsExhausted")], None);
    }
    if status.step_rounds >= STEP_ROUNDS {
        return Draft::of(input).quarantine(Blocker::of(STEP_ROUND_LIMIT, &[("rounds", &STEP_ROUNDS)])).save();
    }
    fresh_round(Draft::of(input).with(|status| {
        status.step_rounds = status.step_rounds.saturating_add(1);
        status.drain_rounds = 0;
    }))
}

/// All steps, from the first one.
pub(super) fn fresh_round(draft: Draft) -> Next {
    let fresh = draft.with(|status| {
        status.policy_step = 0;
        forget_drain(status);
        status.dump_waited = false;
        status.off = None;
        status.out_of_service = false;
    });
    fresh.enter(Phase::Pending, Message::plain("FencePending")).save()
}

pub(super) fn has(taints: &[Taint], taint: &Taint) -> bool {
    taints.iter().any(|other| other.key == taint.key && other.effect == taint.effect)
}

/// The moment `span` after this phase was entered, if it is yet to come.
pub(super) fn phase_deadline(input: &FenceInput<'_>, span: Duration) -> Option<Moment> {
    let until = input.entered.plus(span);
    (input.now.moment < until).then_some(until)
}
