//! Power on again: PoweringOn and AwaitReady. Guards that only limit what is begun do not block this.

use super::{
    Case, Next,
    begin::{RESTARTS, back_off, enter_step, left},
    blockers::{self, pause, wait},
    doubt::{ATTEMPTS, blocked},
    interrupt::{new_boot, own_node, ready_anew},
    power::plan,
    record::{Draft, act},
    release::{left_off, pods_unknown, recent_pods},
    revival::is_suspected,
    steps::{self, PolicyStep},
};
use crate::{
    action::IrreversibleOp,
    api::{
        STORAGE_RELEASED,
        fence::{Blocker, Irreversible, NodeFence, Phase},
        policy::PowerStep,
    },
    facts::{Node, kubelet},
    guard::reason::AWAITING_READY,
    snapshot::{FencePlan, PowerState},
};

pub(super) fn powering_on(case: &Case<'_>) -> Next {
    let status = &case.fence.status;
    if status.intent.is_some() {
        return match ready_to_power_on(case) {
            Ok(_) => act(case, IrreversibleOp::PowerOn),
            Err(_) => Draft::of(case).enter(Phase::InDoubt, "the guards allow it no more").save(),
        };
    }
    if let Some(next) = stays_off(case).or_else(|| is_on(case)).or_else(|| may_live(case)) {
        return next;
    }
    if status.failures >= ATTEMPTS {
        let message = format!("{ATTEMPTS} tries to turn it on failed; look at the machine");
        return Draft::of(case).quarantine(Blocker::new("Attempts", message)).save();
    }
    match ready_to_power_on(case) {
        Err(blockers) => wait(case, blockers, None),
        Ok(plan) => back_off(case).unwrap_or_else(|| mean_on(case, plan)),
    }
}

fn ready_to_power_on<'a>(case: &Case<'a>) -> Result<&'a FencePlan, Vec<Blocker>> {
    let mut blockers = blockers::absolute(case);
    match plan(case) {
        Ok(plan) if blockers.is_empty() => Ok(plan),
        Ok(_) => Err(blockers),
        Err(blocker) => Err({
            blockers.retain(|other| other.reason != blocker.reason);
            blockers.push(blocker);
            blockers
        }),
    }
}

fn mean_on(case: &Case<'_>, plan: &FencePlan) -> Next {
    let draft = Draft::of(case).with(|status| {
        status.jobs = plan.power_management.iter().map(|method| format!("{method}/on")).collect();
    });
    draft.intend(Irreversible::PowerOn).note("PowerOnMeant", "power on meant").save()
}

/// Storage is not given back to a boot whose pods run elsewhere by now: the record shows that, or, of a record that was
/// deleted, the Node.
fn stays_off(case: &Case<'_>) -> Option<Next> {
    if case.fence.status.storage_only.is_some() {
        let Some(node) = own_node(case) else { return Some(wait(case, Vec::new(), None)) };
        let another = is_another(&case.fence.status.boot_id, &node.boot_id);
        match (another, pods_are_there(case)) {
            (false, None) => return Some(pods_unknown(case)),
            (false, Some(false)) => return Some(left_cut(case)),
            (true, _) | (false, Some(true)) => {}
        }
        if is_cut(case.fence, node) {
            return Some(left_cut(case));
        }
    }
    let left = current_step(case).is_some_and(|step| step.leave_off) && !case.fence.spec.abort;
    left.then(|| left_off(case))
}

/// Whichever actor let them go: successors of those that are gone may run elsewhere. Nothing while they cannot be
/// listed.
fn pods_are_there(case: &Case<'_>) -> Option<bool> {
    let pods = recent_pods(case)?;
    let there = |uid: &String| pods.iter().any(|pod| pod.at.uid == *uid);
    Some(case.fence.status.storage_pods.iter().all(there))
}

fn left_cut(case: &Case<'_>) -> Next {
    blocked(case, "LeftCut", "its storage is cut off and its pods are released; reboot it by hand")
}

/// Pods of the boot that the Node names, or may be of, were released while their storage was cut off.
#[must_use]
pub fn is_cut(fence: &NodeFence, node: &Node) -> bool {
    let status = &fence.status;
    let cut = status.off.as_ref().map_or(&status.boot_id, |off| &off.boot_id);
    let by_record = status.release_begun && !is_another(cut, &node.boot_id);
    let by_node = node.annotations.get(STORAGE_RELEASED).is_some_and(|boot| !is_another(boot, &node.boot_id));
    by_record || by_node
}

/// Both are known, and differ.
fn is_another(boot: &str, other: &str) -> bool {
    !boot.is_empty() && !other.is_empty() && boot != other
}

/// Its BMC reports Off and its kubelet speaks: which of them is right is known soon, and nothing is ordered until then.
fn may_live(case: &Case<'_>) -> Option<Next> {
    let message = "its BMC says Off and its kubelet renews its Lease; it is known soon which boot that is";
    let blockers = vec![Blocker::new(AWAITING_READY, message)];
    if !is_suspected(case) {
        return None;
    }
    let booted = own_node(case).is_some_and(|node| new_boot(case, node));
    let next = || Draft::of(case).enter(Phase::AwaitReady, "its Node names a new boot; its BMC is late").save();
    Some(if booted { next() } else { wait(case, blockers, None) })
}

fn is_on(case: &Case<'_>) -> Option<Next> {
    let newest = case.gathered.power.last()?;
    let on = newest.state == PowerState::On && newest.at > case.entered;
    on.then(|| Draft::of(case).enter(Phase::AwaitReady, "its BMC says On already").save())
}

fn current_step<'a>(case: &Case<'a>) -> Option<&'a PowerStep> {
    match steps::current(case.fence) {
        Some(Ok(PolicyStep::Power { step, .. })) => Some(step),
        Some(
            Ok(PolicyStep::Taint(_) | PolicyStep::Cordon | PolicyStep::Drain(_) | PolicyStep::Reap { .. }) | Err(_),
        )
        | None => None,
    }
}

pub(super) fn await_ready(case: &Case<'_>) -> Next {
    if ready_anew(case) || (case.fence.status.storage_only.is_some() && is_alive(case)) {
        return Draft::of(case).enter(Phase::Recovering, "Ready with a new boot id").save();
    }
    let span = steps::ready_timeout(current_step(case).unwrap_or(&PowerStep::default()));
    match span.map(|span| left(case, span)) {
        Err(blocker) => wait(case, vec![blocker], None),
        Ok(Some(until)) => pause(case, until),
        Ok(None) => never_ready(case),
    }
}

pub(super) fn is_alive(case: &Case<'_>) -> bool {
    let renewed = case.kubelet_lease.is_some_and(|lease| lease.stale_for(case.now.moment) < kubelet::LIVES);
    renewed && own_node(case).is_some_and(Node::is_ready)
}

/// On to the next step, or the same one again.
fn never_ready(case: &Case<'_>) -> Next {
    if case.fence.spec.abort {
        return blocked(case, "NeverReady", "it was turned on and is not Ready; look at its console");
    }
    let status = &case.fence.status;
    let draft = Draft::of(case).with(|status| {
        status.off = None;
        status.out_of_service = false;
    });
    if status.policy_step + 1 < case.fence.spec.steps.len() {
        return enter_step(case, status.policy_step + 1, draft, "turned on, but not Ready in time");
    }
    if status.restarts >= RESTARTS {
        let blocker = Blocker::new("NeverReady", "it was turned on and off, and is not Ready; look at its console");
        return draft.quarantine(blocker).save();
    }
    let draft = draft.with(|status| status.restarts += 1).failed();
    draft.enter(Phase::Failed, "turned on, but not Ready in time").save()
}
