//! What a node reports of itself, and what others report of it: nodes to skip, peers, autoscalers, the control plane.

use std::collections::BTreeMap;

use super::{
    EvaluationInput, Subject,
    reason::{ABORTED, ETCD_QUORUM, ETCD_UNKNOWN, NODE_GONE, NODE_READY, OWN_HOST, REMEDIATION_SKIPPED},
    stage::DisruptionLevel,
};
use crate::{
    api::{self, fence::Blocker, policy::ControlPlane},
    facts::{Node, kubelet},
    message::MessageArgs,
    snapshot::{PeerLeases, Quorum},
};

/// Taints by which autoscalers announce that they are taking a node away (cluster-autoscaler, Karpenter 1 and before).
const TAKEN_AWAY: [&str; 3] = ["ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted", "karpenter.sh/disruption"];
/// medik8s: keep off, as a label or an annotation with the value `true`.
const EXCLUDED: &str = "remediation.medik8s.io/exclude-from-remediation";
/// Cluster API's, and kured's while it reboots (`--annotate-nodes`); whatever their value.
const PEERS: [&str; 4] = [
    "cluster.x-k8s.io/skip-remediation",
    "cluster.x-k8s.io/paused",
    "weave.works/kured-reboot-in-progress",
    "kured.dev/kured-reboot-in-progress",
];

/// Blockers that stop even what has begun.
pub(super) fn blockers(input: &EvaluationInput<'_>, subject: &Subject<'_>) -> Vec<Blocker> {
    let mut blockers: Vec<_> =
        skipped(subject).into_iter().chain(aborted(subject)).chain(own_host(input, subject)).collect();
    let Some(node) = subject.node else {
        blockers.push(Blocker::of(NODE_GONE, &[("node", &subject.name)]));
        return blockers;
    };
    blockers.extend(claimed(node));
    blockers.extend(claimed_by_peer(&input.snapshot.peer_leases, subject.name));
    blockers
}

/// Leases of peers that cannot be read block every node: any of them may be claimed.
fn claimed_by_peer(leases: &PeerLeases, node: &str) -> Option<Blocker> {
    let lease = leases.held.get(node).or(leases.unreadable.as_ref())?;
    Some(Blocker::of("ClaimedByPeer/lease", &[("lease", lease)]))
}

fn skipped(subject: &Subject<'_>) -> Option<Blocker> {
    let of_node = subject.node.and_then(|node| node.annotations.get(api::SKIP_REMEDIATION)).map(|why| ("Node", why));
    let of_fence = subject.fence.and_then(|fence| fence.metadata.annotations.get(api::SKIP_REMEDIATION));
    let (kind, value) = of_node.or(of_fence.map(|why| ("NodeFence", why)))?;
    let args: MessageArgs<'_> = &[("kind", &kind), ("annotation", &api::SKIP_REMEDIATION), ("value", value)];
    Some(Blocker::of(REMEDIATION_SKIPPED, args))
}

fn aborted(subject: &Subject<'_>) -> Option<Blocker> {
    let abort = subject.fence.is_some_and(|fence| fence.spec.abort);
    abort.then(|| Blocker::plain(ABORTED))
}

fn own_host(input: &EvaluationInput<'_>, subject: &Subject<'_>) -> Option<Blocker> {
    let own = input.snapshot.host.node.as_deref() == Some(subject.name);
    own.then(|| Blocker::plain(OWN_HOST))
}

/// Another actor remediates it: an autoscaler, or a peer.
#[must_use]
pub fn claimed(node: &Node) -> Option<Blocker> {
    autoscaler(node).or_else(|| peers(node))
}

fn autoscaler(node: &Node) -> Option<Blocker> {
    if node.deleting {
        return Some(Blocker::plain("Autoscaler/deleting"));
    }
    let taint = TAKEN_AWAY.into_iter().find(|key| node.taint(key).is_some())?;
    Some(Blocker::of("Autoscaler/taint", &[("taint", &taint)]))
}

fn peers(node: &Node) -> Option<Blocker> {
    let excluded =
        [&node.labels, &node.annotations].into_iter().any(|map| map.get(EXCLUDED).is_some_and(|v| v == "true"));
    let key = if excluded { Some(EXCLUDED) } else { PEERS.into_iter().find(|key| node.annotations.contains_key(*key)) };
    key.map(|key| Blocker::of("ClaimedByPeer/mark", &[("key", &key)]))
}

/// One control-plane node at a time, and only while etcd keeps its quorum without it.
pub(super) fn control_plane(
    input: &EvaluationInput<'_>,
    subject: &Subject<'_>,
    level: DisruptionLevel,
) -> Vec<Blocker> {
    if !subject.node.is_some_and(Node::is_control_plane) {
        return Vec::new();
    }
    if subject.policy.control_plane == ControlPlane::Never {
        return vec![Blocker::of("ControlPlane/policy", &[("policy", &subject.policy.name)])];
    }
    let others = input.tally.control_plane_out(subject.name);
    let mut blockers = Vec::new();
    if !others.is_empty() {
        let args: MessageArgs<'_> = &[("count", &others.len()), ("nodes", &others.join(", "))];
        blockers.push(Blocker::of("ControlPlane/others", args));
    }
    // To cordon one takes nothing from etcd.
    if level != DisruptionLevel::Isolate {
        let lost = subject.node.is_none_or(|node| takes_a_member(&input.snapshot.etcd_members, node));
        blockers.extend(quorum(input.snapshot.etcd, lost));
    }
    blockers
}

/// Whether a healthy member may be lost with this node. Only where a member stands at the node's own address, and at no
/// address of it a healthy one, it is certain that none is.
fn takes_a_member(members: &BTreeMap<String, bool>, node: &Node) -> bool {
    let mut found = node.addresses.iter().filter_map(|address| members.get(address)).peekable();
    found.peek().is_none() || found.any(|healthy| *healthy)
}

fn quorum(etcd: Quorum, takes_a_member: bool) -> Option<Blocker> {
    match etcd {
        Quorum::Unknown => Some(Blocker::plain(ETCD_UNKNOWN)),
        Quorum::Members { healthy, total } => {
            let (left, least) = (healthy.saturating_sub(usize::from(takes_a_member)), total / 2 + 1);
            (left < least || total == 0).then(|| {
                let args: MessageArgs<'_> =
                    &[("healthy", &healthy), ("total", &total), ("left", &left), ("least", &least)];
                Blocker::of(ETCD_QUORUM, args)
            })
        }
    }
}

/// Power ends what runs on a node. On one that is Ready that is only right after a drain; a reap may be asked for even
/// after one that failed.
pub(super) fn ready(input: &EvaluationInput<'_>, subject: &Subject<'_>) -> Option<Blocker> {
    let drain = subject.fence.and_then(|fence| fence.status.drain.as_ref());
    let step = subject.fence.and_then(|fence| fence.spec.steps.get(fence.status.policy_step));
    let reaps = step.and_then(|step| step.reap.as_ref()).is_some_and(|reap| reap.even_if_drain_failed);
    let drained = drain.is_some_and(|drain| drain.emptied() || reaps);
    (is_alive(input, subject) && !drained).then(|| Blocker::plain(NODE_READY))
}

/// Ready, and its kubelet still renews its Lease. Silence counts from what the policy sets, or from the Lease's own
/// time; without a Lease the condition alone is believed.
fn is_alive(input: &EvaluationInput<'_>, subject: &Subject<'_>) -> bool {
    let lease = input.snapshot.kubelet_leases.get(subject.name);
    let silent = lease.is_some_and(|lease| {
        // A shorter Lease would not make silence mean more.
        let after = subject.policy.fast.map_or(lease.duration.max(kubelet::LEASE), |fast| fast.silent_for);
        lease.stale_for(input.now.moment) >= after
    });
    subject.node.is_some_and(Node::is_ready) && !silent
}
