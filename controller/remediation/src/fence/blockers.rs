//! What blocks a record: which of the guards' reasons forbid what, and how a blocker gets into the record.

use std::time::Duration;

use jiff::Timestamp;

use super::{FenceInput, Next, attached, record::Draft};
use crate::{
    api::fence::{Blocker, NodeFenceStatus},
    guard::reason::{
        ATTACHMENTS_LEFT, ATTACHMENTS_STUCK, ATTACHMENTS_UNKNOWN, AWAITING_READY, CACHE_NOT_SYNCED, CLAIMED_BY_PEER,
        CONTROLLER_ISOLATED, DRY_RUN, FENCE_NOT_READY, KILL_SWITCH, NODE_READY, NOT_LEADING, OBSERVE, POD_RATE,
        PODS_UNKNOWN, PREDICATE_FALSE, REMEDIATION_SKIPPED, WITHIN_GRACE_PERIOD,
    },
    message::Message,
    time::Moment,
};

/// Forbid to write the record: this controller does not lead, must not act, or does not know enough.
const BLOCKS_WRITING: [&str; 3] = [NOT_LEADING, DRY_RUN, CACHE_NOT_SYNCED];

/// Forbid to turn power on again. Budgets, storms and the like do not: a node that is off is no help.
const BLOCKS_POWER_ON: [&str; 6] =
    [NOT_LEADING, DRY_RUN, CACHE_NOT_SYNCED, KILL_SWITCH, REMEDIATION_SKIPPED, CLAIMED_BY_PEER];

/// Forbid to take a taint or a cordon back.
const BLOCKS_TAKING_BACK: [&str; 5] = [NOT_LEADING, DRY_RUN, CACHE_NOT_SYNCED, KILL_SWITCH, REMEDIATION_SKIPPED];

/// Also forbid to release the pods of a node that is off: the node is lost already, whatever budgets say.
const BLOCKS_RELEASE: [&str; 4] = [POD_RATE, PODS_UNKNOWN, OBSERVE, CONTROLLER_ISOLATED];

pub(super) fn to_write(input: &FenceInput<'_>) -> Vec<Blocker> {
    let mut blockers = among(input, &BLOCKS_WRITING);
    if input.epoch == 0 && blockers.is_empty() {
        blockers.push(Blocker::plain(NOT_LEADING));
    }
    blockers
}

pub(super) fn to_power_on(input: &FenceInput<'_>) -> Vec<Blocker> {
    among(input, &BLOCKS_POWER_ON)
}

pub(super) fn to_take_back(input: &FenceInput<'_>) -> Vec<Blocker> {
    among(input, &BLOCKS_TAKING_BACK)
}

pub(super) fn to_release(input: &FenceInput<'_>) -> Vec<Blocker> {
    let mut blockers = to_power_on(input);
    blockers.extend(
        input.guard_blockers.power.iter().filter(|blocker| BLOCKS_RELEASE.contains(&blocker.reason.as_str())).cloned(),
    );
    blockers
}

fn among(input: &FenceInput<'_>, reasons: &[&str]) -> Vec<Blocker> {
    let guard_blockers = input.guard_blockers;
    let all = guard_blockers.isolate.iter().chain(&guard_blockers.drain).chain(&guard_blockers.power);
    let mut blockers: Vec<Blocker> =
        all.filter(|blocker| reasons.contains(&blocker.reason.as_str())).cloned().collect();
    blockers.sort();
    blockers.dedup_by(|a, b| a.reason == b.reason);
    blockers
}

/// These end by time alone, or by what is read again.
const END_BY_THEMSELVES: [&str; 8] = [
    WITHIN_GRACE_PERIOD,
    NODE_READY,
    PREDICATE_FALSE,
    AWAITING_READY,
    ATTACHMENTS_UNKNOWN,
    ATTACHMENTS_LEFT,
    ATTACHMENTS_STUCK,
    PODS_UNKNOWN,
];

/// The most blockers in a record; its schema takes no more.
const MAX_BLOCKERS: usize = 64;
/// A phase begins with what is read again: within this time that is neither written nor reported.
const SETTLES_WITHIN: Duration = Duration::from_secs(5);
/// Numbers in messages are that old at most.
const REFRESH: Duration = Duration::from_secs(60);
/// Other messages are: a person is mending what they report.
const REFRESH_CHANGED: Duration = Duration::from_secs(10);

/// Waits. The blockers go into the record, and are reported, when their reasons change. For other text in their
/// messages they are only written again, and for other numbers not more often than once a minute.
pub(super) fn wait(input: &FenceInput<'_>, mut blockers: Vec<Blocker>, until: Option<Duration>) -> Next {
    attached::report(input, &mut blockers);
    let mut blockers = in_order(blockers);
    blockers.truncate(MAX_BLOCKERS);
    let timed = blockers
        .iter()
        .any(|blocker| END_BY_THEMSELVES.contains(&blocker.reason.as_str()))
        .then_some(Duration::from_secs(1));
    let until = until.into_iter().chain(timed).min().map(|span| input.now.moment.plus(span));
    if let Some(settled) = settles_at(input, &blockers) {
        return Next::Wait { until: until.into_iter().chain([settled]).min(), blockers };
    }
    let (stored, now) = (&input.fence.status, input.now.wall);
    if reasons(&stored.blocked_by) == reasons(&blockers) {
        let is_old = is_old(stored, &blockers, now);
        return if is_old { blocked(Draft::of(input), blockers).save() } else { Next::Wait { until, blockers } };
    }
    let draft = match blockers.is_empty() {
        false => Draft::of(input).warn(Message::of("Blocked/record", &[("blockers", &Blocker::listed(&blockers))])),
        true => Draft::of(input).note(Message::plain("Unblocked")),
    };
    blocked(draft, blockers).save()
}

/// Each once, for guards and evidence may see the same. `kubectl get nodefences` shows the first alone: after a drain that
/// left pods it is what holds them, and not that the node lives, which no person would change.
fn in_order(all: Vec<Blocker>) -> Vec<Blocker> {
    let mut blockers: Vec<Blocker> = Vec::with_capacity(all.len());
    for blocker in all {
        if !blockers.contains(&blocker) {
            blockers.push(blocker);
        }
    }
    if blockers.iter().any(|blocker| blocker.reason == "DrainIncomplete") {
        blockers.sort_by_key(|blocker| blocker.reason == NODE_READY);
    }
    blockers
}

/// Nothing blocked it before, the phase has just begun, and all that blocks it now ends by itself, most likely in a moment.
fn settles_at(input: &FenceInput<'_>, blockers: &[Blocker]) -> Option<Moment> {
    let ends =
        |blocker: &Blocker| END_BY_THEMSELVES.contains(&blocker.reason.as_str()) || blocker.reason == FENCE_NOT_READY;
    let settled = input.entered.plus(SETTLES_WITHIN);
    let is_new = input.fence.status.blocked_by.is_empty() && input.now.moment < settled;
    (is_new && !blockers.is_empty() && blockers.iter().all(ends)).then_some(settled)
}

fn blocked(draft: Draft, blockers: Vec<Blocker>) -> Draft {
    let at = draft.at();
    draft.with(|status| {
        status.blocked_at = (!blockers.is_empty()).then_some(at);
        status.blocked_by = blockers;
    })
}

fn is_old(status: &NodeFenceStatus, blockers: &[Blocker], now: Timestamp) -> bool {
    if status.blocked_by == blockers {
        return false;
    }
    let age = status.blocked_at.map(|at| Duration::try_from(now.duration_since(at)).unwrap_or_default());
    let only_numbers = without_digits(&status.blocked_by) == without_digits(blockers);
    age.is_none_or(|age| age >= if only_numbers { REFRESH } else { REFRESH_CHANGED })
}

fn without_digits(blockers: &[Blocker]) -> Vec<String> {
    blockers.iter().map(|blocker| blocker.message.replace(|letter: char| letter.is_ascii_digit(), "")).collect()
}

/// Waits for nothing that a person could mend.
pub(super) fn wait_until(input: &FenceInput<'_>, until: Moment) -> Next {
    wait(input, Vec::new(), Some(until.since(input.now.moment)))
}

fn reasons(blockers: &[Blocker]) -> Vec<&str> {
    let mut reasons: Vec<&str> = blockers.iter().map(|blocker| blocker.reason.as_str()).collect();
    reasons.sort_unstable();
    reasons
}
