//! What the API server stores, with one version for all, and every change in its order for the watches.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use nodewell_reconcile::cluster::{Leadership, ReachReport};
use nodewell_remediation::{
    api::{fence::NodeFence, policy::RemediationPolicy},
    facts::{LeaseView, Node, Pod},
    time::Moment,
};

use super::Attached;

/// Names of a node's pods, and how often anything of them was changed.
#[derive(Debug, Default)]
struct Placed {
    names: BTreeSet<String>,
    version: u64,
}

#[derive(Debug, Default)]
pub struct Store {
    pub version: u64,
    /// UIDs are never given twice, whatever becomes of versions.
    pub uids: u64,
    /// How often the store was set back to a backup.
    pub set_back: u64,
    pub nodes: BTreeMap<String, Rc<Node>>,
    pub leases: BTreeMap<String, LeaseView>,
    /// Each kubelet's first; for a mutation.
    pub first_leases: BTreeMap<String, LeaseView>,
    /// By name; there is one namespace.
    pub pods: BTreeMap<String, Pod>,
    /// The pods of each node.
    placed: BTreeMap<String, Placed>,
    /// Pods whose objects wait for finalizers, and until when.
    pub finishing: BTreeMap<String, Moment>,
    pub attached: BTreeMap<String, Attached>,
    /// Nodes whose volumes the attach-detach controller cannot detach.
    pub undetachable: BTreeSet<String>,
    /// Boots of which agents' Leases report that they are about to end, by node.
    pub shutdowns: BTreeMap<String, String>,
    pub fences: BTreeMap<String, NodeFence>,
    pub leadership: Option<Leadership>,
    /// When what the leader hands over was written to it last.
    pub handed_over: Moment,
    pub reach: BTreeMap<String, ReachReport>,
    pub stopped: Option<Moment>,
    pub policy: Policy,
    /// Which Node object each pod was bound to, by its UID.
    pub bound: BTreeMap<String, String>,
    /// Nodes whose `unschedulable` a person wrote last, as the server's `managedFields` show.
    pub scheduled_by_hand: BTreeSet<String>,
    /// When people had a Node (by its name) or a record (by its UID) skipped.
    pub skipped: BTreeMap<String, Moment>,
    pub aborted: BTreeMap<String, Moment>,
    /// When the last record of a node was deleted by hand, and the UID of the Node it was of.
    pub unrecorded: BTreeMap<String, (Moment, String)>,
    /// Everything that changed, for watches.
    pub changes: Vec<(Moment, Change)>,
    /// The API server answers no client until then.
    pub down: Moment,
}

/// The policy, as it is stored.
#[derive(Debug, Clone, Default)]
pub enum Policy {
    /// It is of the right shape; its values may still be wrong.
    Parsed(Rc<RemediationPolicy>),
    /// Its fields cannot be parsed.
    Garbled,
    #[default]
    Gone,
}

#[derive(Debug, Clone)]
pub enum Change {
    Policy(Policy),
    /// The other policy, which stays as it is.
    Second(Rc<RemediationPolicy>),
    Node(Rc<Node>),
    NodeGone(String),
    Lease(String, LeaseView),
    /// An agent's Lease reports that this boot of its node is about to end.
    Shutdown(String, String),
    Fence(Box<NodeFence>),
    FenceGone(String, String),
    Stopped(bool),
}

impl Store {
    pub fn next_version(&mut self) -> String {
        self.version += 1;
        self.version.to_string()
    }

    pub fn next_uid(&mut self) -> u64 {
        self.uids += 1;
        self.uids
    }

    /// Changes a Node if `change` does.
    pub fn edit_node(&mut self, name: &str, now: Moment, change: impl FnOnce(&mut Node)) {
        let Some(stored) = self.nodes.get(name) else { return };
        let mut node = (**stored).clone();
        change(&mut node);
        if node == **stored {
            return;
        }
        node.resource_version = self.next_version();
        let node = Rc::new(node);
        self.nodes.insert(name.to_owned(), Rc::clone(&node));
        self.changes.push((now, Change::Node(node)));
    }

    pub fn add_node(&mut self, mut node: Node, now: Moment) {
        node.resource_version = self.next_version();
        let node = Rc::new(node);
        self.nodes.insert(node.name.clone(), Rc::clone(&node));
        self.changes.push((now, Change::Node(node)));
    }

    pub fn remove_node(&mut self, name: &str, now: Moment) {
        self.nodes.remove(name);
        self.leases.remove(name);
        self.skipped.remove(name);
        self.scheduled_by_hand.remove(name);
        self.changes.push((now, Change::NodeGone(name.to_owned())));
    }

    pub fn put_lease(&mut self, name: &str, mut lease: LeaseView, now: Moment) {
        lease.resource_version = self.next_version();
        self.leases.insert(name.to_owned(), lease.clone());
        self.first_leases.entry(name.to_owned()).or_insert_with(|| lease.clone());
        self.changes.push((now, Change::Lease(name.to_owned(), lease)));
    }

    pub fn put_pod(&mut self, pod: Pod) {
        let placed = self.placed.entry(pod.node.clone()).or_default();
        placed.names.insert(pod.at.name.clone());
        placed.version += 1;
        self.pods.insert(pod.at.name.clone(), pod);
    }

    pub fn remove_pod(&mut self, name: &str) {
        let Some(pod) = self.pods.remove(name) else { return };
        if let Some(placed) = self.placed.get_mut(&pod.node) {
            placed.names.remove(name);
            placed.version += 1;
        }
    }

    pub fn pods_on(&self, node: &str) -> impl Iterator<Item = &Pod> {
        let names = self.placed.get(node).into_iter().flat_map(|placed| &placed.names);
        names.filter_map(|name| self.pods.get(name))
    }

    pub fn edit_pods_on(&mut self, node: &str, mut change: impl FnMut(&mut Pod)) {
        let Some(placed) = self.placed.get_mut(node) else { return };
        placed.version += 1;
        for name in &placed.names {
            self.pods.get_mut(name).into_iter().for_each(&mut change);
        }
    }

    pub fn edit_pod(&mut self, name: &str, change: impl FnOnce(&mut Pod)) {
        let Some(pod) = self.pods.get_mut(name) else { return };
        change(pod);
        self.placed.entry(pod.node.clone()).or_default().version += 1;
    }

    /// Which state of a node's pods it is: as long as it is the same, nothing of them has changed.
    #[must_use]
    pub fn version_of_pods(&self, node: &str) -> u64 {
        self.placed.get(node).map_or(0, |placed| placed.version)
    }

    pub fn put_fence(&mut self, mut fence: NodeFence, now: Moment) -> NodeFence {
        fence.metadata.resource_version = self.next_version();
        self.fences.insert(fence.metadata.name.clone(), fence.clone());
        self.changes.push((now, Change::Fence(Box::new(fence.clone()))));
        fence
    }

    pub fn remove_fence(&mut self, name: &str, now: Moment) {
        if let Some(fence) = self.fences.remove(name) {
            self.unrecorded.insert(name.to_owned(), (now, fence.spec.node_uid));
            self.changes.push((now, Change::FenceGone(name.to_owned(), fence.metadata.uid)));
        }
    }

    pub fn set_policy(&mut self, policy: Policy, now: Moment) {
        self.policy = policy.clone();
        self.changes.push((now, Change::Policy(policy)));
    }

    pub fn set_stopped(&mut self, stopped: bool, now: Moment) {
        self.stopped = stopped.then_some(now);
        self.changes.push((now, Change::Stopped(stopped)));
    }
}
