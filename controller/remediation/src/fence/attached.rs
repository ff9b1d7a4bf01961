//! Volumes that are still attached to a node whose pods were released: they keep the out-of-service taint, and if that lasts
//! the record names them, and what to do.

use std::{collections::BTreeSet, time::Duration};

use jiff::SignedDuration;

use super::{FenceInput, interrupt::own_node, release::is_deleted_by_release};
use crate::{
    api::{
        OUT_OF_SERVICE, OUT_OF_SERVICE_BY,
        fence::{Blocker, Phase},
    },
    facts::{Attachment, Pod, Volume},
    guard::reason::ATTACHMENTS_LEFT,
    message::MessageArgs,
};

/// With the taint the attach-detach controller waits for no unmount; a driver that answers needs seconds.
const STUCK_AFTER: Duration = Duration::from_secs(120);
/// So many are named.
const NAMED: usize = 3;

/// Attachments to the node that no pod explains which the release left there: a DaemonSet's pod that tolerates every taint
/// keeps its volume, and runs with it again. What is not known explains nothing; nothing while none were listed.
pub(super) fn left<'a>(input: &FenceInput<'a>) -> Option<Vec<&'a Attachment>> {
    let (_, all) = input.gathered.attachments.as_ref()?;
    let stay: BTreeSet<&str> = staying(input).flat_map(|pod| &pod.volumes).filter_map(volume).collect();
    let of_node = all.iter().filter(|one| one.node == input.fence.spec.node_name);
    Some(of_node.filter(|one| !stay.contains(one.volume.as_str())).collect())
}

/// Pods with volumes that a release does not end.
fn staying<'a>(input: &FenceInput<'a>) -> impl Iterator<Item = &'a Pod> {
    let pods = input.gathered.pods.as_ref().map(|(_, pods)| pods.as_slice()).unwrap_or_default();
    let node = input.fence.spec.node_name.as_str();
    let has_volumes = |pod: &&Pod| pod.volumes.iter().any(|volume| matches!(volume, Volume::Claim(_)));
    pods.iter().filter(move |pod| pod.node == node && !is_deleted_by_release(pod, None)).filter(has_volumes)
}

fn volume(volume: &Volume) -> Option<&str> {
    if let Volume::Claim(claim) = volume { claim.volume.as_deref() } else { None }
}

/// Adds what a person has to know of volumes that stay attached, in whatever phase the record waits.
pub(super) fn report(input: &FenceInput<'_>, blockers: &mut Vec<Blocker>) {
    let Some(blocker) = stuck(input) else { return };
    blockers.retain(|other| other.reason != ATTACHMENTS_LEFT);
    blockers.push(blocker);
}

fn stuck(input: &FenceInput<'_>) -> Option<Blocker> {
    let age = age_of_release(input).filter(|age| *age >= STUCK_AFTER)?;
    let left = left(input).filter(|left| !left.is_empty())?;
    let names = left.iter().map(|one| format!("{} (volume {})", one.name, one.volume));
    let (count, minutes, names) = (left.len(), age.as_secs() / 60, named(names));
    let pods: Vec<String> = staying(input).map(|pod| format!("{}/{}", pod.at.namespace, pod.at.name)).collect();
    let args: MessageArgs<'_> = &[("count", &count), ("minutes", &minutes), ("attachments", &names)];
    Some(if pods.is_empty() {
        Blocker::of("AttachmentsStuck", args)
    } else {
        Blocker::of("AttachmentsStuck/pods", &[args, &[("pods", &named(pods.into_iter()))]].concat())
    })
}

/// At least: by the wall clock, unless that was set back since, and by how long this controller has seen the phase. One
/// whose record was deleted was released before the record that takes back what it left.
fn age_of_release(input: &FenceInput<'_>) -> Option<Duration> {
    let (status, here) = (&input.fence.status, input.now.moment.since(input.entered));
    if !status.out_of_service {
        let is_left = own_node(input).and_then(|node| node.taint(OUT_OF_SERVICE));
        let is_ours = is_left.is_some_and(|taint| taint.value == OUT_OF_SERVICE_BY);
        return (is_ours && status.phase == Phase::Recovering).then_some(here);
    }
    let by_wall = input.now.wall.duration_since(status.released_at?).max(SignedDuration::ZERO).unsigned_abs();
    Some(by_wall.max(here))
}

fn named(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.collect();
    let more = names.len().saturating_sub(NAMED);
    let first = names[..names.len() - more].join(", ");
    if more > 0 { format!("{first} and {more} more") } else { first }
}
