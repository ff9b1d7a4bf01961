//! What the outcome of an irreversible operation makes of the record, and of the reading of the power after it.

use super::{because, describe, retry_later, succeeded};
use crate::{
    action::{Done, Failed, Outcome},
    api::fence::{Blocker, Confirmation, IntendedOp, NodeFenceStatus, Phase},
    fence::{doubt::READS, left_off::is_left_off, record::Draft},
    message::{Message, MessageArgs},
    snapshot::PowerState,
};

pub(super) fn powered_off(draft: Draft, outcome: &Outcome) -> Draft {
    match outcome {
        Ok(Done::Off(confirmation)) if confirmation.reads >= READS => confirmed(draft, confirmation.clone()),
        Ok(Done::Booted) => {
            succeeded(draft).settle().with(not_off).enter(Phase::AwaitReady, Message::plain("FenceAwaitReady/again"))
        }
        Err(Failed::NotBegun(_) | Failed::Gone(_)) => not_begun(draft, outcome),
        _ => doubted(draft.count_intended(), outcome),
    }
}

/// The boot that ended is the one the record knows, whatever the Node reports by now.
fn confirmed(draft: Draft, confirmation: Confirmation) -> Draft {
    let args: MessageArgs<'_> = &[("reads", &confirmation.reads), ("methods", &confirmation.by.join(", "))];
    let message = Message::of("FenceOffConfirmed", args);
    let draft = succeeded(draft).settle().with(|status| {
        status.off = Some(Confirmation { boot_id: status.boot_id.clone(), epoch: status.epoch, ..confirmation });
        status.out_of_service = false;
    });
    draft.enter(Phase::OffConfirmed, message)
}

/// Certainly nothing was done: everything is asked again.
fn not_begun(draft: Draft, outcome: &Outcome) -> Draft {
    let draft = draft.forget_intent();
    let blocker = Blocker::of("NotBegun", &[("why", &describe(outcome))]);
    draft
        .enter(Phase::AwaitGuards, because("FenceAwaitGuards/notBegun", outcome))
        .with(|status| status.blocked_by = vec![blocker])
}

fn doubted(draft: Draft, outcome: &Outcome) -> Draft {
    draft.failed().enter(Phase::InDoubt, because("FenceInDoubt/outcome", outcome))
}

/// Whatever failed, the BMC is asked for the power's state before power on is intended again: there is one power on for each
/// reading of Off.
pub(super) fn powered_on(draft: Draft, outcome: &Outcome) -> Draft {
    match outcome {
        Ok(Done::Yes) => succeeded(draft).settle().enter(Phase::AwaitReady, Message::plain("FenceAwaitReady")),
        Err(Failed::NotBegun(_)) => draft.enter(Phase::InDoubt, because("FenceInDoubt/outcome", outcome)),
        _ => doubted(draft, outcome),
    }
}

pub(super) fn released(mut draft: Draft, outcome: &Outcome) -> Draft {
    match outcome {
        Ok(Done::Released(count)) => {
            let left_off = is_left_off(draft.fence());
            let at = draft.at();
            let status = draft.status();
            status.intent = None;
            status.released_at = Some(at);
            status.out_of_service = status.storage_only.is_none();
            status.failed_levels.clear();
            status.released = status.released.saturating_add(*count);
            let draft = succeeded(draft);
            match left_off {
                true => draft.note(Message::of("Released", &[("count", count)])),
                // Aborted while its pods were released, maybe at the limit of its power cycles.
                false => {
                    let message = Message::of("FencePoweringOn", &[("count", count)]);
                    draft.count_order().enter(Phase::PoweringOn, message)
                }
            }
        }
        // Certainly the Node was not tainted: Off is read again, and everything is asked again.
        Err(Failed::NotBegun(_)) => {
            draft.forget_intent().failed().enter(Phase::OffConfirmed, because("FenceOffConfirmed/notReleased", outcome))
        }
        _ => doubted(draft, outcome),
    }
}

pub(super) fn reaped(draft: Draft, outcome: &Outcome) -> Draft {
    match outcome {
        Ok(Done::Yes) => succeeded(draft).settle().enter(Phase::Waiting, Message::plain("FenceWaiting/reaped")),
        Err(Failed::NotBegun(_) | Failed::Gone(_)) => not_begun(draft, outcome),
        _ => doubted(draft, outcome),
    }
}

pub(super) fn power_read(mut draft: Draft, outcome: &Outcome) -> Draft {
    let state = match outcome {
        Ok(Done::Power(states)) => agreed(states),
        _ => PowerState::Unknown,
    };
    match draft.status().phase {
        Phase::OffConfirmed => read_again(draft, state, outcome),
        Phase::InDoubt => resolved(draft, state, outcome),
        _ => draft.note(with_state("PowerRead", state)),
    }
}

/// Off only if it was read often enough and nothing else was read; On as soon as it was read once.
fn agreed(states: &[PowerState]) -> PowerState {
    let enough = states.len() >= usize::try_from(READS).unwrap_or(usize::MAX);
    if states.contains(&PowerState::On) {
        PowerState::On
    } else if enough && states.iter().all(|state| *state == PowerState::Off) {
        PowerState::Off
    } else {
        PowerState::Unknown
    }
}

/// Off is confirmed already, and is read once more before the release.
fn read_again(draft: Draft, state: PowerState, outcome: &Outcome) -> Draft {
    match state {
        PowerState::Off => succeeded(draft).still_off().note(Message::plain("OffAgain")),
        PowerState::On => draft.with(not_off).enter(Phase::AwaitGuards, Message::plain("FenceAwaitGuards/on")),
        PowerState::Unknown => retry_later(draft, "PowerUnknown", outcome),
    }
}

/// What was in doubt, and what its BMC reports now.
fn resolved(mut draft: Draft, state: PowerState, outcome: &Outcome) -> Draft {
    let status = draft.status();
    let op = status.intent.as_ref().map(|intent| intent.op);
    // A storage whose record was deleted was cut by that one.
    let was_off = status.off.is_some() || status.storage_only.is_some() && status.release_begun;
    match (op, state) {
        (Some(IntendedOp::Reap), _) => draft.settle().enter(Phase::Failed, with_state("FenceFailed/reap", state)),
        (_, PowerState::Unknown) => retry_later(draft, "PowerUnknown", outcome),
        (Some(IntendedOp::PowerOn), PowerState::On) => {
            succeeded(draft).settle().enter(Phase::AwaitReady, Message::plain("FenceAwaitReady"))
        }
        (Some(IntendedOp::PowerOn), PowerState::Off) if was_off => {
            draft.settle().still_off().enter(Phase::PoweringOn, Message::plain("FencePoweringOn/still"))
        }
        (Some(IntendedOp::PowerOff), PowerState::Off) => found_off(draft),
        (_, PowerState::Off) if was_off => {
            draft.settle().still_off().enter(Phase::OffConfirmed, Message::plain("FenceOffConfirmed/still"))
        }
        (Some(IntendedOp::PowerOff), PowerState::On) => disobeyed(draft),
        (Some(IntendedOp::Release) | None, PowerState::On)
        | (Some(IntendedOp::PowerOn | IntendedOp::Release) | None, PowerState::Off) => {
            draft.settle().with(not_off).enter(Phase::Failed, with_state("FenceFailed/state", state))
        }
    }
}

/// Its level was ordered to turn it off, and did not: another one is tried first.
fn disobeyed(draft: Draft) -> Draft {
    let draft = draft.settle().with(not_off).with(|status| status.failed_levels.push(status.level));
    draft.enter(Phase::Failed, with_state("FenceFailed/state", PowerState::On))
}

fn with_state(key: &str, state: PowerState) -> Message {
    Message::of(key, &[("state", &format!("{state:?}"))])
}

/// The power was cut although its outcome was never reported.
fn found_off(mut draft: Draft) -> Draft {
    let since = draft.at();
    let status = draft.status();
    let confirmation = Confirmation {
        at: since,
        reads: READS,
        by: vec!["status after an act in doubt".into()],
        boot_id: status.boot_id.clone(),
        already_off: false,
        epoch: status.epoch,
    };
    confirmed(draft, confirmation)
}

fn not_off(status: &mut NodeFenceStatus) {
    status.off = None;
    status.out_of_service = false;
}
