//! Where watches pour what they see: the cache, what stands before it, or a test's list.

use std::{collections::BTreeSet, future::Future};

use nodewell_remediation::{
    api::{fence::NodeFence, policy::RemediationPolicy},
    facts::{LeaseView, Node},
};

use crate::{
    cache::{Cache, NodeEvent, Source},
    cluster::LeaseKind,
};

/// Takes what watches see, in the order in which they see it.
pub trait Feed: Clone + 'static {
    fn apply_node(&self, node: Node);
    fn remove_node(&self, name: &str);
    fn apply_lease(&self, kind: LeaseKind, node: &str, lease: LeaseView);
    fn remove_lease(&self, kind: LeaseKind, node: &str);
    /// The agent's Lease names the boot that is about to end.
    fn announce_shutdown(&self, node: &str, boot_id: &str);
    fn apply_fence(&self, fence: NodeFence);
    fn remove_fence(&self, name: &str, uid: &str);
    fn apply_policy(&self, policy: &RemediationPolicy);
    /// It is there and cannot be read: what is wrong with it.
    fn apply_unreadable_policy(&self, name: &str, problem: String);
    fn remove_policy(&self, name: &str);
    /// An Event on a Node is there or has changed; `listed` if it was there before.
    fn apply_event(&self, event: NodeEvent, listed: bool);
    fn remove_event(&self, uid: &str);
    /// A list of Events ended: these are all there are.
    fn keep_events(&self, uids: &BTreeSet<String>);
    /// A list is about to be asked for; the watch before it had come to this version.
    fn ask_list(&self, _source: Source, _at: &str) {}
    /// Its answer begins, and is of this version.
    fn list_began(&self, _source: Source, _version: &str) {}
    /// An object of a list: it is so, whatever was known before the list was asked for.
    fn list_node(&self, node: Node) {
        self.apply_node(node);
    }
    fn list_lease(&self, kind: LeaseKind, node: &str, lease: LeaseView) {
        self.apply_lease(kind, node, lease);
    }
    fn list_fence(&self, fence: NodeFence) {
        self.apply_fence(fence);
    }
    /// Returns when the source has to be listed again although its watch is there.
    fn relist_wanted(&self, _source: Source) -> impl Future<Output = ()> {
        std::future::pending()
    }
    /// A list ended: these are all there are.
    fn listed(&self, source: Source, names: &BTreeSet<String>);
    /// The watch is alive, though nothing changed.
    fn heard(&self, source: Source);
    /// The watch is not complete any more.
    fn lost(&self, source: Source);
}

impl Feed for Cache {
    fn apply_node(&self, node: Node) {
        self.apply_node(node);
    }
    fn remove_node(&self, name: &str) {
        self.remove_node(name);
    }
    fn apply_lease(&self, kind: LeaseKind, node: &str, lease: LeaseView) {
        self.apply_lease(kind, node, lease);
    }
    fn remove_lease(&self, kind: LeaseKind, node: &str) {
        self.remove_lease(kind, node);
    }
    fn announce_shutdown(&self, node: &str, boot_id: &str) {
        self.announce_shutdown(node, boot_id);
    }
    fn apply_fence(&self, fence: NodeFence) {
        self.apply_fence(fence);
    }
    fn remove_fence(&self, name: &str, uid: &str) {
        self.remove_fence(name, uid);
    }
    fn apply_policy(&self, policy: &RemediationPolicy) {
        self.apply_policy(policy);
    }
    fn apply_unreadable_policy(&self, name: &str, problem: String) {
        self.apply_unreadable_policy(name, problem);
    }
    fn remove_policy(&self, name: &str) {
        self.remove_policy(name);
    }
    fn apply_event(&self, event: NodeEvent, listed: bool) {
        self.apply_event(event, listed);
    }
    fn remove_event(&self, uid: &str) {
        self.remove_event(uid);
    }
    fn keep_events(&self, uids: &BTreeSet<String>) {
        self.keep_events(uids);
    }
    fn ask_list(&self, source: Source, at: &str) {
        self.ask_list(source, at);
    }
    fn list_began(&self, source: Source, version: &str) {
        self.list_began(source, version);
    }
    fn list_node(&self, node: Node) {
        self.list_node(node);
    }
    fn list_lease(&self, kind: LeaseKind, node: &str, lease: LeaseView) {
        self.list_lease(kind, node, lease);
    }
    fn list_fence(&self, fence: NodeFence) {
        self.list_fence(fence);
    }
    fn relist_wanted(&self, source: Source) -> impl Future<Output = ()> {
        self.relist_wanted(source)
    }
    fn listed(&self, source: Source, names: &BTreeSet<String>) {
        self.listed(source, names);
    }
    fn heard(&self, source: Source) {
        self.heard(source);
    }
    fn lost(&self, source: Source) {
        self.lost(source);
    }
}
