//! Who writes which condition of a Node, by `metadata.managedFields` (FieldsV1, KEP-555).

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use nodewell_remediation::{
    facts::HeartbeatOwner,
    liveness::{AGENT_FIELD_MANAGER, BEFORE_FIRST_APPLY},
};
use serde_json::{Map, Value};

/// The name under which kubelets write the status of their Nodes.
const KUBELET: &str = "kubelet";

/// What field managers own of a Node's conditions, by condition type.
#[derive(Debug, Default)]
pub(super) struct ConditionWriters {
    /// The kubelet or the agent has written the status last.
    own_reports: BTreeSet<String>,
    /// The agent has applied the heartbeat last.
    agent_heartbeats: BTreeSet<String>,
    /// Some field manager owns something of it.
    owned: BTreeSet<String>,
    /// Of an entry that is not understood it is not known what it owns.
    is_unreadable: bool,
}

impl ConditionWriters {
    pub(super) fn read(entries: &[ManagedFieldsEntry]) -> Self {
        let mut writers = Self::default();
        // The API server names a manager for what had no owner before the first apply.
        let managers = entries.iter().filter(|entry| entry.manager.as_deref() != Some(BEFORE_FIRST_APPLY));
        managers.for_each(|entry| writers.add(entry));
        writers
    }

    /// The kubelet or the agent wrote the status last. A client chooses the name that it writes under, but kubelets and
    /// agents may write the status of their own Node only, so that the name is as good as the write. Where the fields
    /// were cleared no writer vouches for anything.
    pub(super) fn is_own_report(&self, kind: &str) -> bool {
        self.own_reports.contains(kind)
    }

    pub(super) fn heartbeat_owner(&self, kind: &str) -> HeartbeatOwner {
        if self.agent_heartbeats.contains(kind) {
            HeartbeatOwner::Agent
        } else if self.is_unreadable || self.owned.contains(kind) {
            HeartbeatOwner::Other
        } else {
            HeartbeatOwner::Ownerless
        }
    }

    fn add(&mut self, entry: &ManagedFieldsEntry) {
        let Some(fields) = entry.fields_v1.as_ref().and_then(|fields| fields.0.as_object()) else {
            self.is_unreadable = true;
            return;
        };
        let conditions = fields.get("f:status").and_then(|status| status.get("f:conditions"));
        for (key, owned) in conditions.and_then(Value::as_object).into_iter().flatten().filter(|(key, _)| *key != ".") {
            match (kind(key), owned.as_object()) {
                (Some(kind), Some(owned)) => self.add_condition(entry, kind, owned),
                (None, _) | (_, None) => self.is_unreadable = true,
            }
        }
    }

    fn add_condition(&mut self, entry: &ManagedFieldsEntry, kind: String, owned: &Map<String, Value>) {
        if is_own(entry) && owned.contains_key("f:status") {
            self.own_reports.insert(kind.clone());
        }
        if is_agents_apply(entry) && owned.contains_key("f:lastHeartbeatTime") {
            self.agent_heartbeats.insert(kind.clone());
        }
        self.owned.insert(kind);
    }
}

fn is_own(entry: &ManagedFieldsEntry) -> bool {
    let manager = entry.manager.as_deref();
    is_of_status(entry) && (manager == Some(KUBELET) || manager == Some(AGENT_FIELD_MANAGER))
}

/// Agents have this name with the kubelet's identity, too. An Update of the name is another manager to the server, and
/// not what an agent does.
fn is_agents_apply(entry: &ManagedFieldsEntry) -> bool {
    let is_apply = entry.operation.as_deref() == Some("Apply");
    is_of_status(entry) && is_apply && entry.manager.as_deref() == Some(AGENT_FIELD_MANAGER)
}

fn is_of_status(entry: &ManagedFieldsEntry) -> bool {
    entry.subresource.as_deref() == Some("status")
}

/// The type in `k:{"type":"DiskUnhealthy"}`.
fn kind(key: &str) -> Option<String> {
    let key: Value = serde_json::from_str(key.strip_prefix("k:")?).ok()?;
    Some(key["type"].as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn writers(entries: Value) -> ConditionWriters {
        let entries: Vec<ManagedFieldsEntry> = serde_json::from_value(entries).unwrap();
        ConditionWriters::read(&entries)
    }

    fn read(entries: Value) -> Vec<String> {
        writers(entries).own_reports.into_iter().collect()
    }

    /// `manager` owns this much of the condition DiskUnhealthy, by a write of `subresource`.
    fn entry(manager: &str, subresource: &str, owned: &Value) -> Value {
        json!({ "manager": manager, "operation": "Apply", "apiVersion": "v1", "subresource": subresource,
            "fieldsType": "FieldsV1",
            "fieldsV1": { "f:status": { "f:conditions": { ".": {}, "k:{\"type\":\"DiskUnhealthy\"}": owned } } } })
    }

    #[test]
    fn the_kubelet_and_the_agent_vouch_for_the_status_that_they_wrote() {
        let status = json!({ ".": {}, "f:status": {}, "f:type": {} });
        for (manager, own) in [
            ("kubelet", true),
            ("nodewell", true),
            ("nodewell-controller", false),
            ("kube-controller-manager", false),
            ("node-problem-detector", false),
            ("", false),
        ] {
            assert_eq!(!read(json!([entry(manager, "status", &status)])).is_empty(), own, "{manager}");
        }
        assert_eq!(read(json!([entry("kubelet", "", &status)])), [""; 0], "not by a write of the status");
        // Another client has changed the status since.
        let heartbeat = json!({ "f:lastHeartbeatTime": {} });
        let taken =
            json!([entry("kubelet", "status", &heartbeat), entry("kube-controller-manager", "status", &status)]);
        assert_eq!(read(taken), [""; 0]);
    }

    #[test]
    fn no_manager_vouches_where_the_fields_are_cleared_or_odd() {
        for odd in [
            json!([]),
            json!([{}]),
            json!([{ "manager": "kubelet", "subresource": "status" }]),
            json!([{ "manager": "kubelet", "subresource": "status", "fieldsV1": { "f:status": [] } }]),
            json!([{ "manager": "kubelet", "subresource": "status",
                "fieldsV1": { "f:status": { "f:conditions": { "k:{\"type\"": { "f:status": {} } } } } }]),
        ] {
            assert_eq!(read(odd.clone()), [""; 0], "{odd}");
        }
    }

    /// Node Problem Detector leaves its conditions behind when it is removed; kubelets have conditions that are not
    /// Kubernetes' own.
    #[test]
    fn a_heartbeat_is_the_agents_by_its_apply_and_ownerless_only_where_no_manager_has_the_condition() {
        use HeartbeatOwner::{Agent, Other, Ownerless};
        let beats = json!({ "f:status": {}, "f:lastHeartbeatTime": {} });
        let silent = json!({ "f:status": {} });
        let update = |manager: &str| {
            let mut update = entry(manager, "status", &beats);
            update["operation"] = "Update".into();
            update
        };
        for (entries, owner, case) in [
            (json!([entry("nodewell", "status", &beats), update("kubelet")]), Agent, "with any identity"),
            (json!([update("nodewell")]), Other, "no agent updates"),
            (json!([entry("nodewell", "", &beats)]), Other, "not by a write of the status"),
            (json!([update("kubelet")]), Other, "a condition of a kubelet's own"),
            (json!([update("node-problem-detector")]), Other, "of another agent"),
            (json!([entry("nodewell", "status", &silent), update("npd")]), Other, "the agent has given way"),
            (json!([]), Ownerless, "emptied"),
            (json!([update("before-first-apply")]), Ownerless, "emptied before an apply"),
            (json!([{ "manager": "npd" }]), Other, "not understood"),
            (json!([entry("npd", "status", &json!(1))]), Other, "not understood"),
        ] {
            assert_eq!(writers(entries).heartbeat_owner("DiskUnhealthy"), owner, "{case}");
        }
        let another = writers(json!([update("node-problem-detector")]));
        assert_eq!(another.heartbeat_owner("KernelDeadlock"), Ownerless, "each condition has its own");
    }
}
