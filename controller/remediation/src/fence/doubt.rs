//! The side phases: InDoubt, Failed, Quarantined.

use std::time::Duration;

use nodewell_time::doubled;

use super::{
    FenceInput, Next,
    begin::{back_off, enter_step},
    blockers::wait,
    levels, power,
    record::{Draft, perform},
    steps::{self, PolicyStep},
};
use crate::{
    action::ReversibleOp,
    api::{
        RETRY,
        fence::{Blocker, Phase},
    },
    message::Message,
};

/// Tries of one act before a person has to look.
pub(super) const ATTEMPTS: u32 = 5;
/// Off is believed when it was read so often, one after the other.
pub(super) const READS: u32 = 2;
/// After the first failure; doubled with each.
const FIRST_DELAY: Duration = Duration::from_secs(5);
const LONGEST_DELAY: Duration = Duration::from_secs(300);

pub(super) fn delay(failures: u32) -> Duration {
    doubled(FIRST_DELAY, failures.saturating_sub(1), LONGEST_DELAY)
}

/// Reading the power state does no harm: it is repeated until there is an answer.
pub(super) fn in_doubt(input: &FenceInput<'_>) -> Next {
    let next = levels::instead_of_silent(input).or_else(|| back_off(input));
    next.unwrap_or_else(|| perform(input, ReversibleOp::ReadPower { times: READS }))
}

pub(super) fn failed(input: &FenceInput<'_>) -> Next {
    let status = &input.fence.status;
    if let Some(next) = levels::instead_of_failed(input) {
        return next;
    }
    if status.failures >= ATTEMPTS || levels::are_exhausted(input) {
        let attempts = status.failed_levels.len().max(ATTEMPTS as usize);
        return Draft::of(input).quarantine(Blocker::of("Attempts", &[("attempts", &attempts)])).save();
    }
    if let Some(next) = power::unconfirmed_taint(input).or_else(|| back_off(input)) {
        return next;
    }
    match steps::current(input.fence) {
        Some(Ok(PolicyStep::Power { .. } | PolicyStep::Reap { .. })) => {
            Draft::of(input).enter(Phase::AwaitGuards, Message::plain("FenceAwaitGuards/retried")).save()
        }
        Some(Ok(PolicyStep::Taint(_) | PolicyStep::Cordon | PolicyStep::Drain(_)) | Err(_)) | None => {
            enter_step(input, status.policy_step, Draft::of(input), Message::plain("FencePhase/retried"))
        }
    }
}

/// A person deletes the record, or asks for another try with a value that was not there before.
pub(super) fn quarantined(input: &FenceInput<'_>) -> Next {
    let asked = input.fence.metadata.annotations.get(RETRY).filter(|value| !value.is_empty());
    let Some(value) = asked.filter(|value| **value != input.fence.status.observed_retry) else {
        return wait_as_stored(input.fence.status.blocked_by.clone());
    };
    let draft = Draft::of(input).with(|status| {
        status.observed_retry.clone_from(value);
        status.failures = 0;
        status.failed_levels.clear();
        status.step_rounds = 0;
        status.last_failure = None;
    });
    let by = input.fence.metadata.asked_by();
    draft.enter(Phase::InDoubt, Message::of("FenceInDoubt/retry", &[("value", value), ("by", &by)])).save()
}

fn wait_as_stored(blockers: Vec<Blocker>) -> Next {
    Next::Wait { until: None, blockers }
}

/// Waits until a person does something.
pub(super) fn wait_for_person(input: &FenceInput<'_>, key: &str) -> Next {
    wait(input, vec![Blocker::plain(key)], None)
}
