//! What a step's outcome makes of the record. An outcome that does not fit its step is treated as unknown.

mod acts;

use super::{begin::has, record::Draft, steps};
use crate::{
    action::{Done, Failed, IrreversibleOp, Op, Outcome, ReversibleOp},
    api::{
        OUT_OF_SERVICE,
        fence::{DrainReport, NodeFenceStatus, Phase},
    },
    facts::Taint,
    method::BuiltIn,
};

pub(super) fn apply_outcome(draft: Draft, op: &Op, outcome: &Outcome) -> Draft {
    match op {
        Op::Reversible(op) => reversible(draft, op, outcome),
        Op::Irreversible(op) => irreversible(draft, op, outcome),
    }
}

fn reversible(draft: Draft, op: &ReversibleOp, outcome: &Outcome) -> Draft {
    match op {
        ReversibleOp::Taint(taint) => tainted(draft, taint, outcome),
        ReversibleOp::Untaint(taint) => untainted(draft, taint, outcome),
        ReversibleOp::Cordon => cordoned(draft, outcome),
        ReversibleOp::Uncordon => uncordoned(draft, outcome),
        ReversibleOp::Methods(names) => methods(draft, names, outcome),
        ReversibleOp::ForgetRelease => forgotten(draft, outcome),
        ReversibleOp::Drain(_) => drained(draft, outcome),
        ReversibleOp::ReadPower { .. } => acts::power_read(draft, outcome),
    }
}

fn irreversible(draft: Draft, op: &IrreversibleOp, outcome: &Outcome) -> Draft {
    match op {
        IrreversibleOp::PowerOff => acts::powered_off(draft, outcome),
        IrreversibleOp::PowerOn => acts::powered_on(draft, outcome),
        IrreversibleOp::Release { .. } => acts::released(draft, outcome),
        IrreversibleOp::Reap => acts::reaped(draft, outcome),
    }
}

/// For people: what went wrong.
fn describe(outcome: &Outcome) -> String {
    match outcome {
        Ok(done) => format!("an answer that fits nothing: {done:?}"),
        Err(Failed::Gone(what)) => format!("gone: {what}"),
        Err(Failed::NotBegun(why)) => format!("not begun: {why}"),
        Err(Failed::Refused(why)) => format!("refused: {why}"),
        Err(Failed::InDoubt(why)) => format!("in doubt: {why}"),
        Err(Failed::Timeout(after)) => format!("no end within {} s", after.as_secs()),
    }
}

/// Tried again after a while, in the same phase: what can be repeated at will.
fn again(draft: Draft, reason: &str, outcome: &Outcome) -> Draft {
    draft.failed().warn(reason, describe(outcome))
}

fn succeeded(draft: Draft) -> Draft {
    draft.with(|status| {
        status.failures = 0;
        status.last_failure = None;
    })
}

fn tainted(draft: Draft, taint: &Taint, outcome: &Outcome) -> Draft {
    let ours = match outcome {
        Ok(Done::Yes) => true,
        Ok(Done::NotOurs) => false,
        _ => return again(draft, "TaintFailed", outcome),
    };
    let draft = succeeded(draft).with(|status| own(status, taint, ours));
    let text = if ours { "is set" } else { "was there before, set by another client" };
    advance(draft.note("Tainted", format!("taint {} {text}", taint.key)), Phase::Isolating)
}

fn own(status: &mut NodeFenceStatus, taint: &Taint, ours: bool) {
    let taints = &mut status.own_changes.taints;
    if !ours {
        taints.retain(|other| other != taint);
    } else if !has(taints, taint) {
        taints.push(taint.clone());
    }
}

fn untainted(draft: Draft, taint: &Taint, outcome: &Outcome) -> Draft {
    let text = match outcome {
        Ok(Done::Yes) => "is gone",
        Ok(Done::NotOurs) => "is another client's by now, and stays",
        _ => return again(draft, "UntaintFailed", outcome),
    };
    let draft = succeeded(draft).with(|status| {
        status.own_changes.taints.retain(|other| other != taint);
        status.out_of_service &= taint.key != OUT_OF_SERVICE;
    });
    draft.note("Untainted", format!("taint {} {text}", taint.key))
}

fn cordoned(draft: Draft, outcome: &Outcome) -> Draft {
    let (ours, text) = match outcome {
        Ok(Done::Yes) => (true, "cordoned"),
        Ok(Done::NotOurs) => (false, "cordoned before, by another client"),
        _ => return again(draft, "CordonFailed", outcome),
    };
    let draft = succeeded(draft).with(|status| status.own_changes.cordon |= ours);
    advance(draft.note("Cordoned", text), Phase::Isolating)
}

fn uncordoned(draft: Draft, outcome: &Outcome) -> Draft {
    let text = match outcome {
        Ok(Done::Yes) => "our cordon is taken back",
        Ok(Done::NotOurs) => "no cordon of it is ours by now",
        _ => return again(draft, "UncordonFailed", outcome),
    };
    succeeded(draft).with(|status| status.own_changes.cordon = false).note("Uncordoned", text)
}

fn forgotten(draft: Draft, outcome: &Outcome) -> Draft {
    match outcome {
        Ok(Done::Yes | Done::NotOurs) => succeeded(draft).note("ReleaseForgotten", "a new boot has its storage"),
        _ => again(draft, "ReleaseNotForgotten", outcome),
    }
}

/// The isolation step's before power is touched, the recovery step's after.
fn methods(mut draft: Draft, names: &[String], outcome: &Outcome) -> Draft {
    if !matches!(outcome, Ok(Done::Yes | Done::NotOurs)) {
        return again(draft.with(|status| status.isolated = true), "MethodsFailed", outcome);
    }
    let isolated = draft.status().phase != Phase::Recovering;
    let draft = succeeded(draft).with(|status| status.isolated = isolated);
    draft.note("MethodsDone", done(names))
}

/// Pods are let go by the release alone, when Off is confirmed: `clean-pods` is nothing that was done.
fn done(names: &[String]) -> String {
    let ran = names.iter().filter(|name| BuiltIn::named(name) != Some(BuiltIn::CleanPods));
    ran.map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// A drain is not begun twice: whatever ended it without a report leaves it not done.
fn drained(draft: Draft, outcome: &Outcome) -> Draft {
    let report = match outcome {
        Ok(Done::Drain(report)) => report.clone(),
        Err(Failed::NotBegun(_) | Failed::Gone(_)) => return again(draft, "DrainNotBegun", outcome),
        _ => DrainReport { done: false, refused_evictions: vec![describe(outcome)], left: 0 },
    };
    let refused = (!report.done).then(|| format!("not done: {}", report.refused_evictions.join("; ")));
    let draft = succeeded(draft).with(|status| status.drain = Some(report));
    let draft = match refused {
        None => draft.note("Drained", "every pod is gone"),
        Some(refused) => draft.warn("EvictionsRefused", refused),
    };
    advance(draft, Phase::Draining)
}

/// On to the wait after this step or to the next one, if that is where the record stands. What cannot be read is left
/// to `next`, which blocks it.
fn advance(mut draft: Draft, phase: Phase) -> Draft {
    if draft.status().phase != phase {
        return draft;
    }
    let Ok(wait) = steps::then_wait(draft.fence()) else { return draft };
    let index = draft.status().policy_step + 1;
    let next = steps::at(draft.fence(), index).map(|step| step.map(|step| step.phase()));
    match next {
        Some(Ok(phase)) if wait.is_zero() => draft.enter_step(index, phase, "ended"),
        Some(Err(_)) if wait.is_zero() => draft,
        _ => draft.enter(Phase::Waiting, "is it well now?"),
    }
}
