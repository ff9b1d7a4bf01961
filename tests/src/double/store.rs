//! What the double stores: Nodes, Events and Leases. Nothing survives it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{Timestamp, Unit};
use serde_json::{Value, json};

use super::{arrivals::Arrivals, conditions::Conditions};

/// Everything.
#[derive(Debug, Default, Clone)]
pub(crate) struct Store {
    pub(crate) nodes: BTreeMap<String, Node>,
    /// By namespace and name.
    pub(crate) events: BTreeMap<(String, String), Value>,
    /// By namespace and name.
    pub(crate) leases: BTreeMap<(String, String), Value>,
    /// Beside those that every new cluster has.
    pub(crate) namespaces: BTreeSet<String>,
    /// An admission policy refuses Nodes with this condition.
    pub(crate) refused_condition: Option<String>,
    pub(crate) arrivals: Arrivals,
    versions: u64,
}

/// A Node: its identity and its conditions.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    metadata: Value,
    pub(crate) conditions: Conditions,
}

impl Store {
    /// `metadata` of a new object: a UID of its own.
    pub(crate) fn metadata(&mut self, name: &str) -> Value {
        let version = self.next_version();
        // Unique among everything that lives at the same time, which is all that is asked of it.
        let uid = format!("{:08x}-0000-4000-8000-{:012x}", std::process::id(), fingerprint(version));
        json!({ "name": name, "uid": uid, "resourceVersion": version.to_string(), "creationTimestamp": now() })
    }

    pub(crate) fn next_version(&mut self) -> u64 {
        self.versions += 1;
        self.versions
    }

    /// Stores a Node in the place of the one that was there, and when which of its conditions turned.
    pub(crate) fn put_node(&mut self, name: &str, node: Node) {
        let before = self.nodes.get(name).map(|node| node.conditions.clone()).unwrap_or_default();
        for (condition, status) in node.conditions.turned_since(&before) {
            self.arrivals.note_turn(name, condition, status);
        }
        self.nodes.insert(name.to_owned(), node);
    }

    pub(crate) fn create_node(&mut self, name: &str) -> Value {
        let metadata = self.metadata(name);
        let node = Node { metadata, conditions: Conditions::default() };
        let view = node.view();
        self.nodes.insert(name.to_owned(), node);
        view
    }
}

impl Node {
    pub(crate) fn view(&self) -> Value {
        let status = json!({ "conditions": self.conditions.view() });
        json!({ "kind": "Node", "apiVersion": "v1", "metadata": self.metadata, "spec": {}, "status": status })
    }

    pub(crate) fn touch(&mut self, version: u64) {
        self.metadata["resourceVersion"] = version.to_string().into();
    }

    pub(crate) fn version(&self) -> &Value {
        &self.metadata["resourceVersion"]
    }

    pub(crate) fn uid(&self) -> &Value {
        &self.metadata["uid"]
    }
}

/// Kubernetes stores whole seconds.
fn now() -> String {
    Timestamp::now().round(Unit::Second).unwrap().to_string()
}

/// Differs between doubles of one process too: they start at different times.
fn fingerprint(version: u64) -> u64 {
    let nanos = u64::try_from(Timestamp::now().as_nanosecond() & 0xffff_ffff_0000).unwrap_or_default();
    nanos ^ version
}
