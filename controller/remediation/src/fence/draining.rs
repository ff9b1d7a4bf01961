//! The phase Draining: the drain's beginning is stored before the first pod is evicted, and its time counts from there.

use std::time::Duration;

use super::{
    FenceInput, Next,
    begin::{back_off, enter_step, policy_blockers, step_done},
    blockers::wait,
    drain_again,
    interrupt::own_node,
    record::{Draft, perform},
    steps::{self, PolicyStep},
};
use crate::{
    action::ReversibleOp,
    api::fence::{Blocker, DrainReport},
    drain::{DrainRules, awaited},
    message::{Message, MessageArgs},
    policy::{Policy, Rate, duration::show},
};

pub(super) fn draining(input: &FenceInput<'_>) -> Next {
    let step = match steps::current(input.fence) {
        Some(Ok(PolicyStep::Drain(step))) => step,
        Some(Err(blocker)) => return wait(input, vec![blocker], None),
        Some(Ok(PolicyStep::Taint(_) | PolicyStep::Cordon | PolicyStep::Power { .. } | PolicyStep::Reap { .. }))
        | None => {
            return enter_step(
                input,
                input.fence.status.policy_step,
                Draft::of(input),
                Message::plain("FencePhase/changed"),
            );
        }
    };
    if input.fence.status.drain.is_some() {
        return step_done(input, Draft::of(input), "FencePhase/drainEnded");
    }
    if input.fence.status.drain_begun_at.is_none() && drain_again::is_too_late(input) {
        return ended(input, "the node is silent", "FencePhase/drainTooLate");
    }
    let mut blockers = policy_blockers(input);
    blockers.extend(input.guard_blockers.drain.iter().cloned());
    blockers.extend(uncordoned(input));
    if !blockers.is_empty() {
        return wait(input, blockers, None);
    }
    let rules = match steps::drain_rules(step) {
        Ok(rules) => rules,
        Err(blocker) => return wait(input, vec![blocker], None),
    };
    if input.fence.status.drain_begun_at.is_none() {
        return begin(input, &rules);
    }
    match remaining(input, rules) {
        Some(rules) => back_off(input).unwrap_or_else(|| perform(input, ReversibleOp::Drain(rules))),
        None => ended(input, "no time is left", "FencePhase/drainTimeOver"),
    }
}

/// A person has opened the node while its drain waited: it would fill again. One that is dead waits for no person.
fn uncordoned(input: &FenceInput<'_>) -> Option<Blocker> {
    let status = &input.fence.status;
    let waits = status.drain_begun_at.is_none() && !drain_again::is_known_dead(input);
    let is_open = status.own_changes.cordon && own_node(input).is_some_and(|node| !node.unschedulable);
    (is_open && waits).then(|| Blocker::plain("NotCordoned/uncordoned"))
}

/// Not done, whatever it evicted before.
fn ended(input: &FenceInput<'_>, why: &str, key: &str) -> Next {
    let report = DrainReport { done: false, refused_evictions: vec![why.into()], left: 0 };
    step_done(input, Draft::of(input).with(|status| status.drain = Some(report)), key)
}

/// Every guard allows it: from now on its time counts, and it is under way for the guards and for the next leader.
fn begin(input: &FenceInput<'_>, rules: &DrainRules) -> Next {
    let mut draft = Draft::of(input);
    if !input.fence.status.blocked_by.is_empty() {
        draft = draft.note(Message::plain("Unblocked"));
    }
    let at = draft.at();
    let draft = draft.with(|status| {
        status.drain_begun_at = Some(at);
        status.blocked_by.clear();
        status.blocked_at = None;
    });
    in_portions(input, rules, draft).save()
}

/// More pods than the rate lets go at once: the drain evicts as many in each window, and has the time for that. It is written
/// down before the first is evicted, so that no leader takes what is left for all there was.
fn in_portions(input: &FenceInput<'_>, rules: &DrainRules, draft: Draft) -> Draft {
    let Some((_, pods)) = &input.gathered.pods else { return draft };
    let (rate, go) = (pod_rate(input), awaited(rules, pods, input.now).len());
    let portions = u32::try_from(go.div_ceil(rate.count.max(1) as usize)).unwrap_or(1);
    if portions < 2 {
        return draft;
    }
    let args: MessageArgs<'_> =
        &[("pods", &go), ("portions", &portions), ("limit", &rate.count), ("window", &show(rate.window))];
    let draft = draft.note(Message::of("DrainInPortions", args));
    draft.with(|status| status.drain_portions = portions)
}

/// Of a policy that is gone the default, which is the careful one.
fn pod_rate(input: &FenceInput<'_>) -> Rate {
    input.policy.map_or_else(|| Policy::default().pods, |policy| policy.pods)
}

/// What is left of the drain's time since it was begun: the wall clock counts too, so that a new leader does not begin it
/// again.
fn remaining(input: &FenceInput<'_>, mut rules: DrainRules) -> Option<DrainRules> {
    let windows = input.fence.status.drain_portions.saturating_sub(1);
    rules.timeout = rules.timeout.saturating_add(pod_rate(input).window.saturating_mul(windows));
    let written = input.fence.status.drain_begun_at.map(|begun| input.now.wall.duration_since(begun));
    let written = written.and_then(|age| Duration::try_from(age).ok()).unwrap_or_default();
    let elapsed = written.max(input.now.moment.since(input.entered));
    rules.timeout = rules.timeout.saturating_sub(elapsed);
    (!rules.timeout.is_zero()).then_some(rules)
}
