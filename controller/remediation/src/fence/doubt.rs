//! The side phases: InDoubt, Failed, Quarantined.

use std::time::Duration;

use super::{
    Case, Next,
    begin::{back_off, enter_step},
    blockers::wait,
    power,
    record::{Draft, act},
    steps::{self, PolicyStep},
};
use crate::{
    action::ReversibleOp,
    api::{
        RETRY,
        fence::{Blocker, Phase},
    },
};

/// Tries of one act before a person has to look.
pub(super) const ATTEMPTS: u32 = 5;
/// Off is believed when it was read so often, one after the other.
pub(super) const READS: u32 = 2;
/// After the first failure; doubled with each.
const FIRST_DELAY: Duration = Duration::from_secs(5);
const LONGEST_DELAY: Duration = Duration::from_secs(300);

pub(super) fn delay(failures: u32) -> Duration {
    let doublings = failures.saturating_sub(1).min(6);
    (FIRST_DELAY * 2_u32.pow(doublings)).min(LONGEST_DELAY)
}

/// A question does no harm: it is asked until it is answered.
pub(super) fn in_doubt(case: &Case<'_>) -> Next {
    back_off(case).unwrap_or_else(|| act(case, ReversibleOp::ReadPower { times: READS }))
}

pub(super) fn failed(case: &Case<'_>) -> Next {
    let status = &case.fence.status;
    if status.failures >= ATTEMPTS {
        let message = format!("{ATTEMPTS} tries failed; look at the journal of this record, then at the machine");
        return Draft::of(case).quarantine(Blocker::new("Attempts", message)).save();
    }
    if let Some(next) = power::unconfirmed_taint(case).or_else(|| back_off(case)) {
        return next;
    }
    match steps::current(case.fence) {
        Some(Ok(PolicyStep::Power { .. } | PolicyStep::Reap { .. })) => {
            Draft::of(case).enter(Phase::Guarded, "tried again").save()
        }
        Some(Ok(PolicyStep::Taint(_) | PolicyStep::Cordon | PolicyStep::Drain(_)) | Err(_)) | None => {
            enter_step(case, status.policy_step, Draft::of(case), "tried again")
        }
    }
}

/// A person deletes the record, or asks for another try with a value that was not there before.
pub(super) fn quarantined(case: &Case<'_>) -> Next {
    let asked = case.fence.metadata.annotations.get(RETRY).filter(|value| !value.is_empty());
    let Some(value) = asked.filter(|value| **value != case.fence.status.retried) else {
        let blockers = case.fence.status.blocked_by.clone().into_iter().collect();
        return wait_as_stored(blockers);
    };
    let draft = Draft::of(case).with(|status| {
        status.retried.clone_from(value);
        status.failures = 0;
        status.restarts = 0;
        status.tried = None;
    });
    let by = case.fence.metadata.asked_by();
    draft.enter(Phase::InDoubt, format!("a person asked for another try: {value}; {by}")).save()
}

fn wait_as_stored(blockers: Vec<Blocker>) -> Next {
    Next::Wait { until: None, blockers }
}

/// What stays as it is until a person comes.
pub(super) fn blocked(case: &Case<'_>, reason: &str, message: &str) -> Next {
    wait(case, vec![Blocker::new(reason, message)], None)
}
