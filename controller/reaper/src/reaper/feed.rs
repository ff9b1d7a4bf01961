//! The cache as watches fill it, with the policy of node-reaper's file among those of the cluster.

use std::{collections::BTreeSet, future::Future};

use nodewell_reconcile::{
    cache::{Cache, NodeEvent, Source},
    cluster::LeaseKind,
    feed::Feed,
};
use nodewell_remediation::{
    api::{fence::NodeFence, policy::RemediationPolicy},
    facts::{LeaseView, Node},
};

use super::Reaper;
use crate::config::POLICY_NAME;

/// Takes what watches see; the cluster's policies come and go around the file's.
#[derive(Debug, Clone)]
pub struct Feeding {
    cache: Cache,
    reaper: Option<Reaper>,
}

impl Feeding {
    #[must_use]
    pub fn new(cache: Cache, reaper: Option<Reaper>) -> Self {
        Self { cache, reaper }
    }

    /// The cluster's list does not have it.
    fn put_policy(&self) {
        if let Some(reaper) = &self.reaper {
            self.cache.with(|snapshot| reaper.put(snapshot));
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
        self.cache.apply_node(node);
    }
    fn remove_node(&self, name: &str) {
        self.cache.remove_node(name);
    }
    fn apply_lease(&self, kind: LeaseKind, node: &str, lease: LeaseView) {
        self.cache.apply_lease(kind, node, lease);
    }
    fn remove_lease(&self, kind: LeaseKind, node: &str) {
        self.cache.remove_lease(kind, node);
    }
    fn announce_shutdown(&self, node: &str, boot_id: &str) {
        self.cache.announce_shutdown(node, boot_id);
    }
    fn apply_fence(&self, fence: NodeFence) {
        self.cache.apply_fence(fence);
    }
    fn remove_fence(&self, name: &str, uid: &str) {
        self.cache.remove_fence(name, uid);
    }
    fn apply_policy(&self, policy: &RemediationPolicy) {
        if !self.is_taken(&policy.metadata.name) {
            self.cache.apply_policy(policy);
        }
    }
    fn apply_unreadable_policy(&self, name: &str, problem: String) {
        if !self.is_taken(name) {
            self.cache.apply_unreadable_policy(name, problem);
        }
    }
    fn remove_policy(&self, name: &str) {
        self.cache.remove_policy(name);
        self.put_policy();
    }
    fn apply_event(&self, event: NodeEvent, listed: bool) {
        self.cache.apply_event(event, listed);
    }
    fn remove_event(&self, uid: &str) {
        self.cache.remove_event(uid);
    }
    fn keep_events(&self, uids: &BTreeSet<String>) {
        self.cache.keep_events(uids);
    }
    fn ask_list(&self, source: Source, at: &str) {
        self.cache.ask_list(source, at);
    }
    fn list_began(&self, source: Source, version: &str) {
        self.cache.list_began(source, version);
    }
    fn list_node(&self, node: Node) {
        self.cache.list_node(node);
    }
    fn list_lease(&self, kind: LeaseKind, node: &str, lease: LeaseView) {
        self.cache.list_lease(kind, node, lease);
    }
    fn list_fence(&self, fence: NodeFence) {
        self.cache.list_fence(fence);
    }
    fn relist_wanted(&self, source: Source) -> impl Future<Output = ()> {
        self.cache.relist_wanted(source)
    }
    fn listed(&self, source: Source, names: &BTreeSet<String>) {
        self.cache.listed(source, names);
        self.put_policy();
    }
    fn heard(&self, source: Source) {
        self.cache.heard(source);
    }
    fn lost(&self, source: Source) {
        self.cache.lost(source);
    }
}
