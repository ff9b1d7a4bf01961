//! What holds a record where it is: which of the guards' words forbid what, and how a hold gets into the record.

use std::time::Duration;

use super::{Case, Next, record::Draft};
use crate::{
    api::fence::{Hold, NodeFenceStatus},
    time::Moment,
};

/// Not a word is written: this controller does not lead, must not act, or does not know enough to say anything.
const STANDSTILL: [&str; 3] = ["NotLeading", "DryRun", "NotInformed"];

/// What also forbids to take back what was done. Budgets, storms and the like do not: a node that is off is no help.
const ABSOLUTE: [&str; 9] = [
    "NotLeading",
    "DryRun",
    "NotInformed",
    "KillSwitch",
    "NodeHeld",
    "ClaimedByPeer",
    "NoMethods",
    "FenceNotReady",
    "IdentityUnproven",
];

/// What forbids to take a taint or a cordon back.
const UNDOING: [&str; 5] = ["NotLeading", "DryRun", "NotInformed", "KillSwitch", "NodeHeld"];

/// What forbids to release the pods of a node that is off: the node is lost already, whatever budgets say.
const RELEASE: [&str; 3] = ["PodRate", "Observe", "SelfSuspicion"];

pub(super) fn standstill(case: &Case<'_>) -> Vec<Hold> {
    let mut holds = among(case, &STANDSTILL);
    if case.epoch == 0 && holds.is_empty() {
        holds.push(Hold::new("NotLeading", "another controller leads; ask that one"));
    }
    holds
}

/// For power on: only what forbids everything.
pub(super) fn absolute(case: &Case<'_>) -> Vec<Hold> {
    among(case, &ABSOLUTE)
}

pub(super) fn undoing(case: &Case<'_>) -> Vec<Hold> {
    among(case, &UNDOING)
}

pub(super) fn release(case: &Case<'_>) -> Vec<Hold> {
    let mut holds = absolute(case);
    holds.extend(case.permits.power.iter().filter(|hold| RELEASE.contains(&hold.reason.as_str())).cloned());
    holds
}

fn among(case: &Case<'_>, reasons: &[&str]) -> Vec<Hold> {
    let permits = case.permits;
    let all = permits.isolate.iter().chain(&permits.drain).chain(&permits.power);
    let mut holds: Vec<Hold> = all.filter(|hold| reasons.contains(&hold.reason.as_str())).cloned().collect();
    holds.sort();
    holds.dedup_by(|a, b| a.reason == b.reason);
    holds
}

/// These end by time alone, or by what is read again.
const TIMED: [&str; 6] =
    ["EvidenceTooYoung", "NodeReady", "AwaitingReady", "AttachmentsUnknown", "AttachmentsLeft", "PodsUnknown"];

/// Waits. The holds go into the record only when their reasons change, not with every number in their messages.
pub(super) fn wait(case: &Case<'_>, holds: Vec<Hold>, until: Option<Duration>) -> Next {
    let timed = holds.iter().any(|hold| TIMED.contains(&hold.reason.as_str())).then_some(Duration::from_secs(1));
    let until = until.or(timed).map(|span| case.now.moment.plus(span));
    let written = joined(&holds);
    if reasons(case.fence.status.hold.as_ref()) == reasons(written.as_ref()) {
        return Next::Wait { until, holds };
    }
    let draft = match &written {
        Some(hold) => Draft::of(case).warn("Held", hold.message.clone()),
        None => Draft::of(case).note("HeldNoMore", "what held before holds no more"),
    };
    draft.with(|status: &mut NodeFenceStatus| status.hold = written).save()
}

/// Waits for nothing that anybody could mend.
pub(super) fn pause(case: &Case<'_>, until: Moment) -> Next {
    wait(case, Vec::new(), Some(until.since(case.now.moment)))
}

/// Several holds in the one place of the record: the first one's reason, a line for each.
fn joined(holds: &[Hold]) -> Option<Hold> {
    let first = holds.first()?;
    let lines: Vec<String> = holds.iter().map(|hold| format!("{}: {}", hold.reason, hold.message)).collect();
    Some(Hold::new(&first.reason, lines.join("\n")))
}

fn reasons(hold: Option<&Hold>) -> Vec<&str> {
    let Some(hold) = hold else { return Vec::new() };
    let mut reasons: Vec<&str> =
        hold.message.lines().filter_map(|line| line.split_once(": ")).map(|(reason, _)| reason).collect();
    reasons.sort_unstable();
    reasons
}
