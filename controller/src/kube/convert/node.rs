//! A Node.

use jiff::Timestamp;
use k8s_openapi::api::core::v1 as core;
use nodewell_remediation::{
    facts::{Condition, ConditionStatus, Effect, Node, Taint},
    time::Moment,
};

use super::managers::ConditionWriters;

/// It has no name or UID, so that nothing could be done to it and to nothing else.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a Node without {0} came from the API server")]
pub struct UnreadableNode(&'static str);

/// What is stored of a Node. All conditions count as first seen `now`: a caller that knew it before carries that over.
pub fn node(raw: core::Node, now: Moment) -> Result<Node, UnreadableNode> {
    let meta = raw.metadata;
    let writers = ConditionWriters::read(meta.managed_fields.as_deref().unwrap_or_default());
    let condition = |raw: core::NodeCondition| condition(raw, &writers, now);
    let (spec, status) = (raw.spec.unwrap_or_default(), raw.status.unwrap_or_default());
    let volumes_attached = volumes(&status);
    let kubelet_port = kubelet_port(&status);
    let addresses = addresses(status.addresses.unwrap_or_default());
    let info = status.node_info.unwrap_or_default();
    Ok(Node {
        name: meta.name.filter(|name| !name.is_empty()).ok_or(UnreadableNode("a name"))?,
        uid: meta.uid.filter(|uid| !uid.is_empty()).ok_or(UnreadableNode("a UID"))?,
        resource_version: meta.resource_version.unwrap_or_default(),
        created: meta.creation_timestamp.map_or(Timestamp::UNIX_EPOCH, |time| time.0),
        deleting: meta.deletion_timestamp.is_some(),
        labels: meta.labels.unwrap_or_default(),
        annotations: annotations(meta.annotations.unwrap_or_default()),
        taints: spec.taints.unwrap_or_default().into_iter().filter_map(taint).collect(),
        unschedulable: spec.unschedulable.unwrap_or(false),
        provider_id: spec.provider_id.unwrap_or_default(),
        conditions: status.conditions.unwrap_or_default().into_iter().map(condition).collect(),
        boot_id: info.boot_id,
        system_uuid: info.system_uuid,
        addresses,
        volumes_attached,
        kubelet_port,
    })
}

/// Some tools store whole objects in annotations; no predicate reads those.
const ANNOTATION_LIMIT_BYTES: usize = 4096;

fn annotations(all: std::collections::BTreeMap<String, String>) -> std::collections::BTreeMap<String, String> {
    all.into_iter().filter(|(_, value)| value.len() <= ANNOTATION_LIMIT_BYTES).collect()
}

/// Both lists name a volume that is attached; what is in use but not attached any more counts all the same.
fn volumes(status: &core::NodeStatus) -> usize {
    let attached = status.volumes_attached.iter().flatten().map(|volume| volume.name.as_str());
    let in_use = status.volumes_in_use.iter().flatten().map(String::as_str);
    attached.chain(in_use).collect::<std::collections::BTreeSet<_>>().len()
}

/// 0 is what a kubelet reports before it listens.
fn kubelet_port(status: &core::NodeStatus) -> Option<u16> {
    let port = status.daemon_endpoints.as_ref()?.kubelet_endpoint.as_ref()?.port;
    u16::try_from(port).ok().filter(|port| *port != 0)
}

fn addresses(mut all: Vec<core::NodeAddress>) -> Vec<String> {
    all.sort_by_key(|address| address.type_ != "InternalIP");
    all.into_iter().map(|address| address.address).collect()
}

/// An effect that this version does not know cannot be removed by it, and is left out.
fn taint(raw: core::Taint) -> Option<Taint> {
    Some(Taint { key: raw.key, value: raw.value.unwrap_or_default(), effect: effect(&raw.effect)? })
}

pub(super) fn effect(name: &str) -> Option<Effect> {
    match name {
        "NoSchedule" => Some(Effect::NoSchedule),
        "PreferNoSchedule" => Some(Effect::PreferNoSchedule),
        "NoExecute" => Some(Effect::NoExecute),
        _ => None,
    }
}

fn condition(raw: core::NodeCondition, writers: &ConditionWriters, now: Moment) -> Condition {
    Condition {
        is_own_report: writers.is_own_report(&raw.type_),
        heartbeat_owner: writers.heartbeat_owner(&raw.type_),
        kind: raw.type_,
        status: match raw.status.as_str() {
            "True" => ConditionStatus::True,
            "False" => ConditionStatus::False,
            _ => ConditionStatus::Unknown,
        },
        reason: raw.reason.unwrap_or_default(),
        message: raw.message.unwrap_or_default(),
        since: raw.last_transition_time.map(|time| time.0),
        heartbeat: raw.last_heartbeat_time.map(|time| time.0),
        change_seen_at: now,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use nodewell_remediation::facts::HeartbeatOwner;
    use serde_json::{Value, json};

    use super::*;

    fn read(value: Value) -> Result<Node, UnreadableNode> {
        node(serde_json::from_value(value).unwrap(), Moment(Duration::from_secs(7)))
    }

    #[test]
    fn a_node_is_cut_down_to_what_decisions_need() {
        let node = read(json!({
            "metadata": { "name": "n1", "uid": "u1", "resourceVersion": "5", "creationTimestamp": "2026-01-02T03:04:05Z",
                "labels": { "topology.kubernetes.io/zone": "a" },
                "managedFields": [{ "manager": "kubelet", "operation": "Update", "subresource": "status", "fieldsV1": {
                    "f:status": { "f:conditions": { "k:{\"type\":\"Ready\"}": { "f:status": {} } } } } }],
                "annotations": { "nodewell.dev/skip-remediation": "busy", "big": "x".repeat(5000) } },
            "spec": { "unschedulable": true, "providerID": "aws:///i-1",
                "taints": [{ "key": "a", "effect": "NoSchedule" }, { "key": "b", "value": "v", "effect": "NoExecute" },
                    { "key": "c", "effect": "OfTheFuture" }] },
            "status": {
                "addresses": [{ "type": "Hostname", "address": "n1" }, { "type": "InternalIP", "address": "10.0.0.1" }],
                "conditions": [{ "type": "Ready", "status": "Maybe", "reason": "R", "lastTransitionTime": "2026-01-02T03:04:05Z" }],
                "daemonEndpoints": { "kubeletEndpoint": { "Port": 10350 } },
                "volumesAttached": [{ "name": "v1", "devicePath": "" }], "volumesInUse": ["v1", "v2"],
                "nodeInfo": { "bootID": "b1", "systemUUID": "s1", "architecture": "", "containerRuntimeVersion": "",
                    "kernelVersion": "", "kubeProxyVersion": "", "kubeletVersion": "", "machineID": "",
                    "operatingSystem": "", "osImage": "" },
            },
        }))
        .unwrap();
        assert_eq!((node.name.as_str(), node.zone(), node.unschedulable), ("n1", Some("a"), true));
        assert_eq!(node.addresses, ["10.0.0.1", "n1"]);
        assert_eq!((node.taints.len(), node.kubelet_port), (2, Some(10350)));
        assert_eq!((node.boot_id.as_str(), node.system_uuid.as_str(), node.volumes_attached), ("b1", "s1", 2));
        assert_eq!(node.annotations.len(), 1);
        let ready = node.condition("Ready").unwrap();
        assert_eq!(
            (ready.status, ready.change_seen_at, ready.is_own_report, ready.heartbeat_owner, node.is_ready()),
            (ConditionStatus::Unknown, Moment(Duration::from_secs(7)), true, HeartbeatOwner::Other, false)
        );
    }

    #[test]
    fn a_bare_node_is_not_ready_and_has_no_boot() {
        let node = read(json!({ "metadata": { "name": "n", "uid": "u" } })).unwrap();
        assert!(!node.is_ready() && node.boot_id.is_empty() && node.zone().is_none() && node.kubelet_port.is_none());
    }

    #[test]
    fn a_node_without_a_uid_is_refused() {
        assert_eq!(read(json!({ "metadata": { "name": "n" } })), Err(UnreadableNode("a UID")));
        assert_eq!(read(json!({ "metadata": { "uid": "u" } })), Err(UnreadableNode("a name")));
    }
}
