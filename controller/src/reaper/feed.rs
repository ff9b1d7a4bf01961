//! The cache as watches fill it, with the policy of node-reaper's file among those of the cluster.

use std::{collections::BTreeSet, future::Future};

use nodewell_reconcile::{cluster::LeaseKind, world::World};
use nodewell_remediation::{
    api::{fence::NodeFence, policy::RemediationPolicy},
    facts::{LeaseView, Node},
    reaper::POLICY_NAME,
};

use super::Reaper;
use crate::feed::{Feed, NodeEvent, Source};

/// Takes what watches see; the cluster's policies come and go around the file's.
#[derive(Debug, Clone)]
pub struct Feeding {
    world: World,
    reaper: Option<Reaper>,
}

impl Feeding {
    #[must_use]
    pub fn new(world: World, reaper: Option<Reaper>) -> Self {
        Self { world, reaper }
    }

    /// The cluster's list does not have it.
    fn keep(&self) {
        if let Some(reaper) = &self.reaper {
            self.world.with(|snapshot| reaper.put(snapshot));
        }
    }

    /// Two policies of one name cannot be distinguished in records; the file's is the one that stays.
    fn is_taken(&self, name: &str) -> bool {
        let taken = self.reaper.is_some() && name == POLICY_NAME;
        if taken {
            tracing::error!(
                name,
                "this RemediationPolicy is ignored: node-reaper's configuration has its name; rename it"
            );
        }
        taken
    }
}

impl Feed for Feeding {
    fn apply_node(&self, node: Node) {
        self.world.apply_node(node);
    }
    fn remove_node(&self, name: &str) {
        self.world.remove_node(name);
    }
    fn apply_lease(&self, kind: LeaseKind, node: &str, lease: LeaseView) {
        self.world.apply_lease(kind, node, lease);
    }
    fn remove_lease(&self, kind: LeaseKind, node: &str) {
        self.world.remove_lease(kind, node);
    }
    fn apply_fence(&self, fence: NodeFence) {
        self.world.apply_fence(fence);
    }
    fn remove_fence(&self, name: &str, uid: &str) {
        self.world.remove_fence(name, uid);
    }
    fn apply_policy(&self, policy: &RemediationPolicy) {
        if !self.is_taken(&policy.metadata.name) {
            self.world.apply_policy(policy);
        }
    }
    fn apply_unreadable_policy(&self, name: &str, problem: String) {
        if !self.is_taken(name) {
            self.world.apply_unreadable_policy(name, problem);
        }
    }
    fn remove_policy(&self, name: &str) {
        self.world.remove_policy(name);
        self.keep();
    }
    fn apply_event(&self, event: NodeEvent, listed: bool) {
        self.world.apply_event(event, listed);
    }
    fn remove_event(&self, uid: &str) {
        self.world.remove_event(uid);
    }
    fn keep_events(&self, uids: &BTreeSet<String>) {
        self.world.keep_events(uids);
    }
    fn ask_list(&self, source: Source, at: &str) {
        self.world.ask_list(source, at);
    }
    fn list_began(&self, source: Source, version: &str) {
        self.world.list_began(source, version);
    }
    fn list_node(&self, node: Node) {
        self.world.list_node(node);
    }
    fn list_lease(&self, kind: LeaseKind, node: &str, lease: LeaseView) {
        self.world.list_lease(kind, node, lease);
    }
    fn list_fence(&self, fence: NodeFence) {
        self.world.list_fence(fence);
    }
    fn relist_wanted(&self, source: Source) -> impl Future<Output = ()> {
        self.world.relist_wanted(source)
    }
    fn listed(&self, source: Source, names: &BTreeSet<String>) {
        self.world.listed(source, names);
        self.keep();
    }
    fn heard(&self, source: Source) {
        self.world.heard(source);
    }
    fn lost(&self, source: Source) {
        self.world.lost(source);
    }
}
