//! A drain that left pods, where nothing but a drain helps: the steps are begun again. Whatever stood in the way may have gone
//! by then, and a person may have seen to it.

use std::time::Duration;

use nodewell_time::doubled;

use super::{
    FenceInput, Next,
    begin::{LAST_WAIT, fresh_round, policy_blockers},
    blockers::wait,
    evidence,
    interrupt::own_node,
    record::Draft,
    steps::{self, PolicyStep},
};
use crate::{
    api::{
        fence::{Blocker, DrainReport, NodeFence, NodeFenceStatus},
        policy::StepSpec,
        request::REQUESTED_BY,
    },
    drain::BY_OPTION,
    facts::{Node, kubelet},
    guard::reason::POWER_CYCLE_LIMIT,
    message::MessageArgs,
    policy::duration::show,
};

/// The pause doubles with each round up to this.
const LONGEST_PAUSE: Duration = Duration::from_hours(1);

pub(super) struct LeftPods {
    pub(super) pause: Duration,
    pub(super) blocker: Blocker,
}

/// After all steps. What the drain's own options left is left on purpose.
pub(super) fn left_pods(fence: &NodeFence) -> Option<LeftPods> {
    let report = fence.status.drain.as_ref().filter(|report| !report.done)?;
    left_after(fence, &fence.spec.steps, report)
}

/// After these steps, which would be begun again. Steps that cut the power have rounds of their own: there it is the power
/// that did not help. A machine that was reaped is another one by now, or none, and is not reaped again.
fn left_after(fence: &NodeFence, taken: &[StepSpec], report: &DrainReport) -> Option<LeftPods> {
    if steps::are_irreversible(taken) {
        return None;
    }
    let pause = doubled(LAST_WAIT, fence.status.drain_rounds, LONGEST_PAUSE);
    let pods = match report.refused_evictions.as_slice() {
        [] => return Some(LeftPods { pause, blocker: left_by_options(report, pause) }),
        [one] => one.clone(),
        [first, more @ ..] => format!("{first}; and {} more", more.len()),
    };
    let may_be_deleted = || report.refused_evictions.iter().any(|why| why.contains(BY_OPTION));
    let blocker = if is_by_hand(fence) && may_be_deleted() {
        let args: MessageArgs<'_> = &[("pods", &pods), ("pause", &show(pause)), ("node", &fence.spec.node_name)];
        Blocker::of("DrainIncomplete/byHand", args)
    } else {
        Blocker::of("DrainIncomplete", &[("pods", &pods), ("pause", &show(pause))])
    };
    Some(LeftPods { pause, blocker })
}

/// Neither a policy nor another remediator asked for it: a person gave the drain's options, and may give others.
fn is_by_hand(fence: &NodeFence) -> bool {
    fence.spec.policy.is_empty() && !fence.metadata.annotations.contains_key(REQUESTED_BY)
}

fn left_by_options(report: &DrainReport, pause: Duration) -> Blocker {
    Blocker::of("DrainIncomplete/left", &[("left", &report.left), ("pause", &show(pause))])
}

/// What a drain left, in this round or in one before: reported also while another round is under way.
#[must_use]
pub fn undrained(fence: &NodeFence) -> Option<Blocker> {
    let rounds = fence.status.drain_rounds;
    let before = || (rounds > 0).then(|| Blocker::of("DrainIncomplete/again", &[("rounds", &rounds)]));
    left_pods(fence).map(|left| left.blocker).or_else(before)
}

pub(super) fn begin_again(input: &FenceInput<'_>) -> Next {
    fresh_round(Draft::of(input).with(|status| status.drain_rounds = status.drain_rounds.saturating_add(1)))
}

/// The step at hand is forbidden by these. Where it waits for a drain to get through, the steps before it are begun again
/// after a pause.
pub(super) fn instead_of_power(input: &FenceInput<'_>, mut blockers: Vec<Blocker>) -> Next {
    let is_at_limit = blockers.iter().any(|blocker| blocker.reason == POWER_CYCLE_LIMIT);
    let Some(left) = left_before_power(input).filter(|_| !is_at_limit) else { return wait(input, blockers, None) };
    let until = input.entered.plus(left.pause);
    let is_due = input.now.moment >= until;
    if is_due && policy_blockers(input).is_empty() {
        return begin_again(input);
    }
    blockers.push(left.blocker);
    wait(input, blockers, (!is_due).then(|| until.since(input.now.moment)))
}

/// No order was given by this step, none is in doubt, and no confirmation stands.
fn left_before_power(input: &FenceInput<'_>) -> Option<LeftPods> {
    let fence = input.fence;
    let taken = fence.spec.steps.get(..fence.status.policy_step)?;
    let report = fence.status.drain.as_ref().filter(|report| !report.emptied())?;
    left_after(fence, taken, report).filter(|_| !is_ordered(&fence.status) && waits_for_drain(input))
}

pub(super) fn is_ordered(status: &NodeFenceStatus) -> bool {
    status.intent.is_some() || status.off.is_some() || status.cycle_begun || status.ordered_off
}

/// The power of a node that is dead is cut whether its drain got through or not, once it was silent for long enough.
fn waits_for_drain(input: &FenceInput<'_>) -> bool {
    match steps::current(input.fence) {
        Some(Ok(PolicyStep::Power { releases, .. })) => !releases || !is_silent(input),
        Some(Ok(PolicyStep::Reap { even_if_drain_failed })) => !even_if_drain_failed,
        Some(Ok(PolicyStep::Taint(_) | PolicyStep::Cordon | PolicyStep::Drain(_)) | Err(_)) | None => false,
    }
}

/// By its Lease, and for so long that its power is cut for it: it is dead, and what only helps one that lives is not waited for.
/// One that is not Ready may live. Without a Lease that is all that is known of it.
pub(super) fn is_silent(input: &FenceInput<'_>) -> bool {
    match input.kubelet_lease {
        Some(lease) if lease.stale_for(input.now.moment) >= kubelet::NODE_MONITOR_GRACE => true,
        Some(_) => evidence::fast_witnesses(input).is_some(),
        None => !own_node(input).is_some_and(Node::is_ready),
    }
}

/// What a person did to it is overruled on this alone: without its Lease a node that is not Ready may live.
pub(super) fn is_known_dead(input: &FenceInput<'_>) -> bool {
    input.kubelet_lease.is_some() && is_silent(input)
}

/// It has died since a round before, and a later step releases its pods once it is off: another drain would only hold that up.
pub(super) fn is_too_late(input: &FenceInput<'_>) -> bool {
    let steps = input.fence.spec.steps.get(input.fence.status.policy_step..).unwrap_or_default();
    let is_released = steps.iter().any(|step| step.power_cycle.is_some());
    input.fence.status.drain_rounds > 0 && is_released && is_silent(input)
}
