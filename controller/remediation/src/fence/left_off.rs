//! A machine that is left off once its pods are released: because its step says so (`leaveOff`), or because its power cycles
//! are at their limit. A person gives it back, or, where the policy has it so, its own healthy boot.

use super::{
    FenceInput, Next,
    blockers::wait,
    levels,
    record::Draft,
    release::is_read_on,
    steps::{self, PolicyStep},
};
use crate::{
    api::{
        RELEASE,
        fence::{Blocker, NodeFence, Phase},
        policy::OffUntil,
    },
    message::Message,
    snapshot::PowerState,
};

/// The schema of a record takes no longer value.
const VALUE_CHARS: usize = 253;

/// Why a machine is left off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    /// `leaveOff` of the step.
    Step,
    /// `powerCycles` of the policy.
    Limit,
}

fn cause(fence: &NodeFence) -> Option<Cause> {
    let status = &fence.status;
    if fence.spec.abort || status.returning {
        return None;
    }
    if status.at_limit {
        return Some(Cause::Limit);
    }
    match steps::current(fence) {
        Some(Ok(PolicyStep::Power { step, .. })) => step.leave_off.then_some(Cause::Step),
        Some(
            Ok(PolicyStep::Taint(_) | PolicyStep::Cordon | PolicyStep::Drain(_) | PolicyStep::Reap { .. }) | Err(_),
        )
        | None => None,
    }
}

/// It is not turned on once its pods are released.
pub(super) fn is_left_off(fence: &NodeFence) -> bool {
    cause(fence).is_some()
}

pub(super) fn is_left_off_at_limit(fence: &NodeFence) -> bool {
    cause(fence) == Some(Cause::Limit)
}

/// Whatever boots there, it stays out of service until a person has it given back.
pub(super) fn is_kept_out(input: &FenceInput<'_>) -> bool {
    let at_limit = input.fence.status.phase == Phase::PodsReleased && is_left_off_at_limit(input.fence);
    at_limit && off_until(input) == OffUntil::Released
}

/// Of a policy that is gone or cannot be read the careful one.
fn off_until(input: &FenceInput<'_>) -> OffUntil {
    input.policy.map_or(OffUntil::Released, |policy| policy.off_until)
}

/// Waits for whatever gives it back.
pub(super) fn stays_off(input: &FenceInput<'_>) -> Next {
    if !is_left_off_at_limit(input.fence) {
        return wait(input, vec![Blocker::plain("LeftOff")], None);
    }
    let key = match (off_until(input), is_read_on(input)) {
        (OffUntil::Released, false) => "PowerCycleLimit/leftOff",
        (OffUntil::Released, true) => "PowerCycleLimit/on",
        (OffUntil::HealthyBoot, _) => "PowerCycleLimit/untilBoot",
    };
    wait(input, vec![Blocker::of(key, &[("node", &input.fence.spec.node_name)])], None)
}

/// It was left off, with its pods gone, and another actor turned it on: that is no reason to cut it again. By its step it is
/// on its way back; at the limit it waits.
pub(super) fn turned_on(input: &FenceInput<'_>) -> Option<Next> {
    let cause = cause(input.fence).filter(|_| is_read_on(input))?;
    Some(match cause {
        Cause::Step => Draft::of(input).enter(Phase::AwaitReady, Message::plain("FenceAwaitReady/leftOff")).save(),
        Cause::Limit => stays_off(input),
    })
}

/// The value of the annotation, as long as a record may have it; empty without one.
pub(super) fn asked(fence: &NodeFence) -> String {
    let value = fence.metadata.annotations.get(RELEASE);
    value.into_iter().flat_map(|value| value.chars()).take(VALUE_CHARS).collect()
}

/// A person asks for it, with a value that was not there before it was off.
pub(super) fn given_back(input: &FenceInput<'_>) -> Option<Next> {
    let asked = asked(input.fence);
    if asked.is_empty() || asked == input.fence.status.observed_release || !is_left_off(input.fence) {
        return None;
    }
    let by = input.fence.metadata.asked_by();
    let draft = Draft::of(input).give_back(&asked);
    // It may have been turned on, and off again, while it was left off.
    let newest = input.gathered.power.iter().rev().find(|reading| levels::counts(input, reading));
    let is_on = newest.is_some_and(|reading| reading.state == PowerState::On);
    Some(match is_on && input.fence.status.phase == Phase::PodsReleased {
        true => draft.enter(Phase::AwaitReady, Message::of("FenceAwaitReady/released", &[("by", &by)])).save(),
        false => draft.enter(Phase::PoweringOn, Message::of("FencePoweringOn/released", &[("by", &by)])).save(),
    })
}
