//! What is made of each kind of object.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::{
    coordination::v1::Lease,
    core::v1::{Event, Node},
};
use nodewell_reconcile::{cache::Source, clock::Clock, cluster::LeaseKind, feed::Feed};
use nodewell_remediation::{
    api::{SHUTDOWN, fence::NodeFence},
    policy,
};
use serde_json::Value;
use tokio::sync::watch;

use super::Sink;
use crate::kube::{FIELD_MANAGER, convert, ended::is_ended};

pub(super) struct Nodes<F> {
    feed: F,
    clock: Clock,
}

impl<F> Nodes<F> {
    pub(super) fn new(feed: F, clock: Clock) -> Self {
        Self { feed, clock }
    }
}

impl<F: Feed> Sink for Nodes<F> {
    type Raw = Node;

    fn source(&self) -> Option<Source> {
        Some(Source::Nodes)
    }

    fn apply(&mut self, raw: Node, listed: bool) -> Option<String> {
        // The API server makes no Node without a name and a UID.
        let node = convert::node(raw, self.clock.moment()).ok()?;
        let name = node.name.clone();
        if listed {
            self.feed.list_node(node)
        } else {
            self.feed.apply_node(node)
        }
        Some(name)
    }

    fn remove(&mut self, raw: Node) {
        self.feed.remove_node(&raw.metadata.name.unwrap_or_default());
    }
}

pub(super) struct Leases<F> {
    feed: F,
    clock: Clock,
    kind: LeaseKind,
}

impl<F> Leases<F> {
    pub(super) fn new(feed: F, clock: Clock, kind: LeaseKind) -> Self {
        Self { feed, clock, kind }
    }

    /// The controller's own Leases are beside those of the agents, and of no node.
    fn is_own(&self, name: &str) -> bool {
        self.kind == LeaseKind::Agent && name.starts_with(FIELD_MANAGER)
    }
}

impl<F: Feed> Sink for Leases<F> {
    type Raw = Lease;

    fn source(&self) -> Option<Source> {
        Some(match self.kind {
            LeaseKind::Kubelet => Source::KubeletLeases,
            LeaseKind::Agent => Source::AgentLeases,
        })
    }

    fn apply(&mut self, raw: Lease, listed: bool) -> Option<String> {
        let name = raw.metadata.name.clone().filter(|name| !self.is_own(name))?;
        let ending = raw.metadata.annotations.as_ref().and_then(|annotations| annotations.get(SHUTDOWN));
        if let Some(boot_id) = ending.filter(|_| self.kind == LeaseKind::Agent) {
            self.feed.announce_shutdown(&name, boot_id);
        }
        let lease = convert::lease_view(raw, self.clock.moment());
        if listed {
            self.feed.list_lease(self.kind, &name, lease);
        } else {
            self.feed.apply_lease(self.kind, &name, lease);
        }
        Some(name)
    }

    fn remove(&mut self, raw: Lease) {
        self.feed.remove_lease(self.kind, &raw.metadata.name.unwrap_or_default());
    }
}

/// Records. One that cannot be read may be of a fence under way: until it can, nothing is known for sure.
pub(super) struct Fences<F> {
    feed: F,
    unreadable: BTreeSet<String>,
}

impl<F> Fences<F> {
    pub(super) fn new(feed: F) -> Self {
        Self { feed, unreadable: BTreeSet::new() }
    }
}

impl<F: Feed> Sink for Fences<F> {
    type Raw = Value;

    fn begin(&mut self) {
        self.unreadable.clear();
    }

    fn source(&self) -> Option<Source> {
        Some(Source::Fences)
    }

    fn apply(&mut self, raw: Value, listed: bool) -> Option<String> {
        if is_ended(&raw) {
            return None;
        }
        let name = name(&raw);
        match serde_json::from_value::<NodeFence>(raw) {
            Ok(fence) => {
                self.unreadable.remove(&name);
                if listed { self.feed.list_fence(fence) } else { self.feed.apply_fence(fence) }
            }
            Err(error) => {
                let what = "the NodeFence cannot be read; nothing is begun until it is mended or deleted";
                tracing::error!(node = name, %error, "{what}");
                self.unreadable.insert(name.clone());
            }
        }
        Some(name)
    }

    fn remove(&mut self, raw: Value) {
        if is_ended(&raw) {
            return;
        }
        let name = name(&raw);
        self.unreadable.remove(&name);
        self.feed.remove_fence(&name, raw["metadata"]["uid"].as_str().unwrap_or_default());
    }

    fn is_whole(&self) -> bool {
        self.unreadable.is_empty()
    }
}

/// Policies; whether any of them asks for Events is reported beside.
pub(super) struct Policies<F> {
    feed: F,
    asks_events: BTreeMap<String, bool>,
    wants_events: watch::Sender<bool>,
}

impl<F> Policies<F> {
    pub(super) fn new(feed: F, wants_events: watch::Sender<bool>) -> Self {
        Self { feed, asks_events: BTreeMap::new(), wants_events }
    }

    fn publish(&self) {
        let wanted = self.asks_events.values().any(|asks| *asks);
        self.wants_events.send_if_modified(|now| std::mem::replace(now, wanted) != wanted);
    }
}

impl<F: Feed> Sink for Policies<F> {
    type Raw = Value;

    fn begin(&mut self) {
        self.asks_events.clear();
    }

    fn source(&self) -> Option<Source> {
        Some(Source::Policies)
    }

    fn apply(&mut self, raw: Value, _: bool) -> Option<String> {
        let name = name(&raw);
        // Too many Events do no harm; a predicate that misses them would.
        let asks = raw["spec"]["when"].as_str().is_some_and(|when| when.contains("event"));
        self.asks_events.insert(name.clone(), asks);
        match policy::read(&raw) {
            Ok(policy) => self.feed.apply_policy(&policy),
            Err(error) => self.feed.apply_unreadable_policy(&name, error.to_string()),
        }
        self.publish();
        Some(name)
    }

    fn remove(&mut self, raw: Value) {
        let name = name(&raw);
        self.asks_events.remove(&name);
        self.feed.remove_policy(&name);
        self.publish();
    }
}

/// Events on Nodes: those of before too, or a new leader would know less than the last one.
pub(super) struct Events<F> {
    feed: F,
    clock: Clock,
    listed: BTreeSet<String>,
}

impl<F> Events<F> {
    pub(super) fn new(feed: F, clock: Clock) -> Self {
        Self { feed, clock, listed: BTreeSet::new() }
    }
}

impl<F: Feed> Sink for Events<F> {
    type Raw = Event;

    fn begin(&mut self) {
        self.listed.clear();
    }

    fn end(&mut self) {
        self.feed.keep_events(&self.listed);
        self.listed.clear();
    }

    fn source(&self) -> Option<Source> {
        None
    }

    fn apply(&mut self, raw: Event, listed: bool) -> Option<String> {
        let event = convert::event(raw, self.clock.wall())?;
        if listed {
            self.listed.insert(event.uid.clone());
        }
        self.feed.apply_event(event, listed);
        None
    }

    fn remove(&mut self, raw: Event) {
        self.feed.remove_event(&raw.metadata.uid.unwrap_or_default());
    }
}

fn name(raw: &Value) -> String {
    raw["metadata"]["name"].as_str().unwrap_or_default().to_owned()
}
