//! The phases around power off: Guarded, KdumpWait, PoweringOff; and Reaping, which is as final.

use std::time::Duration;

use jiff::Timestamp;

use super::{
    Case, Next,
    begin::{back_off, enter_step, left, unwanted},
    blockers::wait,
    doubt::ATTEMPTS,
    evidence::{self, Witness},
    interrupt::own_node,
    record::{Draft, act},
    release::is_released,
    steps::{self, PolicyStep},
};
use crate::{
    action::{IrreversibleOp, ReversibleOp},
    api::{
        OUT_OF_SERVICE,
        fence::{Blocker, Confirmation, DrainReport, Irreversible, NodeFenceStatus, Phase},
        policy::PowerStep,
    },
    guard::reason::{
        EVIDENCE_TOO_YOUNG, FENCE_NOT_READY, IDENTITY_UNPROVEN, METHODS_CHANGED, NO_METHODS, NODE_GONE, RESTART_LIMIT,
    },
    method::BuiltIn,
    snapshot::FencePlan,
};

/// `fence_kdump_send` repeats itself every 10 s; after three of its messages missing the dump is over.
const DUMP_SILENCE: Duration = Duration::from_secs(30);
/// After an act that was not begun, before it is decided again.
const NOT_BEGUN: Duration = Duration::from_secs(1);

/// Why an act may be done, once every guard was asked.
enum Ground<'a> {
    Cut {
        plan: &'a FencePlan,
        step: &'a PowerStep,
        witnesses: Vec<Witness>,
    },
    /// It is off already.
    Passive(Vec<Witness>),
    Reap,
}

pub(super) fn guarded(case: &Case<'_>) -> Next {
    if let Some(next) = unconfirmed_taint(case).or_else(|| back_off(case)) {
        return next;
    }
    if case.fence.status.failures >= ATTEMPTS {
        return Draft::of(case).enter(Phase::Failed, "too many tries failed").save();
    }
    if let Some(until) = left(case, NOT_BEGUN).filter(|_| is_after(case, "NotBegun")) {
        return Next::Wait { until: Some(until), blockers: case.fence.status.blocked_by.clone().into_iter().collect() };
    }
    match ground(case) {
        Err(blockers) => match blockers.iter().find(|blocker| blocker.reason == RESTART_LIMIT) {
            Some(limit) => Draft::of(case).quarantine(limit.clone()).save(),
            None => wait(case, blockers, None),
        },
        Ok(Ground::Cut { plan, step, witnesses }) => cut(case, plan, step, &witnesses),
        Ok(Ground::Passive(witnesses)) => passive(case, &witnesses),
        Ok(Ground::Reap) => Draft::of(case)
            .with(|status| status.jobs = vec!["reap".into()])
            .intend(Irreversible::Reap)
            .enter(Phase::Reaping, "reap meant")
            .save(),
    }
}

fn is_after(case: &Case<'_>, reason: &str) -> bool {
    case.fence.status.blocked_by.as_ref().is_some_and(|blocker| blocker.reason == reason)
}

/// Our out-of-service taint on a node whose Off is confirmed no more lets others force pods away: it goes first.
pub(super) fn unconfirmed_taint(case: &Case<'_>) -> Option<Next> {
    let status = &case.fence.status;
    let ours = status.ours.taints.iter().find(|taint| taint.key == OUT_OF_SERVICE);
    ours.filter(|_| status.off.is_none()).map(|ours| act(case, ReversibleOp::Untaint(ours.clone())))
}

/// Only its Lease shows whether that boot lives on.
fn is_released_and_unheard(case: &Case<'_>) -> bool {
    let released = &case.fence.status.released_boot;
    let named = own_node(case).is_some_and(|node| node.boot_id == *released);
    !released.is_empty() && named && case.kubelet_lease.is_none()
}

/// Asks everything; all that speaks against it comes back, not only the first.
fn ground<'a>(case: &Case<'a>) -> Result<Ground<'a>, Vec<Blocker>> {
    let mut blockers = unwanted(case);
    blockers.extend(case.permits.power.iter().cloned());
    if is_released_and_unheard(case) {
        let message = "the kubelet's Lease cannot be read, and its Node names the boot whose pods were released";
        blockers.push(Blocker::new(EVIDENCE_TOO_YOUNG, message));
    }
    if own_node(case).is_none_or(|node| node.deleting) {
        blockers.push(Blocker::new(NODE_GONE, "the Node is being deleted"));
    }
    let ground = match steps::current(case.fence) {
        Some(Ok(PolicyStep::Power { step, releases })) => power_ground(case, step, releases),
        Some(Ok(PolicyStep::Reap { even_if_drain_failed })) => reap_ground(case, even_if_drain_failed),
        Some(Ok(_)) | None => Err(vec![Blocker::new("BadStep", "this step of the record is no act of power")]),
        Some(Err(blocker)) => Err(vec![blocker]),
    };
    match ground {
        Ok(ground) if blockers.is_empty() => Ok(ground),
        Ok(_) => Err(blockers),
        Err(more) => Err({
            blockers.extend(more);
            blockers
        }),
    }
}

fn power_ground<'a>(case: &Case<'a>, step: &'a PowerStep, releases: bool) -> Result<Ground<'a>, Vec<Blocker>> {
    let mut blockers = Vec::new();
    let plan = plan(case).map_err(|blocker| blockers.push(blocker)).ok();
    if !releases && !case.fence.status.drain.as_ref().is_some_and(DrainReport::emptied) {
        blockers.push(Blocker::new(
            "DrainFailed",
            "a reboot comes only after a drain that left nothing; look at status.drain",
        ));
    }
    let off = evidence::is_off(case).filter(|_| plan.is_some_and(|plan| plan.storage_only.is_none()));
    let witnesses = match off {
        Some(witnesses) if blockers.is_empty() => return Ok(Ground::Passive(witnesses)),
        Some(witnesses) => Ok(witnesses),
        None => evidence::may_power_off(case),
    };
    match (witnesses, plan) {
        (Ok(witnesses), Some(plan)) if blockers.is_empty() => Ok(Ground::Cut { plan, step, witnesses }),
        (witnesses, _) => Err({
            blockers.extend(witnesses.err());
            blockers
        }),
    }
}

fn reap_ground<'a>(case: &Case<'_>, even_if_drain_failed: bool) -> Result<Ground<'a>, Vec<Blocker>> {
    let drain = case.fence.status.drain.as_ref();
    if drain.is_some_and(|report| report.emptied() || even_if_drain_failed) {
        return Ok(Ground::Reap);
    }
    let message = "a reap comes only after a drain that left nothing, unless evenIfDrainFailed; look at status.drain";
    Err(vec![Blocker::new("DrainFailed", message)])
}

/// How it is fenced, if its BMC is known to be its own.
pub(super) fn plan<'a>(case: &Case<'a>) -> Result<&'a FencePlan, Blocker> {
    let plan = match &case.gathered.methods {
        Some(Ok(plan)) if !plan.power_management.is_empty() => plan,
        Some(Ok(_)) => {
            return Err(Blocker::new(NO_METHODS, "no method of power management is configured for this node"));
        }
        Some(Err(blocker)) => return Err(blocker.clone()),
        None => return Err(unread()),
    };
    match &plan.identity {
        Some(Ok(())) => Ok(plan),
        Some(Err(error)) => Err(Blocker::new(IDENTITY_UNPROVEN, error.clone())),
        None => Err(Blocker::new(IDENTITY_UNPROVEN, "its BMC has not been asked yet whose it is")),
    }
}

/// What was begun for the machine is not gone on with by the switch of a storage, nor the other way round: the one proves
/// nothing of the other.
pub(super) fn methods_changed(case: &Case<'_>) -> Option<Next> {
    let status = &case.fence.status;
    let cuts = [Phase::PoweringOff, Phase::OffConfirmed, Phase::PodsReleased, Phase::PoweringOn, Phase::InDoubt];
    let plan = case.gathered.methods.as_ref().and_then(|plan| plan.as_ref().ok())?;
    let reaps = status.intent.as_ref().is_some_and(|intent| intent.act == Irreversible::Reap);
    if !cuts.contains(&status.phase) || reaps || plan.storage_only == status.storage_only {
        return None;
    }
    let what =
        |storage: &Option<String>| storage.as_ref().map_or("the machine".into(), |name| format!("storage {name}"));
    let (is, was) = (what(&plan.storage_only), what(&status.storage_only));
    let message = format!("its fence methods cut off {is} by now, and this record cut off {was}; bring them back");
    Some(wait(case, vec![Blocker::new(METHODS_CHANGED, message)], None))
}

/// It is read within seconds.
pub(super) fn unread() -> Blocker {
    Blocker::new(FENCE_NOT_READY, "the node's fence methods have not been read yet")
}

fn cut(case: &Case<'_>, plan: &FencePlan, step: &PowerStep, witnesses: &[Witness]) -> Next {
    let isolated = case.fence.status.isolated && case.fence.status.failures == 0;
    if !plan.isolation.is_empty() && !isolated {
        // A cordon is one, whatever asks for it.
        let blockers = if plan.isolation.iter().any(|name| cordons(name)) { &case.permits.isolate[..] } else { &[] };
        if !blockers.is_empty() {
            return wait(case, blockers.to_vec(), None);
        }
        return act(case, ReversibleOp::Methods(plan.isolation.clone()));
    }
    match steps::kdump_wait(step) {
        Err(blocker) => wait(case, vec![blocker], None),
        Ok(span) if !span.is_zero() && dumps(case) && !case.fence.status.dump_waited => {
            Draft::of(case).enter(Phase::KdumpWait, "it writes a crash dump").save()
        }
        Ok(_) => mean_off(case, plan, witnesses),
    }
}

fn cordons(method: &str) -> bool {
    matches!(BuiltIn::named(method), Some(BuiltIn::Cordon | BuiltIn::MarkUnschedulable))
}

fn dumps(case: &Case<'_>) -> bool {
    case.gathered.dumping.is_some_and(|last| case.now.moment.since(last) < DUMP_SILENCE)
}

fn mean_off(case: &Case<'_>, plan: &FencePlan, witnesses: &[Witness]) -> Next {
    let draft = Draft::of(case).with(|status| {
        remember(case, status);
        status.jobs = plan.power_management.iter().map(|method| format!("{method}/off")).collect();
        status.storage_only.clone_from(&plan.storage_only);
        status.storage_pods = pods_of_storage(case, plan);
    });
    let why = format!("power off meant: {}", evidence::sentence(witnesses));
    draft.intend(Irreversible::PowerOff).enter(Phase::PoweringOff, why).save()
}

/// The pods that use the storage which is about to be cut off, by UID. The guards let nothing begin before they were listed.
fn pods_of_storage(case: &Case<'_>, plan: &FencePlan) -> Vec<String> {
    let Some((storage, (_, pods))) = plan.storage_only.as_deref().zip(case.gathered.pods.as_ref()) else {
        return Vec::new();
    };
    let here = pods.iter().filter(|pod| pod.node == case.fence.spec.node_name && is_released(pod, Some(storage)));
    here.map(|pod| pod.at.uid.clone()).collect()
}

/// What the node is right before it loses its power.
fn remember(case: &Case<'_>, status: &mut NodeFenceStatus) {
    if let Some(node) = own_node(case) {
        status.boot_id.clone_from(&node.boot_id);
        status.system_uuid.clone_from(&node.system_uuid);
    }
    status.lease_renewed = case.kubelet_lease.and_then(|lease| lease.renewed);
    status.release_begun = false;
    status.out_of_service = false;
}

fn passive(case: &Case<'_>, witnesses: &[Witness]) -> Next {
    let why = format!("off already: {}", evidence::sentence(witnesses));
    let Some(at) = read_at(case) else { return wait(case, vec![unread_off()], None) };
    let draft = Draft::of(case).with(|status| {
        remember(case, status);
        status.storage_only = None;
        status.off = Some(Confirmation {
            at,
            reads: 2,
            by: witnesses.iter().map(ToString::to_string).collect(),
            boot_id: status.boot_id.clone(),
            passive: true,
            epoch: case.epoch,
        });
    });
    draft.enter(Phase::OffConfirmed, why).save()
}

/// When its BMC reported Off last: what is confirmed is that it was off then, however late that is written down.
fn read_at(case: &Case<'_>) -> Option<Timestamp> {
    let newest = case.gathered.power.last()?;
    case.now.wall.checked_sub(case.now.moment.since(newest.at)).ok()
}

fn unread_off() -> Blocker {
    Blocker::new(EVIDENCE_TOO_YOUNG, "the time of its BMC's last Off is not known; it is asked again")
}

/// A node that writes its dump is left to it for the time the step allows; every guard is asked again after it.
pub(super) fn kdump_wait(case: &Case<'_>) -> Next {
    let Some(Ok(PolicyStep::Power { step, .. })) = steps::current(case.fence) else {
        return enter_step(case, case.fence.status.policy_step, Draft::of(case), "this step is another one");
    };
    let until = steps::kdump_wait(step).map(|span| left(case, span));
    match until {
        Err(blocker) => wait(case, vec![blocker], None),
        Ok(Some(until)) if dumps(case) => {
            let message =
                "it says that it writes a crash dump; its power is cut when it is silent, or its kdumpWait over";
            wait(case, vec![Blocker::new("Dumping", message)], Some(until.since(case.now.moment)))
        }
        Ok(_) => {
            Draft::of(case).with(|status| status.dump_waited = true).enter(Phase::Guarded, "it had its time").save()
        }
    }
}

/// The intent is stored: only if everything still allows it, the act. Else nothing proves that it was not begun.
pub(super) fn powering_off(case: &Case<'_>) -> Next {
    match (&case.fence.status.intent, ground(case)) {
        (Some(_), Ok(Ground::Cut { .. } | Ground::Passive(_))) => act(case, IrreversibleOp::PowerOff),
        (Some(_), Ok(Ground::Reap) | Err(_)) => {
            Draft::of(case).enter(Phase::InDoubt, "the guards allow it no more").save()
        }
        (None, _) => Draft::of(case).enter(Phase::Guarded, "nothing is meant").save(),
    }
}

pub(super) fn reaping(case: &Case<'_>) -> Next {
    match (&case.fence.status.intent, ground(case)) {
        (Some(_), Ok(Ground::Reap)) => act(case, IrreversibleOp::Reap),
        (Some(_), Ok(Ground::Cut { .. } | Ground::Passive(_)) | Err(_)) => {
            Draft::of(case).enter(Phase::InDoubt, "the guards allow it no more").save()
        }
        (None, _) => Draft::of(case).enter(Phase::Guarded, "nothing is meant").save(),
    }
}
