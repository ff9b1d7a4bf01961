//! Pods that came onto a node after a drain had emptied it: by then that drain is no reason to cut the power of a node that
//! lives, nor to pass over what its kubelet renewed since.

use super::{
    FenceInput, Next,
    drain_again::is_ordered,
    evidence,
    record::Draft,
    release::recent_pods,
    steps::{self, PolicyStep},
};
use crate::{
    api::fence::{Blocker, DrainReport, Phase},
    drain::ends_with_power,
    facts::Pod,
    message::Message,
};

/// A drain has left nothing, by its report.
fn is_emptied(input: &FenceInput<'_>) -> bool {
    input.fence.status.drain.as_ref().is_some_and(DrainReport::emptied)
}

/// One of those that came since and that the last look would refuse to end, while the record waits for its power step. A list of
/// before that may be one of before the drain's end.
pub(super) fn pod<'a>(input: &FenceInput<'a>) -> Option<&'a Pod> {
    let waits = input.fence.status.phase == Phase::AwaitGuards && is_emptied(input) && !awaits_list(input);
    of_node(input).filter(|_| waits)?.find(|pod| pod.deleting.is_none())
}

/// Its pods were not listed since this phase began.
pub(super) fn awaits_list(input: &FenceInput<'_>) -> bool {
    is_emptied(input) && input.gathered.pods.as_ref().is_some_and(|(at, _)| *at < input.entered)
}

/// Whether any came is not known.
pub(super) fn unknown(input: &FenceInput<'_>) -> Option<Blocker> {
    let waits = input.fence.status.phase == Phase::AwaitGuards && is_emptied(input);
    (waits && input.gathered.pods.is_none()).then(|| Blocker::plain("PodsUnknown/list"))
}

/// The report is void, so that the node is drained again, is cut off by its silence alone, or is off already. Not while an order was given and the
/// node lives: there it is waited for these pods to go.
pub(super) fn instead_of_power(input: &FenceInput<'_>) -> Option<Next> {
    let pod = pod(input)?;
    let (may_be_drained, is_released) = match steps::current(input.fence) {
        Some(Ok(PolicyStep::Power { releases, .. })) => (!is_ordered(&input.fence.status), releases),
        Some(Ok(PolicyStep::Reap { even_if_drain_failed: false })) => (!is_ordered(&input.fence.status), false),
        Some(Ok(PolicyStep::Reap { even_if_drain_failed: true })) => (false, false),
        Some(Ok(PolicyStep::Taint(_) | PolicyStep::Cordon | PolicyStep::Drain(_)) | Err(_)) | None => (false, false),
    };
    let is_dead = || evidence::by_silence(input).is_ok() || evidence::is_off(input).is_some();
    (may_be_drained || is_released && is_dead()).then(|| void(input, pod))
}

/// Its pods are about to be released, and a drain left none: these came since, and what the kubelet has renewed since its power
/// was cut counts. Those that are being deleted run as well.
pub(super) fn instead_of_release(input: &FenceInput<'_>) -> Option<Next> {
    let is_machine = input.fence.status.storage_only.is_none();
    let pod = of_node(input).filter(|_| is_machine && is_emptied(input))?.next()?;
    Some(void(input, pod))
}

fn of_node<'a>(input: &FenceInput<'a>) -> Option<impl Iterator<Item = &'a Pod> + use<'a>> {
    let name = &input.fence.spec.node_name;
    Some(recent_pods(input)?.iter().filter(move |pod| pod.node == *name && ends_with_power(pod)))
}

fn void(input: &FenceInput<'_>, pod: &Pod) -> Next {
    let pod = format!("{}/{}", pod.at.namespace, pod.at.name);
    let message = Message::of("DrainVoid", &[("pod", &pod)]);
    let report = DrainReport { done: false, refused_evictions: vec![format!("{pod} came after the drain")], left: 0 };
    Draft::of(input).with(|status| status.drain = Some(report)).warn(message).save()
}
