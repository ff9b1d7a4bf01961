//! What cases ask of the API server again and again, as its administrator.

use std::time::Duration;

use nodewell_tests::{
    cluster::{Call, Client},
    wait::until_within,
};
use serde_json::Value;

/// The administrator's connection.
#[derive(Debug, Clone)]
pub struct Api(Client);

impl Api {
    pub(crate) fn new(client: Client) -> Self {
        Self(client)
    }

    /// The object at `path`, if it is there.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<Value> {
        let (code, object) = self.0.call(&Call::get(path));
        (code == 200).then_some(object)
    }

    /// A Node.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<Value> {
        self.get(&format!("/api/v1/nodes/{name}"))
    }

    /// The status of one condition of a Node, if it has it.
    #[must_use]
    pub fn condition(&self, node: &str, name: &str) -> Option<String> {
        self.condition_of(node, name)?["status"].as_str().map(str::to_owned)
    }

    /// The message of a condition of a Node that is True.
    #[must_use]
    pub fn true_message(&self, node: &str, name: &str) -> Option<String> {
        let condition = self.condition_of(node, name).filter(|condition| condition["status"] == "True")?;
        condition["message"].as_str().map(str::to_owned)
    }

    /// One condition of a Node, if it has it.
    #[must_use]
    pub fn condition_of(&self, node: &str, name: &str) -> Option<Value> {
        let node = self.node(node)?;
        node["status"]["conditions"].as_array()?.iter().find(|condition| condition["type"] == name).cloned()
    }

    /// Waits until a condition of a Node has this status.
    ///
    /// # Panics
    /// If it has not within `patience`.
    #[track_caller]
    pub fn wait_condition(&self, patience: Duration, node: &str, name: &str, status: &str) {
        until_within(patience, &format!("{node}: {name} is {status}"), || {
            (self.condition(node, name)? == status).then_some(())
        });
    }

    /// Waits until nothing of the controller's is left on a Node: no cordon, no taint.
    ///
    /// # Panics
    /// If there is within `patience`.
    #[track_caller]
    pub fn wait_given_back(&self, patience: Duration, node: &str) {
        until_within(patience, &format!("{node} is given back"), || {
            let node = self.node(node)?;
            (node["spec"]["unschedulable"].is_null() && node["spec"]["taints"].is_null()).then_some(())
        });
    }

    /// The Node that a pod of namespace `default` runs on, once it is ready there.
    #[must_use]
    pub fn ready_on(&self, pod: &str) -> Option<String> {
        let pod = self.get(&format!("/api/v1/namespaces/default/pods/{pod}"))?;
        let conditions = pod["status"]["conditions"].as_array()?;
        let is_ready = conditions.iter().any(|condition| condition["type"] == "Ready" && condition["status"] == "True");
        let stays = pod["metadata"]["deletionTimestamp"].is_null();
        (is_ready && stays).then(|| pod["spec"]["nodeName"].as_str().map(str::to_owned))?
    }

    /// The record of a node; of one that has come back already, the copy of the record that ended last.
    #[must_use]
    pub fn newest_record(&self, node: &str) -> Option<Value> {
        self.record(node).or_else(|| {
            let all = self.get("/apis/nodewell.dev/v1alpha1/nodefences")?;
            let of_node = all["items"].as_array()?.iter().filter(|record| record["spec"]["nodeName"] == node);
            // Times of one form have the order of their texts.
            of_node.max_by_key(|record| record["metadata"]["creationTimestamp"].as_str().map(str::to_owned)).cloned()
        })
    }

    /// The record of a node, if there is one.
    #[must_use]
    pub fn record(&self, node: &str) -> Option<Value> {
        self.get(&format!("/apis/nodewell.dev/v1alpha1/nodefences/{node}"))
    }

    /// The Events of a Node with this reason.
    #[must_use]
    pub fn events(&self, node: &str, reason: &str) -> Vec<Value> {
        let selector = format!("fieldSelector=involvedObject.name%3D{node},reason%3D{reason}");
        let list = self.get(&format!("/api/v1/namespaces/default/events?{selector}")).unwrap_or_default();
        list["items"].as_array().cloned().unwrap_or_default()
    }

    /// How often it happened, as these count.
    #[must_use]
    pub fn happened(&self, node: &str, reason: &str) -> u64 {
        self.events(node, reason).iter().map(|event| event["count"].as_u64().unwrap_or(1)).sum()
    }

    /// Whether a Node is there and cordoned.
    #[must_use]
    pub fn is_cordoned(&self, node: &str) -> bool {
        self.node(node).is_some_and(|node| node["spec"]["unschedulable"] == true)
    }
}
