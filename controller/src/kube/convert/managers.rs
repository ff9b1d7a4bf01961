//! Which conditions of a Node are its own report, by `metadata.managedFields` (FieldsV1, KEP-555).

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use nodewell_remediation::liveness::AGENT_FIELD_MANAGER;
use serde_json::Value;

/// The name under which kubelets write the status of their Nodes.
const KUBELET: &str = "kubelet";

/// Types of the conditions whose status the kubelet or the agent wrote last. A client chooses the name that it writes
/// under, but kubelets and agents may write the status of their own Node only, so that the name is as good as the
/// write. Where the fields were cleared no writer vouches for anything.
pub(super) fn own_types(entries: &[ManagedFieldsEntry]) -> BTreeSet<String> {
    entries.iter().filter(|entry| is_own(entry)).flat_map(statuses).collect()
}

fn is_own(entry: &ManagedFieldsEntry) -> bool {
    let manager = entry.manager.as_deref();
    entry.subresource.as_deref() == Some("status") && (manager == Some(KUBELET) || manager == Some(AGENT_FIELD_MANAGER))
}

fn statuses(entry: &ManagedFieldsEntry) -> Vec<String> {
    let conditions = entry.fields_v1.as_ref().map(|fields| &fields.0["f:status"]["f:conditions"]);
    let conditions = conditions.and_then(Value::as_object).into_iter().flatten();
    conditions.filter(|(_, owned)| owned.get("f:status").is_some()).filter_map(|(key, _)| kind(key)).collect()
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

    fn read(entries: Value) -> Vec<String> {
        let entries: Vec<ManagedFieldsEntry> = serde_json::from_value(entries).unwrap();
        own_types(&entries).into_iter().collect()
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
}
