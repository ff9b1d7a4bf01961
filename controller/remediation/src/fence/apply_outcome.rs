//! What a step's outcome makes of the record. An outcome that does not fit its step is treated as unknown.

mod irreversible;

use super::{begin::has, record::Draft, steps};
use crate::{
    action::{Done, Failed, IrreversibleOp, Op, Outcome, ReversibleOp},
    api::{
        OUT_OF_SERVICE,
        fence::{DrainReport, NodeFenceStatus, Phase},
    },
    facts::Taint,
    message::Message,
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
        ReversibleOp::ReadPower { .. } => irreversible::power_read(draft, outcome),
    }
}

fn irreversible(draft: Draft, op: &IrreversibleOp, outcome: &Outcome) -> Draft {
    match op {
        IrreversibleOp::PowerOff => irreversible::powered_off(draft, outcome),
        IrreversibleOp::PowerOn => irreversible::powered_on(draft, outcome),
        IrreversibleOp::Release { .. } => irreversible::released(draft, outcome),
        IrreversibleOp::Reap => irreversible::reaped(draft, outcome),
    }
}

/// For people: what went wrong.
fn describe(outcome: &Outcome) -> String {
    match outcome {
        Ok(done) => format!("an answer that fits nothing: {done:?}"),
        Err(failed) => failed.to_string(),
    }
}

/// The message of `key`, with what went wrong.
fn because(key: &str, outcome: &Outcome) -> Message {
    Message::of(key, &[("why", &describe(outcome))])
}

/// Tried again after a while, in the same phase: what can be repeated at will.
fn retry_later(draft: Draft, key: &str, outcome: &Outcome) -> Draft {
    draft.failed().warn(because(key, outcome))
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
        _ => return retry_later(draft, "TaintFailed", outcome),
    };
    let draft = succeeded(draft).with(|status| own(status, taint, ours));
    let key = if ours { "Tainted" } else { "Tainted/before" };
    advance(draft.note(Message::of(key, &[("taint", &taint.key)])), Phase::Isolating)
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
    let key = match outcome {
        Ok(Done::Yes) => "Untainted",
        Ok(Done::NotOurs) => "Untainted/foreign",
        _ => return retry_later(draft, "UntaintFailed", outcome),
    };
    let draft = succeeded(draft).with(|status| {
        status.own_changes.taints.retain(|other| other != taint);
        status.out_of_service &= taint.key != OUT_OF_SERVICE;
    });
    draft.note(Message::of(key, &[("taint", &taint.key)]))
}

fn cordoned(draft: Draft, outcome: &Outcome) -> Draft {
    let (ours, key) = match outcome {
        Ok(Done::Yes) => (true, "Cordoned"),
        Ok(Done::NotOurs) => (false, "Cordoned/before"),
        _ => return retry_later(draft, "CordonFailed", outcome),
    };
    let draft = succeeded(draft).with(|status| status.own_changes.cordon |= ours);
    advance(draft.note(Message::plain(key)), Phase::Isolating)
}

fn uncordoned(draft: Draft, outcome: &Outcome) -> Draft {
    let key = match outcome {
        Ok(Done::Yes) => "Uncordoned",
        Ok(Done::NotOurs) => "Uncordoned/foreign",
        _ => return retry_later(draft, "UncordonFailed", outcome),
    };
    succeeded(draft).with(|status| status.own_changes.cordon = false).note(Message::plain(key))
}

fn forgotten(draft: Draft, outcome: &Outcome) -> Draft {
    match outcome {
        Ok(Done::Yes | Done::NotOurs) => succeeded(draft).note(Message::plain("ReleaseForgotten")),
        _ => retry_later(draft, "ReleaseNotForgotten", outcome),
    }
}

/// The isolation step's before power is touched, the recovery step's after.
fn methods(mut draft: Draft, names: &[String], outcome: &Outcome) -> Draft {
    if !matches!(outcome, Ok(Done::Yes | Done::NotOurs)) {
        return retry_later(draft.with(|status| status.isolated = true), "MethodsFailed", outcome);
    }
    let isolated = draft.status().phase != Phase::Recovering;
    let draft = succeeded(draft).with(|status| status.isolated = isolated);
    draft.note(Message::of("MethodsDone", &[("methods", &done(names))]))
}

/// The methods that ran. `clean-pods` is none: only the release deletes pods, once Off is confirmed.
fn done(names: &[String]) -> String {
    let ran = names.iter().filter(|name| BuiltIn::named(name) != Some(BuiltIn::CleanPods));
    ran.map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// A drain is not begun twice: whatever ended it without a report leaves it not done.
fn drained(draft: Draft, outcome: &Outcome) -> Draft {
    let report = match outcome {
        Ok(Done::Drain(report)) => report.clone(),
        Err(Failed::NotBegun(_) | Failed::Gone(_)) => return retry_later(draft, "DrainNotBegun", outcome),
        _ => DrainReport { done: false, refused_evictions: vec![describe(outcome)], left: 0 },
    };
    let message = match report.done {
        true => Message::plain("Drained"),
        false => Message::of("EvictionsRefused", &[("pods", &report.refused_evictions.join("; "))]),
    };
    let is_done = report.done;
    let draft = succeeded(draft).with(|status| status.drain = Some(report));
    advance(if is_done { draft.note(message) } else { draft.warn(message) }, Phase::Draining)
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
        Some(Ok(phase)) if wait.is_zero() => draft.enter_step(index, phase, Message::plain("FencePhase/ended")),
        Some(Err(_)) if wait.is_zero() => draft,
        _ => draft.enter(Phase::Waiting, Message::plain("FenceWaiting/ended")),
    }
}
