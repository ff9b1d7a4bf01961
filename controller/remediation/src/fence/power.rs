//! The phases around power off: AwaitGuards, KdumpWait, PoweringOff; and Reaping, which is as final.

use std::time::Duration;

use jiff::Timestamp;

use super::{
    FenceInput, Next,
    begin::{back_off, enter_step, phase_deadline, policy_blockers},
    blockers::wait,
    doubt::ATTEMPTS,
    drain_again,
    evidence::{self, Witness},
    interrupt::own_node,
    left_off,
    levels::{self, LevelAtHand},
    record::{Draft, perform},
    refilled,
    release::is_to_be_released,
    steps::{self, PolicyStep},
};
use crate::{
    action::{IrreversibleOp, ReversibleOp},
    api::{
        OUT_OF_SERVICE,
        fence::{Blocker, Confirmation, IntendedOp, NodeFenceStatus, Phase},
        policy::PowerStep,
    },
    guard::reason::{DUMPING, METHODS_CHANGED, POWER_CYCLE_LIMIT},
    message::Message,
    method::BuiltIn,
    snapshot::{FencePlan, Level},
};

/// `fence_kdump_send` repeats itself every 10 s; after three of its messages missing the dump is over.
const DUMP_SILENCE: Duration = Duration::from_secs(30);
/// How long after an operation that was not begun the guards are asked again.
const NOT_BEGUN_DELAY: Duration = Duration::from_secs(1);

/// What may be done, once every guard was asked.
enum PowerDecision<'a> {
    Cut {
        at: LevelAtHand<'a>,
        step: &'a PowerStep,
        witnesses: Vec<Witness>,
    },
    /// It is off already.
    AlreadyOff(Vec<Witness>),
    Reap,
}

impl PowerDecision<'_> {
    /// At the limit of its power cycles: a node that is dead, with pods to be released, is left off. One that lives and was
    /// drained has none, and keeps its power; and a storage is no machine.
    fn may_leave_off(&self, input: &FenceInput<'_>) -> bool {
        let releases = match steps::current(input.fence) {
            Some(Ok(PolicyStep::Power { releases, .. })) => releases,
            Some(
                Ok(PolicyStep::Taint(_) | PolicyStep::Cordon | PolicyStep::Drain(_) | PolicyStep::Reap { .. }) | Err(_),
            )
            | None => false,
        };
        releases
            && match self {
                Self::Cut { at, witnesses, .. } => {
                    at.plan.storage_only.is_none() && !witnesses.contains(&Witness::Drained)
                }
                Self::AlreadyOff(_) => true,
                Self::Reap => false,
            }
    }
}

/// Why the machine is left off after this, if it is.
fn at_limit<'a>(input: &FenceInput<'a>) -> Option<&'a Blocker> {
    input.guard_blockers.power.iter().find(|blocker| blocker.reason == POWER_CYCLE_LIMIT)
}

pub(super) fn await_guards(input: &FenceInput<'_>) -> Next {
    if let Some(next) = unconfirmed_taint(input).or_else(|| refilled::instead_of_power(input)) {
        return next;
    }
    if let Some(next) = back_off(input) {
        return next;
    }
    if input.fence.status.failures >= ATTEMPTS || levels::are_exhausted(input) {
        return Draft::of(input)
            .enter(Phase::Failed, Message::of("FenceFailed/attempts", &[("limit", &ATTEMPTS)]))
            .save();
    }
    if let Some(next) = not_begun(input) {
        return next;
    }
    match (power_decision(input), at_limit(input)) {
        (Err(mut blockers), limit) => {
            blockers.extend(limit.cloned());
            drain_again::instead_of_power(input, blockers)
        }
        (Ok(decision), Some(limit)) if !decision.may_leave_off(input) => {
            Draft::of(input).quarantine(limit.clone()).save()
        }
        (Ok(PowerDecision::Cut { at, step, witnesses }), _) => cut_off(input, at, step, &witnesses),
        (Ok(PowerDecision::AlreadyOff(witnesses)), _) => already_off(input, &witnesses),
        (Ok(PowerDecision::Reap), _) => Draft::of(input)
            .with(|status| status.jobs = vec!["reap".into()])
            .intend(IntendedOp::Reap)
            .enter(Phase::Reaping, Message::plain("FenceReaping"))
            .save(),
    }
}

/// A moment after an act that was not begun; and until its pods are listed, where it is one of them that forbade it.
fn not_begun(input: &FenceInput<'_>) -> Option<Next> {
    let status = &input.fence.status;
    let list = || refilled::awaits_list(input).then(|| input.now.moment.plus(NOT_BEGUN_DELAY));
    let until = phase_deadline(input, NOT_BEGUN_DELAY).or_else(list).filter(|_| status.is_blocked_by("NotBegun"))?;
    Some(Next::Wait { until: Some(until), blockers: status.blocked_by.clone() })
}

/// The controller's out-of-service taint on a node whose Off is not confirmed any more still has pods deleted: it is
/// removed first.
pub(super) fn unconfirmed_taint(input: &FenceInput<'_>) -> Option<Next> {
    let status = &input.fence.status;
    let ours = status.own_changes.taints.iter().find(|taint| taint.key == OUT_OF_SERVICE);
    ours.filter(|_| status.off.is_none()).map(|ours| perform(input, ReversibleOp::Untaint(ours.clone())))
}

/// The Node still names the boot whose pods were released, and there is no Lease to show whether that boot lives on.
fn is_released_and_unheard(input: &FenceInput<'_>) -> bool {
    let released = &input.fence.status.released_boot;
    let named = own_node(input).is_some_and(|node| node.boot_id == *released);
    !released.is_empty() && named && input.kubelet_lease.is_none()
}

/// Asks everything; all that speaks against it comes back, not only the first.
fn power_decision<'a>(input: &FenceInput<'a>) -> Result<PowerDecision<'a>, Vec<Blocker>> {
    let mut blockers = policy_blockers(input);
    // Not the limit of power cycles: what it forbids is to turn the machine on again.
    let forbids = |blocker: &&Blocker| blocker.reason != POWER_CYCLE_LIMIT;
    blockers.extend(input.guard_blockers.power.iter().filter(forbids).cloned());
    if is_released_and_unheard(input) {
        blockers.push(Blocker::plain("WithinGracePeriod/releasedBoot"));
    }
    let is_known = |blocker: &Blocker| blockers.iter().any(|known| known.reason == blocker.reason);
    let unknown = refilled::unknown(input).filter(|blocker| !is_known(blocker));
    blockers.extend(unknown);
    if own_node(input).is_none_or(|node| node.deleting) {
        blockers.push(Blocker::plain("NodeGone/deleting"));
    }
    let decision = match steps::current(input.fence) {
        Some(Ok(PolicyStep::Power { step, releases })) => decide_power(input, step, releases),
        Some(Ok(PolicyStep::Reap { even_if_drain_failed })) => decide_reap(input, even_if_drain_failed),
        Some(Ok(_)) | None => Err(vec![Blocker::plain("BadStep/power")]),
        Some(Err(blocker)) => Err(vec![blocker]),
    };
    match decision {
        Ok(decision) if blockers.is_empty() => Ok(decision),
        Ok(_) => Err(blockers),
        Err(more) => Err({
            blockers.extend(more);
            blockers
        }),
    }
}

fn decide_power<'a>(
    input: &FenceInput<'a>,
    step: &'a PowerStep,
    releases: bool,
) -> Result<PowerDecision<'a>, Vec<Blocker>> {
    let mut blockers = Vec::new();
    let at = levels::at_hand(input).map_err(|blocker| blockers.push(blocker)).ok();
    if !releases && !evidence::drained(input) {
        blockers.push(Blocker::plain("DrainFailed/reboot"));
    }
    let off = evidence::is_off(input).filter(|_| at.is_some_and(|at| at.plan.storage_only.is_none()));
    let witnesses = match off {
        Some(witnesses) if blockers.is_empty() => return Ok(PowerDecision::AlreadyOff(witnesses)),
        Some(witnesses) => Ok(witnesses),
        None => evidence::may_power_off(input),
    };
    match (witnesses, at) {
        (Ok(witnesses), Some(at)) if blockers.is_empty() => Ok(PowerDecision::Cut { at, step, witnesses }),
        (witnesses, _) => Err({
            blockers.extend(witnesses.err());
            blockers
        }),
    }
}

fn decide_reap<'a>(input: &FenceInput<'_>, even_if_drain_failed: bool) -> Result<PowerDecision<'a>, Vec<Blocker>> {
    let was_tried = input.fence.status.drain.is_some();
    if evidence::drained(input) || was_tried && even_if_drain_failed {
        return Ok(PowerDecision::Reap);
    }
    Err(vec![Blocker::plain("DrainFailed/reap")])
}

/// The methods were edited under way: they cut the power and now cut off one storage only, or the other way round, or the
/// level is not there any more. The fence waits, since a confirmation by the old methods proves nothing about what the new
/// ones cut.
pub(super) fn methods_changed(input: &FenceInput<'_>) -> Option<Next> {
    let status = &input.fence.status;
    let cuts = [Phase::PoweringOff, Phase::OffConfirmed, Phase::PodsReleased, Phase::PoweringOn, Phase::InDoubt];
    let reaps = status.intent.as_ref().is_some_and(|intent| intent.op == IntendedOp::Reap);
    if !cuts.contains(&status.phase) || reaps {
        return None;
    }
    let plan = match &input.gathered.methods {
        Some(Ok(plan)) => plan,
        // That a further level is still there has to be known.
        Some(Err(blocker)) if status.level > Level::FIRST => return Some(wait(input, vec![blocker.clone()], None)),
        None if status.level > Level::FIRST => return Some(wait(input, vec![levels::methods_unread()], None)),
        Some(Err(_)) | None => return None,
    };
    let is_there = status.level == Level::FIRST || plan.level(status.level).is_some();
    if plan.storage_only == status.storage_only && is_there {
        return None;
    }
    let what = |storage: &Option<String>, level: Level| match storage {
        Some(name) => format!("storage {name}"),
        None if level > Level::FIRST => format!("the machine by level {level}"),
        None => "the machine".into(),
    };
    let (is, was) = (what(&plan.storage_only, Level::FIRST), what(&status.storage_only, status.level));
    Some(wait(input, vec![Blocker::of(METHODS_CHANGED, &[("is", &is), ("was", &was)])], None))
}

fn cut_off(input: &FenceInput<'_>, at: LevelAtHand<'_>, step: &PowerStep, witnesses: &[Witness]) -> Next {
    let plan = at.plan;
    let isolated = input.fence.status.isolated && input.fence.status.failures == 0;
    if !plan.isolation.is_empty() && !isolated {
        // A cordon is one, whatever asks for it.
        let blockers =
            if plan.isolation.iter().any(|name| is_cordon(name)) { &input.guard_blockers.isolate[..] } else { &[] };
        if !blockers.is_empty() {
            return wait(input, blockers.to_vec(), None);
        }
        return perform(input, ReversibleOp::Methods(plan.isolation.clone()));
    }
    match steps::kdump_wait(step) {
        Err(blocker) => wait(input, vec![blocker], None),
        Ok(span) if !span.is_zero() && is_dumping(input) && !input.fence.status.dump_waited => {
            Draft::of(input).enter(Phase::KdumpWait, Message::plain("FenceKdumpWait")).save()
        }
        Ok(_) => intend_off(input, at, witnesses),
    }
}

fn is_cordon(method: &str) -> bool {
    matches!(BuiltIn::named(method), Some(BuiltIn::Cordon | BuiltIn::MarkUnschedulable))
}

fn is_dumping(input: &FenceInput<'_>) -> bool {
    input.gathered.dumping.is_some_and(|last| input.now.moment.since(last) < DUMP_SILENCE)
}

fn intend_off(input: &FenceInput<'_>, at: LevelAtHand<'_>, witnesses: &[Witness]) -> Next {
    let plan = at.plan;
    let draft = Draft::of(input).with(|status| {
        remember_node(input, status);
        status.level = at.number;
        status.off_methods.extend(at.level.methods.iter().cloned());
        status.jobs = at.level.methods.iter().map(|method| format!("{method}/off")).collect();
        status.storage_only.clone_from(&plan.storage_only);
        status.storage_pods = pods_of_storage(input, plan);
    });
    let message = Message::of("FencePoweringOff", &[("evidence", &evidence::sentence(witnesses))]);
    let draft = draft.intend(IntendedOp::PowerOff).enter(Phase::PoweringOff, message);
    let draft = match levels::degraded(input, at) {
        Some(message) => draft.warn(message),
        None => draft,
    };
    warn_at_limit(input, draft).save()
}

/// The pods that use the storage which is about to be cut off, by UID. The guards let nothing begin before they were listed.
fn pods_of_storage(input: &FenceInput<'_>, plan: &FencePlan) -> Vec<String> {
    let Some((storage, (_, pods))) = plan.storage_only.as_deref().zip(input.gathered.pods.as_ref()) else {
        return Vec::new();
    };
    let here =
        pods.iter().filter(|pod| pod.node == input.fence.spec.node_name && is_to_be_released(pod, Some(storage)));
    here.map(|pod| pod.at.uid.clone()).collect()
}

/// What the node is right before it loses its power.
fn remember_node(input: &FenceInput<'_>, status: &mut NodeFenceStatus) {
    if let Some(node) = own_node(input) {
        status.boot_id.clone_from(&node.boot_id);
        status.system_uuid.clone_from(&node.system_uuid);
    }
    status.lease_renewed = input.kubelet_lease.and_then(|lease| lease.renewed);
    status.at_limit = at_limit(input).is_some();
    status.returning = false;
    // A wish of before is none for what comes.
    status.observed_release = left_off::asked(input.fence);
    status.release_begun = false;
    status.released_at = None;
    status.out_of_service = false;
}

fn already_off(input: &FenceInput<'_>, witnesses: &[Witness]) -> Next {
    let message = Message::of("FenceOffConfirmed/already", &[("evidence", &evidence::sentence(witnesses))]);
    let Some(at) = off_read_at(input, levels::current(input)) else {
        return wait(input, vec![Blocker::plain("WithinGracePeriod/offTime")], None);
    };
    let draft = Draft::of(input);
    let draft = if at_limit(input).is_none() { draft.count_order() } else { draft };
    let draft = draft.with(|status| {
        remember_node(input, status);
        status.level = levels::current(input);
        status.off_methods.extend(levels::methods_of(input, status.level));
        status.storage_only = None;
        status.off = Some(Confirmation {
            at,
            reads: 2,
            by: witnesses.iter().map(ToString::to_string).collect(),
            boot_id: status.boot_id.clone(),
            already_off: true,
            epoch: input.epoch,
        });
    });
    warn_at_limit(input, draft.enter(Phase::OffConfirmed, message)).save()
}

/// People have to know of a machine that will not come back by itself.
fn warn_at_limit(input: &FenceInput<'_>, draft: Draft) -> Draft {
    match at_limit(input) {
        Some(limit) => draft.warn(Message::of("LeftOffAtLimit", &[("limit", &limit.message)])),
        None => draft,
    }
}

/// When it reported Off last: what is confirmed is that it was off then, however late that is written down.
pub(super) fn off_read_at(input: &FenceInput<'_>, level: Level) -> Option<Timestamp> {
    let newest = input.gathered.power.iter().rev().find(|reading| reading.level == level)?;
    input.now.wall.checked_sub(input.now.moment.since(newest.at)).ok()
}

/// A node that writes its dump is left to it for the time the step allows; every guard is asked again after it.
pub(super) fn kdump_wait(input: &FenceInput<'_>) -> Next {
    let Some(Ok(PolicyStep::Power { step, .. })) = steps::current(input.fence) else {
        return enter_step(
            input,
            input.fence.status.policy_step,
            Draft::of(input),
            Message::plain("FencePhase/changed"),
        );
    };
    let until = steps::kdump_wait(step).map(|span| phase_deadline(input, span));
    match until {
        Err(blocker) => wait(input, vec![blocker], None),
        Ok(Some(until)) if is_dumping(input) => {
            let dumping = Blocker::of(DUMPING, &[("silence", &DUMP_SILENCE.as_secs())]);
            wait(input, vec![dumping], Some(until.since(input.now.moment)))
        }
        Ok(_) => Draft::of(input)
            .with(|status| status.dump_waited = true)
            .enter(Phase::AwaitGuards, Message::plain("FenceAwaitGuards/dumped"))
            .save(),
    }
}

/// The intent is stored: only if everything still allows it, the act. Else nothing proves that it was not begun.
pub(super) fn powering_off(input: &FenceInput<'_>) -> Next {
    match (&input.fence.status.intent, power_decision(input)) {
        (Some(_), Ok(PowerDecision::Cut { .. } | PowerDecision::AlreadyOff(_))) => {
            perform(input, IrreversibleOp::PowerOff)
        }
        (Some(_), Ok(PowerDecision::Reap) | Err(_)) => {
            Draft::of(input).enter(Phase::InDoubt, Message::plain("FenceInDoubt/guards")).save()
        }
        (None, _) => {
            Draft::of(input).enter(Phase::AwaitGuards, Message::plain("FenceAwaitGuards/nothingIntended")).save()
        }
    }
}

pub(super) fn reaping(input: &FenceInput<'_>) -> Next {
    match (&input.fence.status.intent, power_decision(input)) {
        (Some(_), Ok(PowerDecision::Reap)) => perform(input, IrreversibleOp::Reap),
        (Some(_), Ok(PowerDecision::Cut { .. } | PowerDecision::AlreadyOff(_)) | Err(_)) => {
            Draft::of(input).enter(Phase::InDoubt, Message::plain("FenceInDoubt/guards")).save()
        }
        (None, _) => {
            Draft::of(input).enter(Phase::AwaitGuards, Message::plain("FenceAwaitGuards/nothingIntended")).save()
        }
    }
}
