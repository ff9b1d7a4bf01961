//! Power on again: PoweringOn and AwaitReady. Guards that only limit what is begun do not hold this.

use super::{
    Case, Next,
    begin::{RESTARTS, back_off, enter_rung, left},
    doubt::{ATTEMPTS, held},
    holds::{self, pause, wait},
    interrupt::{new_boot, own_node, ready_anew},
    ladder::{self, Rung},
    power::plan,
    record::{Draft, act},
    release::left_off,
};
use crate::{
    action::Step,
    api::{
        fence::{Hold, Irreversible, Phase},
        policy::PowerStep,
    },
    facts::kubelet,
    snapshot::{FencePlan, PowerState},
};

pub(super) fn powering_on(case: &Case<'_>) -> Next {
    let status = &case.fence.status;
    if status.intent.is_some() {
        return match ready_to_power_on(case) {
            Ok(_) => act(case, Step::PowerOn),
            Err(_) => Draft::of(case).enter(Phase::InDoubt, "the guards allow it no more").save(),
        };
    }
    if let Some(next) = stays_off(case).or_else(|| is_on(case)) {
        return next;
    }
    if status.failures >= ATTEMPTS {
        let message = format!("{ATTEMPTS} tries to turn it on failed; look at the machine");
        return Draft::of(case).quarantine(Hold::new("Attempts", message)).save();
    }
    match ready_to_power_on(case) {
        Err(holds) => wait(case, holds, None),
        Ok(plan) => back_off(case).unwrap_or_else(|| mean_on(case, plan)),
    }
}

fn ready_to_power_on<'a>(case: &Case<'a>) -> Result<&'a FencePlan, Vec<Hold>> {
    let mut holds = holds::absolute(case);
    match plan(case) {
        Ok(plan) if holds.is_empty() => Ok(plan),
        Ok(_) => Err(holds),
        Err(hold) => Err({
            holds.retain(|other| other.reason != hold.reason);
            holds.push(hold);
            holds
        }),
    }
}

fn mean_on(case: &Case<'_>, plan: &FencePlan) -> Next {
    let draft = Draft::of(case).with(|status| {
        status.jobs = plan.power_management.iter().map(|method| format!("{method}/on")).collect();
    });
    draft.intend(Irreversible::PowerOn).note("PowerOnMeant", "power on meant").save()
}

/// Storage is not given back to a boot whose pods run elsewhere by now.
fn stays_off(case: &Case<'_>) -> Option<Next> {
    let status = &case.fence.status;
    let rebooted = own_node(case).is_some_and(|node| new_boot(case, node));
    if status.storage_only.is_some() && status.release_begun && !rebooted {
        return Some(held(case, "LeftCut", "its storage is cut off and its pods are released; reboot it by hand"));
    }
    let left = current_step(case).is_some_and(|step| step.leave_off) && !case.fence.spec.abort;
    left.then(|| left_off(case))
}

fn is_on(case: &Case<'_>) -> Option<Next> {
    let newest = case.gathered.power.last()?;
    let on = newest.state == PowerState::On && newest.at > case.entered;
    on.then(|| Draft::of(case).enter(Phase::AwaitReady, "its BMC says On already").save())
}

fn current_step<'a>(case: &Case<'a>) -> Option<&'a PowerStep> {
    match ladder::current(case.fence) {
        Some(Ok(Rung::Power { step, .. })) => Some(step),
        _ => None,
    }
}

pub(super) fn await_ready(case: &Case<'_>) -> Next {
    if ready_anew(case) || (case.fence.status.storage_only.is_some() && is_alive(case)) {
        return Draft::of(case).enter(Phase::Recovering, "Ready with a new boot id").save();
    }
    let span = ladder::ready_timeout(current_step(case).unwrap_or(&PowerStep::default()));
    match span.map(|span| left(case, span)) {
        Err(hold) => wait(case, vec![hold], None),
        Ok(Some(until)) => pause(case, until),
        Ok(None) => never_ready(case),
    }
}

pub(super) fn is_alive(case: &Case<'_>) -> bool {
    let renewed = case.kubelet_lease.is_some_and(|lease| lease.stale_for(case.now.moment) < kubelet::LIVES);
    renewed && own_node(case).is_some_and(crate::facts::Node::is_ready)
}

/// On to the next rung, or the same one again.
fn never_ready(case: &Case<'_>) -> Next {
    if case.fence.spec.abort {
        return held(case, "NeverReady", "it was turned on and is not Ready; look at its console");
    }
    let status = &case.fence.status;
    let draft = Draft::of(case).with(|status| {
        status.off = None;
        status.out_of_service = false;
    });
    if status.rung + 1 < case.fence.spec.steps.len() {
        return enter_rung(case, status.rung + 1, draft, "turned on, but not Ready in time");
    }
    if status.restarts >= RESTARTS {
        let hold = Hold::new("NeverReady", "it was turned on and off, and is not Ready; look at its console");
        return draft.quarantine(hold).save();
    }
    let draft = draft.with(|status| status.restarts += 1).failed();
    draft.enter(Phase::Failed, "turned on, but not Ready in time").save()
}
