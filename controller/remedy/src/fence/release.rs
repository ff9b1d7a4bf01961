//! The phases in which the power is off: the out-of-service taint, Off read again, the pods released.

use std::time::Duration;

use jiff::SignedDuration;

use super::{
    Case, Next,
    begin::back_off,
    doubt::{READS, held},
    holds::{self, wait},
    interrupt::{new_boot, own_node, without_policy},
    ladder::{self, Rung},
    record::{Draft, act},
};
use crate::{
    action::Step,
    api::{
        OUT_OF_SERVICE, OUT_OF_SERVICE_BY,
        fence::{Confirmation, Hold, Irreversible, Phase},
    },
    facts::{Effect, Pod, PodRef, Taint},
    guard::reason::{NODE_READY, PODS_UNKNOWN},
    snapshot::PowerState,
    time::Moment,
};

/// A reading of Off is acted upon without another one for so long: somebody may turn it on meanwhile, and nobody boots in
/// less. From the reading to the taint it takes two writes.
const CONFIRMED_LASTS: SignedDuration = SignedDuration::from_secs(5);
/// A list of pods is good for so long: no pod comes onto a node that carries the taint.
const PODS_LAST: Duration = Duration::from_secs(10);

pub(super) fn out_of_service() -> Taint {
    Taint { key: OUT_OF_SERVICE.into(), value: OUT_OF_SERVICE_BY.into(), effect: Effect::NoExecute }
}

pub(super) fn off_confirmed(case: &Case<'_>) -> Next {
    let Some(off) = &case.fence.status.off else {
        return Draft::of(case).enter(Phase::InDoubt, "the confirmation is missing").save();
    };
    if let Some(next) = on_again(case) {
        return next;
    }
    match ladder::current(case.fence) {
        Some(Ok(Rung::Power { releases: true, .. })) if !without_policy(case) => isolate_for_good(case, off),
        _ => Draft::of(case).enter(Phase::PoweringOn, "nothing is to be released").save(),
    }
}

/// Taint, and Off read again: in this order, so that nothing can have come up unseen.
fn isolate_for_good(case: &Case<'_>, off: &Confirmation) -> Next {
    let status = &case.fence.status;
    let holds = release_holds(case);
    if !holds.is_empty() {
        return wait(case, holds, None);
    }
    let tainted = own_node(case).and_then(|node| node.taint(OUT_OF_SERVICE));
    let next = match tainted {
        _ if status.out_of_service || status.storage_only.is_some() || !is_recent(case, off) => {
            act(case, Step::ReadPower { times: READS })
        }
        Some(taint) => return taken_over(case, taint),
        None => act(case, Step::Taint(out_of_service())),
    };
    back_off(case).unwrap_or(next)
}

/// The taint is there already: ours of a record that was lost, or somebody's who thought the same.
fn taken_over(case: &Case<'_>, taint: &Taint) -> Next {
    let ours = taint.value == OUT_OF_SERVICE_BY;
    let draft = Draft::of(case).note("OutOfService", "the Node carries the out-of-service taint already");
    let draft = draft.with(|status| {
        status.out_of_service = true;
        if ours && !status.ours.taints.contains(taint) {
            status.ours.taints.push(taint.clone());
        }
    });
    draft.save()
}

fn is_recent(case: &Case<'_>, off: &Confirmation) -> bool {
    let age = case.now.wall.duration_since(off.at);
    off.epoch == case.epoch && !age.is_negative() && age <= CONFIRMED_LASTS
}

/// Its Node says Ready with the boot that ended, and there is no Lease to say that this is only an old word.
fn release_holds(case: &Case<'_>) -> Vec<Hold> {
    let mut holds = holds::release(case);
    if case.kubelet_lease.is_none() && own_node(case).is_some_and(crate::facts::Node::is_ready) {
        holds.push(Hold::new(NODE_READY, "the Node says Ready and its Lease cannot be read; look at kube-node-lease"));
    }
    holds
}

fn says_on(case: &Case<'_>) -> bool {
    let newest = case.gathered.power.last();
    newest
        .is_some_and(|newest| newest.state == PowerState::On && (newest.at > case.entered || is_newer(case, newest.at)))
}

/// It was asked for after Off was read, however long that took to be written.
fn is_newer(case: &Case<'_>, asked: Moment) -> bool {
    let Some(off) = case.fence.status.off.as_ref().filter(|off| off.epoch == case.epoch) else { return false };
    case.now.wall.checked_sub(case.now.moment.since(asked)).is_ok_and(|asked| asked > off.at)
}

/// Its BMC says On since: the proof is void, and it has to be fenced anew.
fn on_again(case: &Case<'_>) -> Option<Next> {
    says_on(case).then(|| {
        let draft = Draft::of(case).with(|status| {
            status.off = None;
            status.out_of_service = false;
        });
        draft.enter(Phase::Guarded, "its BMC says On again").save()
    })
}

/// It was left off, with its pods gone, for a person to turn on: this is what was asked for, and no reason to cut it again.
fn turned_on(case: &Case<'_>) -> Option<Next> {
    let leaves_off = matches!(ladder::current(case.fence), Some(Ok(Rung::Power { step, .. })) if step.leave_off);
    (leaves_off && says_on(case))
        .then(|| Draft::of(case).enter(Phase::AwaitReady, "it was left off and somebody turned it on").save())
}

/// Somebody took the out-of-service taint away: it is set again, and Off read again, before any pod goes.
fn untainted(case: &Case<'_>) -> Option<Next> {
    let status = &case.fence.status;
    let missing = own_node(case).is_some_and(|node| node.taint(OUT_OF_SERVICE).is_none());
    (status.storage_only.is_none() && missing).then(|| {
        let draft = Draft::of(case).with(|status| status.out_of_service = false);
        draft.enter(Phase::OffConfirmed, "the out-of-service taint was taken away").save()
    })
}

pub(super) fn pods_released(case: &Case<'_>) -> Next {
    let meant = case.fence.status.intent.is_some();
    if !meant {
        if let Some(next) = turned_on(case).or_else(|| on_again(case)).or_else(|| untainted(case)) {
            return next;
        }
        if without_policy(case) {
            return Draft::of(case).enter(Phase::PoweringOn, "the policy is gone; nothing more is released").save();
        }
    }
    let Some(pods) = pods(case) else {
        let holds = vec![Hold::new(PODS_UNKNOWN, "the node's pods cannot be listed right now")];
        let until = Some(case.now.moment.plus(Duration::from_secs(1)));
        return Next::Wait { until, holds };
    };
    if pods.is_empty() {
        return nothing_left(case);
    }
    let holds = release_holds(case);
    match (meant, holds.is_empty()) {
        (true, true) => act(case, Step::Release { pods }),
        (true, false) => Draft::of(case).enter(Phase::InDoubt, "the guards allow the release no more").save(),
        (false, true) => {
            booted_since(case).or_else(|| back_off(case)).unwrap_or_else(|| mean_release(case, pods.len()))
        }
        (false, false) => wait(case, holds, None),
    }
}

/// A node that is cut off one storage may have booted before the cut and have said so after it: what was running when the
/// storage went is of this boot then. Its pods stay its own, or nothing could tell it from a boot that began after a release,
/// and it is given its storage back.
fn booted_since(case: &Case<'_>) -> Option<Next> {
    let booted = own_node(case).is_some_and(|node| new_boot(case, node));
    (case.fence.status.storage_only.is_some() && booted).then(|| {
        let why = "it has booted since its power off was meant; nothing more is released";
        Draft::of(case).enter(Phase::PoweringOn, why).save()
    })
}

fn mean_release(case: &Case<'_>, count: usize) -> Next {
    let draft = Draft::of(case).intend(Irreversible::Release).with(|status| status.release_begun = true);
    draft.note("ReleaseMeant", format!("release of {count} pods meant")).save()
}

fn nothing_left(case: &Case<'_>) -> Next {
    match ladder::current(case.fence) {
        Some(Ok(Rung::Power { step, .. })) if step.leave_off && case.fence.status.intent.is_none() => left_off(case),
        _ => {
            let draft = Draft::of(case).with(|status| status.intent = None);
            draft.enter(Phase::PoweringOn, "no pod is left to release").save()
        }
    }
}

pub(super) fn left_off(case: &Case<'_>) -> Next {
    held(
        case,
        "LeftOff",
        "the policy leaves it off for a person; turn it on, or abort this record to have it turned on",
    )
}

/// The pods to be released, each by its UID; nothing if nobody knows.
fn pods(case: &Case<'_>) -> Option<Vec<PodRef>> {
    let (at, pods) = case.gathered.pods.as_ref()?;
    let storage = case.fence.status.storage_only.as_deref();
    let known = case.now.moment.since(*at) <= PODS_LAST;
    let ours = pods.iter().filter(|pod| pod.node == case.fence.spec.node_name && is_released(pod, storage));
    known.then(|| ours.map(|pod| pod.at.clone()).collect())
}

/// Static pods and those of a DaemonSet would only come back to the same node. One that is deleted already and has
/// finalizers waits for somebody else.
fn is_released(pod: &Pod, storage: Option<&str>) -> bool {
    let daemon = pod.owner.as_ref().is_some_and(|owner| owner.kind == "DaemonSet");
    let waits = pod.finalizers && pod.deleting.as_ref().is_some_and(|deletion| deletion.grace.is_zero());
    !pod.mirror && !daemon && !waits && storage.is_none_or(|storage| pod.is_only_on(storage))
}
