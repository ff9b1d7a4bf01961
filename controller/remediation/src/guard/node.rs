//! Guards of one node: annotations to skip it, other remediators (peers), autoscalers and updates that have it, the control
//! plane and etcd's quorum, and a node that is Ready.

use std::collections::BTreeMap;

use super::{
    EvaluationInput, Subject,
    reason::{
        ABORTED, ETCD_QUORUM, ETCD_UNKNOWN, NODE_GONE, NODE_READY, NODE_UPDATING, ONLY_REPLICA, OWN_HOST,
        REMEDIATION_SKIPPED,
    },
    stage::DisruptionLevel,
};
use crate::{
    api::{
        self,
        fence::{Blocker, DrainReport},
        policy::ControlPlane,
    },
    external,
    facts::{Node, kubelet},
    message::MessageArgs,
    snapshot::{Quorum, Snapshot},
};

/// Taints by which autoscalers announce that they delete a node (cluster-autoscaler, Karpenter 1 and before).
const AUTOSCALER_TAINTS: [&str; 3] =
    ["ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted", "karpenter.sh/disruption"];
/// medik8s: no remediation, as a label or an annotation with the value `true`.
const EXCLUDE_FROM_REMEDIATION: &str = "remediation.medik8s.io/exclude-from-remediation";
/// Annotations, whatever their value: Cluster API's, and kured's while it reboots a node (`--annotate-nodes`).
const PEER_ANNOTATIONS: [&str; 4] = [
    "cluster.x-k8s.io/skip-remediation",
    "cluster.x-k8s.io/paused",
    "weave.works/kured-reboot-in-progress",
    "kured.dev/kured-reboot-in-progress",
];
/// Annotations by which a node's operating system reports that it is updated or rebooted for that, with the values that mean
/// it: OpenShift's Machine Config Operator (pkg/daemon/constants), Flatcar's update operator (pkg/constants).
const UPDATES: [(&str, &[&str]); 2] = [
    ("machineconfiguration.openshift.io/state", &["Working", "Rebooting"]),
    ("flatcar-linux-update.v1.flatcar-linux.net/reboot-in-progress", &["true"]),
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
    blockers.extend(claimed_by_peer(input.snapshot, subject));
    blockers
}

/// A peer holds a Lease on the node (medik8s). Leases that cannot be read block every node: each may be on it.
fn claimed_by_peer(snapshot: &Snapshot, subject: &Subject<'_>) -> Option<Blocker> {
    let leases = &snapshot.peer_leases;
    let lease = leases.held.get(subject.name).or(leases.unreadable.as_ref())?;
    (!acts_for_holder(snapshot, subject)).then(|| Blocker::of("ClaimedByPeer/lease", &[("lease", lease)]))
}

/// The holder has the Lease because it asked for this very record: `NodeHealthCheck` takes it before it makes its request.
/// A record for anything else of the same node waits as ever, and so does this one while another holder has the Lease.
fn acts_for_holder(snapshot: &Snapshot, subject: &Subject<'_>) -> bool {
    let holder = snapshot.peer_leases.holders.get(subject.name);
    let request = subject.fence.and_then(external::request_uid);
    let customer = snapshot.customers.get(subject.name).filter(|customer| Some(customer.request.as_str()) == request);
    customer.is_some_and(|customer| Some(&customer.holder) == holder)
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
    own.then(|| Blocker::plain(if input.snapshot.host.is_only { ONLY_REPLICA } else { OWN_HOST }))
}

/// Another program has the node: an autoscaler deletes it, a peer (another remediator) works on it, or its operating system
/// is updated.
#[must_use]
pub fn claimed(node: &Node) -> Option<Blocker> {
    autoscaler(node).or_else(|| peers(node)).or_else(|| updates(node))
}

fn autoscaler(node: &Node) -> Option<Blocker> {
    if node.deleting {
        return Some(Blocker::plain("Autoscaler/deleting"));
    }
    let taint = AUTOSCALER_TAINTS.into_iter().find(|key| node.taint(key).is_some())?;
    Some(Blocker::of("Autoscaler/taint", &[("taint", &taint)]))
}

fn peers(node: &Node) -> Option<Blocker> {
    let excluded = [&node.labels, &node.annotations]
        .into_iter()
        .any(|map| map.get(EXCLUDE_FROM_REMEDIATION).is_some_and(|v| v == "true"));
    let key = if excluded {
        Some(EXCLUDE_FROM_REMEDIATION)
    } else {
        PEER_ANNOTATIONS.into_iter().find(|key| node.annotations.contains_key(*key))
    };
    key.map(|key| Blocker::of("ClaimedByPeer/mark", &[("key", &key)]))
}

/// A node that is updated drains and reboots by itself: cut off in between it may not boot any more.
fn updates(node: &Node) -> Option<Blocker> {
    let (key, value) = UPDATES.into_iter().find_map(|(key, values)| {
        let value = node.annotations.get(key).filter(|value| values.contains(&value.as_str()))?;
        Some((key, value))
    })?;
    Some(Blocker::of(NODE_UPDATING, &[("key", &key), ("value", value)]))
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
    let others = input.tally.unavailable_control_plane(subject.name);
    let mut blockers = Vec::new();
    if !others.is_empty() {
        let args: MessageArgs<'_> = &[("count", &others.len()), ("nodes", &others.join(", "))];
        blockers.push(Blocker::of("ControlPlane/others", args));
    }
    // To cordon one takes nothing from etcd.
    if level != DisruptionLevel::Isolate {
        let lost = subject.node.is_none_or(|node| may_host_healthy_member(&input.snapshot.etcd_members, node));
        blockers.extend(quorum(input.snapshot.etcd, lost));
    }
    blockers
}

/// Whether a healthy etcd member may be lost with this node. It is certain that none is only where a member has an address
/// of the node and every member that has one is unhealthy.
fn may_host_healthy_member(members: &BTreeMap<String, bool>, node: &Node) -> bool {
    let mut found = node.addresses.iter().filter_map(|address| members.get(address)).peekable();
    found.peek().is_none() || found.any(|healthy| *healthy)
}

fn quorum(etcd: Quorum, may_host_healthy_member: bool) -> Option<Blocker> {
    match etcd {
        Quorum::Unknown => Some(Blocker::plain(ETCD_UNKNOWN)),
        Quorum::Members { healthy, total } => {
            let (left, least) = (healthy.saturating_sub(usize::from(may_host_healthy_member)), total / 2 + 1);
            (left < least || total == 0).then(|| {
                let args: MessageArgs<'_> =
                    &[("healthy", &healthy), ("total", &total), ("left", &left), ("least", &least)];
                Blocker::of(ETCD_QUORUM, args)
            })
        }
    }
}

/// To turn a node off ends what runs on it. On one that is Ready that is only right after a drain; a policy may ask for a
/// reap (the provider deletes the machine) even after a drain that failed.
pub(super) fn ready(input: &EvaluationInput<'_>, subject: &Subject<'_>) -> Option<Blocker> {
    let drain = subject.fence.and_then(|fence| fence.status.drain.as_ref());
    let step = subject.fence.and_then(|fence| fence.spec.steps.get(fence.status.policy_step));
    let reaps = step.and_then(|step| step.reap.as_ref()).is_some_and(|reap| reap.even_if_drain_failed);
    let drained = drain.is_some_and(|drain| drain.emptied() || reaps);
    (is_alive(input, subject) && !drained).then(|| node_ready(drain))
}

/// After a drain that left pods its message asks for no other drain.
pub(crate) fn node_ready(drain: Option<&DrainReport>) -> Blocker {
    Blocker::plain(if drain.is_some() { "NodeReady/undrained" } else { NODE_READY })
}

/// Ready, and its kubelet still renews its Lease. Silence counts from what the policy sets, or from the Lease's own
/// time; without a Lease the condition alone is believed.
fn is_alive(input: &EvaluationInput<'_>, subject: &Subject<'_>) -> bool {
    let lease = input.snapshot.kubelet_leases.get(subject.name);
    let silent = lease.is_some_and(|lease| {
        // A shorter Lease would not make silence mean more.
        let after = subject.policy.fast.map_or(lease.duration.max(kubelet::LEASE_DURATION), |fast| fast.silent_for);
        lease.stale_for(input.now.moment) >= after
    });
    subject.node.is_some_and(Node::is_ready) && !silent
}
