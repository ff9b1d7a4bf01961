//! The phases in which the power is off: Off is read again, the release is intended, and then the taint is set and the
//! pods are deleted in one operation. What a release is stands in [`crate::api`].

use std::time::Duration;

use jiff::SignedDuration;

use super::{
    FenceInput, Next,
    begin::{back_off, has, policy_blockers},
    blockers::{self, wait},
    doubt::READS,
    interrupt::{new_boot, own_node, without_policy},
    left_off, levels,
    record::{Draft, perform},
    refilled,
    steps::{self, PolicyStep},
};
use crate::{
    action::{IrreversibleOp, ReversibleOp},
    api::{
        OUT_OF_SERVICE, OUT_OF_SERVICE_BY,
        fence::{Blocker, Confirmation, DrainReport, NodeFence, Phase},
    },
    facts::{Effect, Pod, PodRef, Taint},
    guard::reason::LEASE_MISSING,
    message::Message,
    snapshot::{PowerReading, PowerState},
};

/// A reading of Off is acted upon without another one for so long: the machine may be turned on meanwhile, and none
/// boots in less. From the reading to the taint it takes two writes, and the last look reads the power once more.
const CONFIRMED_LASTS: SignedDuration = SignedDuration::from_secs(5);
/// A list of pods is good for so long: no pod comes onto a node that carries the taint.
const PODS_LAST: Duration = Duration::from_secs(10);

pub fn out_of_service() -> Taint {
    Taint { key: OUT_OF_SERVICE.into(), value: OUT_OF_SERVICE_BY.into(), effect: Effect::NoExecute }
}

pub(super) fn off_confirmed(input: &FenceInput<'_>) -> Next {
    let Some(off) = &input.fence.status.off else {
        return Draft::of(input).enter(Phase::InDoubt, Message::plain("FenceInDoubt/noConfirmation")).save();
    };
    if let Some(next) = on_again(input) {
        return next;
    }
    // What it would be turned on for is not known, and at the limit of its power cycles it is not turned on.
    if without_policy(input) && left_off::is_left_off_at_limit(input.fence) {
        return left_off::given_back(input).unwrap_or_else(|| wait(input, policy_blockers(input), None));
    }
    match steps::current(input.fence) {
        Some(Ok(PolicyStep::Power { releases: true, .. })) if !without_policy(input) => prepare_release(input, off),
        Some(
            Ok(
                PolicyStep::Power { .. }
                | PolicyStep::Taint(_)
                | PolicyStep::Cordon
                | PolicyStep::Drain(_)
                | PolicyStep::Reap { .. },
            )
            | Err(_),
        )
        | None => Draft::of(input).enter(Phase::PoweringOn, Message::plain("FencePoweringOn/nothing")).save(),
    }
}

/// Everything that a release needs comes before it is intended: nothing stops it once the Node is tainted. Kubernetes
/// itself deletes every pod that does not tolerate the taint, and asks no disruption budget.
fn prepare_release(input: &FenceInput<'_>, off: &Confirmation) -> Next {
    if let Some(next) = refilled::instead_of_release(input) {
        return next;
    }
    let blockers: Vec<Blocker> = release_blockers(input).into_iter().chain(levels::denial_unread(input)).collect();
    if !blockers.is_empty() {
        return wait(input, blockers, None);
    }
    let Some(pods) = pods_to_release(input) else { return pods_unknown(input) };
    let void = booted_since(input).or_else(|| another_boot(input)).or_else(|| spoke_since(input));
    let void = void.or_else(|| denied(input));
    if let Some(next) = void.or_else(|| back_off(input)) {
        return next;
    }
    // Those that are gone were let go by another actor, and are marked as released all the same.
    if input.fence.status.storage_only.is_some() && pods.is_empty() && input.fence.status.storage_pods.is_empty() {
        return nothing_left(input);
    }
    match is_recent(input, off) && off.reads >= READS {
        true => count_pods(input).map_or_else(|| pods_unknown(input), |count| intend_release(input, count)),
        false => {
            levels::instead_of_silent(input).unwrap_or_else(|| perform(input, ReversibleOp::ReadPower { times: READS }))
        }
    }
}

fn is_recent(input: &FenceInput<'_>, off: &Confirmation) -> bool {
    let age = input.now.wall.duration_since(off.at);
    off.epoch == input.epoch && !age.is_negative() && age <= CONFIRMED_LASTS
}

/// Its Node reports Ready with the boot that ended, and there is no Lease to show that this is only an old report. Or the
/// Lease whose silence was the evidence is gone, and with it whether the kubelet has renewed it since.
fn release_blockers(input: &FenceInput<'_>) -> Vec<Blocker> {
    let mut blockers = blockers::to_release(input);
    let unheard = own_node(input).filter(|_| input.kubelet_lease.is_none());
    if unheard.is_some_and(crate::facts::Node::is_ready) {
        blockers.push(Blocker::plain("NodeReady/noLease"));
    } else if unheard.is_some() && needs_lease(input.fence) {
        blockers.push(Blocker::plain(LEASE_MISSING));
    }
    blockers
}

pub(super) fn is_read_on(input: &FenceInput<'_>) -> bool {
    let since = |at| at > input.entered || age_of_off(input).is_some_and(|off| input.now.moment.since(at) < off);
    let on = |reading: &PowerReading| reading.state == PowerState::On && levels::counts(input, reading);
    let asked = input.gathered.power.iter().any(|reading| on(reading) && since(reading.at));
    // An answer may come in the very instant of the confirmation.
    let answered = |at| since(at) || age_of_off(input).is_some_and(|off| input.now.moment.since(at) == off);
    asked || input.gathered.last_on_answer.is_some_and(answered)
}

/// How long ago Off was read, however long it took to be written: what was asked since is younger.
fn age_of_off(input: &FenceInput<'_>) -> Option<Duration> {
    let off = input.fence.status.off.as_ref().filter(|off| off.epoch == input.epoch)?;
    Duration::try_from(input.now.wall.duration_since(off.at)).ok()
}

/// Its BMC reports On since: the proof is void, and it has to be fenced again.
fn on_again(input: &FenceInput<'_>) -> Option<Next> {
    is_read_on(input).then(|| {
        let draft = Draft::of(input).with(|status| {
            status.off = None;
            // Nothing was released by it yet: it flaps, or does not obey, and another level is tried.
            if !status.out_of_service {
                status.failed_levels.push(status.level);
            }
            status.out_of_service = false;
        });
        draft.enter(Phase::AwaitGuards, Message::plain("FenceAwaitGuards/on")).save()
    })
}

/// Nothing was released yet, or another actor took the out-of-service taint away: everything is asked again before it
/// is set.
fn taint_missing(input: &FenceInput<'_>) -> Option<Next> {
    let status = &input.fence.status;
    let taken = own_node(input).is_some_and(|node| node.taint(OUT_OF_SERVICE).is_none());
    let missing = !status.out_of_service || taken;
    (status.storage_only.is_none() && missing).then(|| {
        let draft = Draft::of(input).with(|status| status.out_of_service = false);
        draft.enter(Phase::OffConfirmed, Message::plain("FenceOffConfirmed/untainted")).save()
    })
}

pub(super) fn pods_released(input: &FenceInput<'_>) -> Next {
    if input.fence.status.intent.is_some() {
        return release(input);
    }
    let left_off = left_off::given_back(input).or_else(|| left_off::turned_on(input));
    if let Some(next) = left_off.or_else(|| on_again(input)).or_else(|| taint_missing(input)) {
        return next;
    }
    if without_policy(input) && !left_off::is_left_off_at_limit(input.fence) {
        return Draft::of(input).enter(Phase::PoweringOn, Message::plain("FencePoweringOn/noPolicy")).save();
    }
    match pods_to_release(input) {
        None => pods_unknown(input),
        Some(pods) if pods.is_empty() => nothing_left(input),
        Some(_) => Draft::of(input).enter(Phase::OffConfirmed, Message::plain("FenceOffConfirmed/podsLeft")).save(),
    }
}

/// It is intended, by this leader and a moment ago. If its policy is gone since, the rate of pods by which it was intended
/// is too.
fn release(input: &FenceInput<'_>) -> Next {
    let Some(pods) = pods_to_release(input) else { return pods_unknown(input) };
    if !without_policy(input) && release_blockers(input).is_empty() {
        return perform(input, IrreversibleOp::Release { pods });
    }
    Draft::of(input).enter(Phase::InDoubt, Message::plain("FenceInDoubt/guards")).save()
}

pub(super) fn pods_unknown(input: &FenceInput<'_>) -> Next {
    let blockers = vec![Blocker::plain("PodsUnknown/list")];
    wait(input, blockers, Some(Duration::from_secs(1)))
}

/// The Node names another boot than the one that was confirmed to have ended, or names one where none was known: it
/// booted right before its power was cut, or was turned on since. Nothing is known of that boot; it is fenced again,
/// and may well be off already.
fn another_boot(input: &FenceInput<'_>) -> Option<Next> {
    let known = input.fence.status.off.as_ref().map(|off| &off.boot_id);
    own_node(input).filter(|node| !node.boot_id.is_empty() && known != Some(&node.boot_id))?;
    let draft = Draft::of(input).with(|status| {
        status.off = None;
        status.out_of_service = false;
    });
    Some(draft.enter(Phase::AwaitGuards, Message::plain("FenceAwaitGuards/anotherBoot")).save())
}

/// Its silence was the evidence, and its kubelet has renewed its Lease since: a BMC that reports Off lies, or the renewal was
/// seen late. All evidence has to come again, from after the renewal; the next leader sees that by the record.
fn spoke_since(input: &FenceInput<'_>) -> Option<Next> {
    must_be_silent(input.fence).then_some(())?;
    input.kubelet_lease.filter(|lease| lease.renewed != input.fence.status.lease_renewed)?;
    let draft = Draft::of(input).with(|status| {
        status.off = None;
        status.out_of_service = false;
    });
    Some(draft.enter(Phase::AwaitGuards, Message::plain("FenceAwaitGuards/spoke")).save())
}

/// Its level has reported Off while the kubelet spoke, and no On since: another one has to confirm it, or nothing does.
fn denied(input: &FenceInput<'_>) -> Option<Next> {
    let level = input.fence.status.level;
    levels::is_denied(input, level).then(|| {
        let draft = Draft::of(input).with(|status| {
            status.off = None;
            status.out_of_service = false;
        });
        draft.enter(Phase::AwaitGuards, Message::of("FenceAwaitGuards/denied", &[("level", &level)])).save()
    })
}

/// Its pods are released because it fell silent: not after a drain, which left nothing to release, nor for its storage alone,
/// without which it lives on.
#[must_use]
pub fn must_be_silent(fence: &NodeFence) -> bool {
    let drained = fence.status.drain.as_ref().is_some_and(DrainReport::emptied);
    !drained && fence.status.storage_only.is_none()
}

/// Its kubelet had a Lease when its power was cut. Without it nothing shows that it has been silent since.
#[must_use]
pub fn needs_lease(fence: &NodeFence) -> bool {
    must_be_silent(fence) && fence.status.lease_renewed.is_some()
}

/// A node that is cut off one storage may have booted before the cut and have reported it after the cut: what was
/// running when the storage went is of this boot then. Its pods stay its own, or nothing could distinguish it from a
/// boot that began after a release, and its storage is restored.
fn booted_since(input: &FenceInput<'_>) -> Option<Next> {
    let booted = own_node(input).is_some_and(|node| new_boot(input, node));
    (input.fence.status.storage_only.is_some() && booted)
        .then(|| Draft::of(input).enter(Phase::PoweringOn, Message::plain("FencePoweringOn/booted")).save())
}

/// The taint is remembered as ours before it is set, so that it is not forgotten whatever happens in between.
fn intend_release(input: &FenceInput<'_>, count: usize) -> Next {
    let draft = Draft::of(input).intend_release(count).with(|status| {
        status.release_begun = true;
        let taint = out_of_service();
        if status.storage_only.is_some() {
            return;
        }
        status.released_boot = status.off.as_ref().map(|off| off.boot_id.clone()).unwrap_or_default();
        if !has(&status.own_changes.taints, &taint) {
            status.own_changes.taints.push(taint);
        }
    });
    let of_storage = input.fence.status.storage_only.is_some();
    let key = if of_storage { "FencePodsReleased/storage" } else { "FencePodsReleased" };
    draft.enter(Phase::PodsReleased, Message::of(key, &[("count", &count)])).save()
}

/// How many pods go: of a node that loses its power all that do not tolerate the taint, whatever owns them. Nothing if
/// they were not counted.
fn count_pods(input: &FenceInput<'_>) -> Option<usize> {
    let (_, pods) = input.gathered.pods.as_ref()?;
    let here = pods.iter().filter(|pod| pod.node == input.fence.spec.node_name);
    Some(here.filter(|pod| is_deleted_by_release(pod, input.fence.status.storage_only.as_deref())).count())
}

/// A release ends this pod: Kubernetes deletes it for the taint, or the controller does although it tolerates the taint.
#[must_use]
pub fn is_deleted_by_release(pod: &Pod, storage: Option<&str>) -> bool {
    is_to_be_released(pod, storage) || storage.is_none() && pod.is_evicted_by(&out_of_service())
}

fn nothing_left(input: &FenceInput<'_>) -> Next {
    if left_off::is_left_off(input.fence) && input.fence.status.intent.is_none() {
        return left_off::stays_off(input);
    }
    let draft = Draft::of(input).with(|status| status.intent = None);
    draft.enter(Phase::PoweringOn, Message::plain("FencePoweringOn/nothing")).save()
}

/// The pods to be released, each by its UID; nothing if they are not known.
fn pods_to_release(input: &FenceInput<'_>) -> Option<Vec<PodRef>> {
    let storage = input.fence.status.storage_only.as_deref();
    let ours = recent_pods(input)?.iter();
    let ours = ours.filter(|pod| pod.node == input.fence.spec.node_name && is_to_be_released(pod, storage));
    Some(ours.map(|pod| pod.at.clone()).collect())
}

/// Those that were listed a moment ago.
pub(super) fn recent_pods<'a>(input: &FenceInput<'a>) -> Option<&'a [Pod]> {
    let (at, pods) = input.gathered.pods.as_ref()?;
    (input.now.moment.since(*at) <= PODS_LAST).then_some(pods)
}

/// One of the pods that a release deletes. Static pods and those of a DaemonSet would only come back to the same node.
/// One that is deleted already and has finalizers waits for another controller.
pub(super) fn is_to_be_released(pod: &Pod, storage: Option<&str>) -> bool {
    let daemon = pod.owner.as_ref().is_some_and(|owner| owner.kind == "DaemonSet");
    let waits = pod.finalizers && pod.deleting.as_ref().is_some_and(|deletion| deletion.grace.is_zero());
    !pod.mirror && !daemon && !waits && storage.is_none_or(|storage| pod.uses_only_storage(storage))
}
