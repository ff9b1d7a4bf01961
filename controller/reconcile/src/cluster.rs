//! The API server, as far as remedies need it. Reads are linearizable (no cache); writes carry their preconditions.

use std::{collections::BTreeMap, future::Future, time::Duration};

use jiff::Timestamp;
use nodewell_remedy::{
    action::Telling,
    api::fence::NodeFence,
    facts::{Attachment, Budget, LeaseView, Node, Pod, PodRef, Taint},
};

use crate::failure::Failure;

/// The controller's own Lease, with its version for compare-and-swap.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Leadership {
    pub resource_version: String,
    pub holder: String,
    pub duration: Duration,
    pub acquired: Option<Timestamp>,
    pub renewed: Option<Timestamp>,
    /// `leaseTransitions`: the term, also called epoch; grows with every change of holder.
    pub transitions: u64,
    pub annotations: BTreeMap<String, String>,
}

/// One host's word on the nodes that it tried because they looked lost.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReachReport {
    pub host: String,
    /// Grows with every word; one that stands still is not believed for long.
    pub sequence: u64,
    /// Nodes by name: for how many seconds they could not be reached, nothing where they can.
    pub nodes: BTreeMap<String, Option<u64>>,
}

/// Which of a Node's Leases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LeaseKind {
    /// `kube-node-lease`.
    Kubelet,
    /// `nodewell`.
    Agent,
}

/// The longest any call may take is the implementation's to keep; every method may be dropped at any await, which leaves
/// it unknown whether a write took effect.
pub trait Cluster {
    fn node(&self, name: &str) -> impl Future<Output = Result<Option<Node>, Failure>>;
    fn lease(&self, kind: LeaseKind, node: &str) -> impl Future<Output = Result<Option<LeaseView>, Failure>>;
    fn fence(&self, name: &str) -> impl Future<Output = Result<Option<NodeFence>, Failure>>;
    /// Pods with `spec.nodeName`; their claims may be known by name alone.
    fn pods_on(&self, node: &str) -> impl Future<Output = Result<Vec<Pod>, Failure>>;
    /// The same with what their claims are, which may take a few requests for each.
    fn pods_and_claims_on(&self, node: &str) -> impl Future<Output = Result<Vec<Pod>, Failure>> {
        self.pods_on(node)
    }
    /// This very pod: another one of its name is none.
    fn pod(&self, at: &PodRef) -> impl Future<Output = Result<Option<Pod>, Failure>>;
    fn attachments_on(&self, node: &str) -> impl Future<Output = Result<Vec<Attachment>, Failure>>;
    /// The budgets that select this pod.
    fn budgets_of(&self, pod: &Pod) -> impl Future<Output = Result<Vec<Budget>, Failure>>;
    /// `data` of a ConfigMap in the controller's namespace.
    fn config_map(&self, name: &str) -> impl Future<Output = Result<Option<BTreeMap<String, String>>, Failure>>;
    /// `data` of a Secret in the controller's namespace, decoded.
    fn secret(&self, name: &str) -> impl Future<Output = Result<Option<BTreeMap<String, Vec<u8>>>, Failure>>;
    /// The kill switch, read right before each irreversible act: a reason if everything is to stop.
    fn stopped(&self) -> impl Future<Output = Result<Option<String>, Failure>>;

    /// Takes the node's Lease by which remediators tell each other who has it in hand, or renews ours. Another's is a
    /// [`Failure::Conflict`] that names it. Only asked where such Leases are kept.
    fn claim(&self, node: &str, uid: &str) -> impl Future<Output = Result<(), Failure>> {
        let _ = (node, uid);
        std::future::ready(Ok(()))
    }
    fn open(&self, fence: &NodeFence) -> impl Future<Output = Result<NodeFence, Failure>>;
    /// Replaces `status` if the record still has this resourceVersion and UID.
    fn save(&self, fence: &NodeFence) -> impl Future<Output = Result<NodeFence, Failure>>;
    /// Deletes it, under the same condition.
    fn close(&self, fence: &NodeFence) -> impl Future<Output = Result<(), Failure>>;

    /// Adds the taint to the Node with this UID. False if one with this key and effect is there that has another value: it is
    /// somebody else's. Compare-and-swap inside.
    fn taint(&self, node: &str, uid: &str, taint: &Taint) -> impl Future<Output = Result<bool, Failure>>;
    /// Takes it away. False if one with this key and effect is there that has another value, and stays.
    fn untaint(&self, node: &str, uid: &str, taint: &Taint) -> impl Future<Output = Result<bool, Failure>>;
    /// Makes it unschedulable with our mark `by`. False if somebody else did before.
    fn cordon(&self, node: &str, uid: &str, by: &str) -> impl Future<Output = Result<bool, Failure>>;
    /// The same for a schedulable Node as the watch saw it, on condition that it is still that version: one request where
    /// [`cordon`](Self::cordon) makes two. With the Node as it is stored now, if that became known on the way.
    fn cordon_seen(&self, seen: &Node, by: &str) -> impl Future<Output = Result<(bool, Option<Node>), Failure>> {
        async { Ok((self.cordon(&seen.name, &seen.uid, by).await?, self.node(&seen.name).await.ok().flatten())) }
    }
    /// Only if it carries our mark. False if it does not, or if a person has cordoned it anew: their cordon stays. The mark
    /// goes in any case.
    fn uncordon(&self, node: &str, uid: &str, by: &str) -> impl Future<Output = Result<bool, Failure>>;

    /// Eviction v1 with the UID as precondition; 404 and 409 on the UID are [`Failure::NotFound`].
    fn evict(&self, pod: &PodRef, grace: Option<Duration>) -> impl Future<Output = Result<(), Failure>>;
    /// With the UID as precondition.
    fn delete_pod(&self, pod: &PodRef, grace: Option<Duration>) -> impl Future<Output = Result<(), Failure>>;

    /// An Event on the Node. Failing to tell never stops an act; implementations try for a while and give up.
    fn tell(&self, node: &str, uid: &str, telling: &Telling) -> impl Future<Output = ()>;

    /// What the controllers' hosts say of nodes they cannot reach, each host's own word.
    fn reach_reports(&self) -> impl Future<Output = Result<Vec<ReachReport>, Failure>> {
        std::future::ready(Ok(Vec::new()))
    }
    /// Writes this host's own, where only it writes (annotations of a Lease of its own).
    fn report_reach(&self, report: &ReachReport) -> impl Future<Output = Result<(), Failure>> {
        let _ = report;
        std::future::ready(Ok(()))
    }

    fn leadership(&self) -> impl Future<Output = Result<Option<Leadership>, Failure>>;
    /// Creates it (an empty resourceVersion) or replaces it, by compare-and-swap.
    fn lead(&self, lease: &Leadership) -> impl Future<Output = Result<Leadership, Failure>>;
}
