//! Whether a cluster is as it was before anything was planted.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    act::{FENCE_READY, KUBELETS, OUTER},
    watch::{NODES, RECORDS},
};
use crate::cluster::Cluster;

/// The conditions of one Node that are nodewell's, with their status.
pub type Conditions = BTreeMap<String, String>;

/// What there was at the start, by the names of Nodes.
#[derive(Debug, Clone, Default)]
pub(super) struct Before(BTreeMap<String, Conditions>);

impl Before {
    pub(super) fn of(cluster: &Cluster) -> Option<Self> {
        let nodes = cluster.api().get(NODES)?;
        Some(Self(items(&nodes).map(|node| (name(node).to_owned(), conditions(node))).collect()))
    }

    /// Why it is another one now; `None` if it is as before.
    pub(super) fn differs(&self, cluster: &Cluster) -> Option<String> {
        let (Some(nodes), Some(records)) = (cluster.api().get(NODES), cluster.api().get(RECORDS)) else {
            return Some("the API server cannot be read".to_owned());
        };
        self.0.iter().find_map(|(of, before)| {
            let Some(node) = items(&nodes).find(|node| name(node) == of) else { return Some(format!("no Node {of}")) };
            let record = items(&records).find(|record| name(record) == of);
            let phase = record.map(|record| record["status"]["phase"].to_string());
            differs(node, phase.as_deref(), before).map(|why| format!("{of}: {why}"))
        })
    }
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list["items"].as_array().into_iter().flatten()
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

/// Of a Node, of the phase of its record, and of its conditions at the start.
#[must_use]
pub fn differs(node: &Value, record: Option<&str>, before: &Conditions) -> Option<String> {
    let ready = status_of(node, "Ready").is_some_and(|status| status == "True");
    let conditions = conditions(node);
    if let Some(phase) = record {
        return Some(format!("a record in phase {phase}"));
    }
    if node["spec"]["unschedulable"] == true {
        return Some("cordoned".to_owned());
    }
    if !node["spec"]["taints"].is_null() {
        return Some(format!("taints {}", node["spec"]["taints"]));
    }
    if !ready {
        return Some("not Ready".to_owned());
    }
    let missing = before.keys().find(|name| !conditions.contains_key(*name)).map(|name| format!("{name} is not there"));
    missing.or_else(|| {
        let worse = conditions.iter().find(|(name, status)| is_worse(name, status, before.get(*name)));
        worse.map(|(name, status)| format!("{name} is {status}"))
    })
}

/// Another status than well that was not there before.
fn is_worse(name: &str, status: &str, before: Option<&String>) -> bool {
    let well = if name == FENCE_READY { "True" } else { "False" };
    !OUTER.contains(&name) && status != well && before.is_none_or(|before| before != status)
}

/// Those of a Node that are not its kubelet's.
#[must_use]
pub fn conditions(node: &Value) -> Conditions {
    let all = node["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let text = |condition: &Value, key: &str| condition[key].as_str().unwrap_or_default().to_owned();
    let named = all.iter().map(|condition| (text(condition, "type"), text(condition, "status")));
    named.filter(|(name, _)| !KUBELETS.contains(&name.as_str())).collect()
}

fn status_of<'a>(node: &'a Value, name: &str) -> Option<&'a str> {
    let conditions = node["status"]["conditions"].as_array()?;
    conditions.iter().find(|condition| condition["type"] == name)?["status"].as_str()
}
