//! What blocks a record: which of the guards' reasons forbid what, and how a blocker gets into the record.

use std::time::Duration;

use jiff::Timestamp;

use super::{FenceInput, Next, record::Draft};
use crate::{
    api::fence::{Blocker, NodeFenceStatus},
    guard::reason::{
        ATTACHMENTS_LEFT, ATTACHMENTS_UNKNOWN, AWAITING_READY, CACHE_NOT_SYNCED, CLAIMED_BY_PEER, CONTROLLER_ISOLATED,
        DRY_RUN, KILL_SWITCH, NODE_READY, NOT_LEADING, OBSERVE, POD_RATE, PODS_UNKNOWN, PREDICATE_FALSE,
        REMEDIATION_SKIPPED, WITHIN_GRACE_PERIOD,
    },
    time::Moment,
};

/// Nothing is written: this controller does not lead, must not act, or does not know enough to report anything.
const STANDSTILL: [&str; 3] = [NOT_LEADING, DRY_RUN, CACHE_NOT_SYNCED];

/// What also forbids to take back what was done. Budgets, storms and the like do not: a node that is off is no help.
const ABSOLUTE: [&str; 6] = [NOT_LEADING, DRY_RUN, CACHE_NOT_SYNCED, KILL_SWITCH, REMEDIATION_SKIPPED, CLAIMED_BY_PEER];

/// What forbids to take a taint or a cordon back.
const UNDOING: [&str; 5] = [NOT_LEADING, DRY_RUN, CACHE_NOT_SYNCED, KILL_SWITCH, REMEDIATION_SKIPPED];

/// What forbids to release the pods of a node that is off: the node is lost already, whatever budgets say.
const RELEASE: [&str; 4] = [POD_RATE, PODS_UNKNOWN, OBSERVE, CONTROLLER_ISOLATED];

pub(super) fn standstill(input: &FenceInput<'_>) -> Vec<Blocker> {
    let mut blockers = among(input, &STANDSTILL);
    if input.epoch == 0 && blockers.is_empty() {
        blockers.push(Blocker::new(NOT_LEADING, "another controller leads; ask that one"));
    }
    blockers
}

/// For power on: only what forbids everything.
pub(super) fn absolute(input: &FenceInput<'_>) -> Vec<Blocker> {
    among(input, &ABSOLUTE)
}

pub(super) fn undoing(input: &FenceInput<'_>) -> Vec<Blocker> {
    among(input, &UNDOING)
}

pub(super) fn release(input: &FenceInput<'_>) -> Vec<Blocker> {
    let mut blockers = absolute(input);
    blockers.extend(
        input.guard_blockers.power.iter().filter(|blocker| RELEASE.contains(&blocker.reason.as_str())).cloned(),
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
const TIMED: [&str; 7] = [
    WITHIN_GRACE_PERIOD,
    NODE_READY,
    PREDICATE_FALSE,
    AWAITING_READY,
    ATTACHMENTS_UNKNOWN,
    ATTACHMENTS_LEFT,
    PODS_UNKNOWN,
];

/// Numbers in messages are that old at most.
const REFRESH: Duration = Duration::from_secs(60);
/// Other messages are: a person is mending what they report.
const REFRESH_CHANGED: Duration = Duration::from_secs(10);

/// Waits. The blockers go into the record, and are reported, when their reasons change. For other text in their
/// messages they are only written again, and for other numbers not more often than once a minute.
pub(super) fn wait(input: &FenceInput<'_>, blockers: Vec<Blocker>, until: Option<Duration>) -> Next {
    let timed =
        blockers.iter().any(|blocker| TIMED.contains(&blocker.reason.as_str())).then_some(Duration::from_secs(1));
    let until = until.or(timed).map(|span| input.now.moment.plus(span));
    let written = joined(&blockers);
    let now = input.now.wall;
    let blocker = |status: &mut NodeFenceStatus| {
        status.blocked_at = written.as_ref().map(|_| now);
        status.blocked_by.clone_from(&written);
    };
    if reasons(input.fence.status.blocked_by.as_ref()) == reasons(written.as_ref()) {
        let is_old = is_old(&input.fence.status, written.as_ref(), now);
        return if is_old { Draft::of(input).with(blocker).save() } else { Next::Wait { until, blockers } };
    }
    let draft = match &written {
        Some(blocker) => Draft::of(input).warn("Blocked", blocker.message.clone()),
        None => Draft::of(input).note("Unblocked", "nothing blocks it any more"),
    };
    draft.with(blocker).save()
}

fn is_old(status: &NodeFenceStatus, written: Option<&Blocker>, now: Timestamp) -> bool {
    let stored = status.blocked_by.as_ref().map(|blocker| blocker.message.as_str());
    let new = written.map(|blocker| blocker.message.as_str());
    if stored == new {
        return false;
    }
    let age = status.blocked_at.map(|at| Duration::try_from(now.duration_since(at)).unwrap_or_default());
    let without_digits = |text: Option<&str>| text.map(|text| text.replace(|letter: char| letter.is_ascii_digit(), ""));
    age.is_none_or(|age| age >= if without_digits(stored) == without_digits(new) { REFRESH } else { REFRESH_CHANGED })
}

/// Waits for nothing that a person could mend.
pub(super) fn wait_until(input: &FenceInput<'_>, until: Moment) -> Next {
    wait(input, Vec::new(), Some(until.since(input.now.moment)))
}

/// Several blockers in the record's one `blockedBy`: the first one's reason, a line for each.
fn joined(blockers: &[Blocker]) -> Option<Blocker> {
    let first = blockers.first()?;
    let lines: Vec<String> =
        blockers.iter().map(|blocker| format!("{}: {}", blocker.reason, blocker.message)).collect();
    Some(Blocker::new(&first.reason, lines.join("\n")))
}

fn reasons(blocker: Option<&Blocker>) -> Vec<&str> {
    let Some(blocker) = blocker else { return Vec::new() };
    let mut reasons: Vec<&str> =
        blocker.message.lines().filter_map(|line| line.split_once(": ")).map(|(reason, _)| reason).collect();
    reasons.sort_unstable();
    reasons
}
