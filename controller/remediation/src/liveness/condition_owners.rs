//! Who writes which condition of a Node, read from `metadata.managedFields`.
//!
//! The shape is FieldsV1 of server-side apply (KEP-555, `sigs.k8s.io/structured-merge-diff/fieldpath/serialize.go`): an
//! element of a list is a key `k:{"type":"DiskUnhealthy"}`, a field a key `f:status`, and `.` the element itself.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::facts::AGENT_CONDITION_TYPES;

/// The agent's field manager (`FIELD_MANAGER` of its exporter).
pub const AGENT_FIELD_MANAGER: &str = "nodewell";
/// The field manager that the API server names for fields that had no owner before the first apply.
pub const BEFORE_FIRST_APPLY: &str = "before-first-apply";

const HEARTBEAT: &str = "lastHeartbeatTime";

/// What one field manager owns of each condition: its type, and the names of fields.
pub type OwnedFields = BTreeMap<String, BTreeSet<String>>;

/// Which field manager owns what of a Node's conditions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConditionOwners {
    /// What the agent owns by its applies of the status.
    pub agent: OwnedFields,
    /// What any other manager owns, by apply or update.
    pub others: OwnedFields,
    /// Types among `agent` that no field manager owns and that only the agent reports.
    pub ownerless: BTreeSet<String>,
}

/// Why the owners are not known; nothing is written then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConditionOwnersError {
    #[error("metadata.managedFields is no list")]
    Missing,
    #[error("managedFields of {manager:?} have no fieldsV1 that can be read")]
    Unreadable { manager: String },
    #[error("managedFields of {manager:?} have a condition without a type: {key:.80}")]
    Key { manager: String, key: String },
}

impl ConditionOwners {
    /// Reads `metadata.managedFields` as the API server gives it; nothing there is an empty list. Conditions of these
    /// `kinds` that the agent may report and that have no owner are the agent's: a client that emptied the list has not
    /// given them to another manager.
    ///
    /// # Errors
    /// Anything in it is not understood: a caller that does not know the owners does not write.
    pub fn read<'a>(
        managed_fields: &Value,
        kinds: impl Iterator<Item = &'a str>,
    ) -> Result<Self, ConditionOwnersError> {
        let mut owners = Self::default();
        let entries = match managed_fields {
            Value::Null => &[],
            list => list.as_array().ok_or(ConditionOwnersError::Missing)?.as_slice(),
        };
        for entry in entries {
            owners.add(entry)?;
        }
        kinds.for_each(|kind| owners.add_ownerless(kind));
        Ok(owners)
    }

    /// Of the types without an owner only those stay the agent's of which this is true.
    pub(super) fn retain_ownerless(&mut self, is_agents: impl Fn(&str) -> bool) {
        let (agent, ownerless) = (&mut self.agent, &mut self.ownerless);
        ownerless.retain(|kind| is_agents(kind) || agent.remove(kind).is_none());
    }

    fn add_ownerless(&mut self, kind: &str) {
        if !AGENT_CONDITION_TYPES.contains(&kind) || self.agent.contains_key(kind) || self.others.contains_key(kind) {
            return;
        }
        self.agent.insert(kind.to_owned(), BTreeSet::new());
        self.ownerless.insert(kind.to_owned());
    }

    fn add(&mut self, entry: &Value) -> Result<(), ConditionOwnersError> {
        let manager = entry["manager"].as_str().unwrap_or_default();
        if manager == BEFORE_FIRST_APPLY {
            return Ok(());
        }
        let fields = entry["fieldsV1"].as_object();
        let fields = fields.ok_or_else(|| ConditionOwnersError::Unreadable { manager: manager.to_owned() })?;
        // An Update of the same name is another manager to the server, and not what an agent does.
        let is_agents =
            manager == AGENT_FIELD_MANAGER && entry["operation"] == "Apply" && entry["subresource"] == "status";
        let into = if is_agents { &mut self.agent } else { &mut self.others };
        let Some(conditions) = fields.get("f:status").and_then(|status| status.get("f:conditions")) else {
            return Ok(());
        };
        for (key, owned) in conditions.as_object().into_iter().flatten().filter(|(key, _)| *key != ".") {
            let kind = kind_of(key)
                .ok_or_else(|| ConditionOwnersError::Key { manager: manager.to_owned(), key: key.clone() })?;
            let names = owned.as_object().into_iter().flatten().filter_map(|(name, _)| name.strip_prefix("f:"));
            into.entry(kind).or_default().extend(names.map(str::to_owned));
        }
        Ok(())
    }

    /// Another manager owns a field of the condition other than its heartbeat and its type: a writer from which it was
    /// taken over keeps the latter for ever, as that never changes.
    #[must_use]
    pub fn is_shared(&self, kind: &str) -> bool {
        self.others.get(kind).is_some_and(|fields| fields.iter().any(|field| field != HEARTBEAT && field != "type"))
    }

    /// Another manager has written the condition's heartbeat last.
    pub(super) fn has_foreign_heartbeat(&self, kind: &str) -> bool {
        self.others.get(kind).is_some_and(|fields| fields.contains(HEARTBEAT))
    }
}

/// The type in `k:{"type":"DiskUnhealthy"}`.
fn kind_of(key: &str) -> Option<String> {
    let key: Value = serde_json::from_str(key.strip_prefix("k:")?).ok()?;
    Some(key["type"].as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(managed_fields: &Value) -> Result<ConditionOwners, ConditionOwnersError> {
        ConditionOwners::read(managed_fields, std::iter::empty())
    }

    fn entry(manager: &str, operation: &str, kinds: &[&str]) -> Value {
        let mut conditions = json!({ ".": {} });
        for kind in kinds {
            conditions[format!("k:{{\"type\":\"{kind}\"}}")] =
                json!({ ".": {}, "f:type": {}, "f:status": {}, "f:reason": {} });
        }
        json!({ "manager": manager, "operation": operation, "apiVersion": "v1", "subresource": "status",
            "fieldsType": "FieldsV1", "fieldsV1": { "f:status": { "f:conditions": conditions } } })
    }

    #[test]
    fn an_agents_conditions_are_those_that_it_applied() {
        let kubelet = json!({ "manager": "kubelet", "operation": "Update", "subresource": "status", "fieldsV1": {
            "f:metadata": { "f:labels": {} }, "f:status": { "f:conditions": {
                "k:{\"type\":\"Ready\"}": { "f:lastHeartbeatTime": {}, "f:status": {} } } } } });
        let read =
            read(&json!([kubelet, entry(AGENT_FIELD_MANAGER, "Apply", &["DiskUnhealthy", "KernelDeadlock"])])).unwrap();
        assert_eq!(read.agent.keys().collect::<Vec<_>>(), ["DiskUnhealthy", "KernelDeadlock"]);
        assert_eq!(read.agent["DiskUnhealthy"], ["reason", "status", "type"].map(str::to_owned).into());
        assert!(read.is_shared("Ready") && !read.is_shared("DiskUnhealthy"));
    }

    #[test]
    fn an_update_under_the_agents_name_is_another_client() {
        let update = read(&json!([entry(AGENT_FIELD_MANAGER, "Update", &["KernelDeadlock"])])).unwrap();
        assert!(update.agent.is_empty() && update.is_shared("KernelDeadlock"));
        let prefix = read(&json!([entry("nodewell-controller", "Apply", &["KernelDeadlock"])])).unwrap();
        assert!(prefix.agent.is_empty());
    }

    #[test]
    fn what_is_not_understood_is_an_error_and_not_an_empty_set() {
        assert_eq!(read(&json!({})), Err(ConditionOwnersError::Missing));
        let odd = json!([{ "manager": "x", "operation": "Apply" }]);
        assert!(matches!(read(&odd), Err(ConditionOwnersError::Unreadable { .. })));
        for key in ["k:{\"type\"", "v:1", "k:{\"name\":\"x\"}", "i:0"] {
            let odd = json!([{ "manager": AGENT_FIELD_MANAGER, "fieldsV1": { "f:status": { "f:conditions": { key: {} } } } }]);
            assert!(matches!(read(&odd), Err(ConditionOwnersError::Key { .. })), "{key}");
        }
        assert_eq!(read(&json!([])), Ok(ConditionOwners::default()));
    }

    /// `managedFields: [{}]` is a request that the API server carries out, and shows no list afterwards.
    #[test]
    fn an_emptied_list_takes_no_condition_of_the_catalogue_away_from_the_agent() {
        let kinds = ["DiskUnhealthy", "KernelDeadlock", "Ready", "FenceReady", "EtcdIsVoter"];
        let npd = entry("node-problem-detector", "Update", &["KernelDeadlock"]);
        for emptied in [Value::Null, json!([]), json!([entry(BEFORE_FIRST_APPLY, "Update", &kinds)])] {
            let read = ConditionOwners::read(&emptied, kinds.into_iter()).unwrap();
            assert_eq!(read.agent.keys().collect::<Vec<_>>(), ["DiskUnhealthy", "KernelDeadlock"], "{emptied}");
            assert!(!read.is_shared("DiskUnhealthy") && read.ownerless.len() == 2, "{read:?}");
        }
        let with = ConditionOwners::read(&json!([npd, entry(BEFORE_FIRST_APPLY, "Update", &kinds)]), kinds.into_iter())
            .unwrap();
        assert_eq!(with.agent.keys().collect::<Vec<_>>(), ["DiskUnhealthy"], "the other is another client's");
        let whole = entry(AGENT_FIELD_MANAGER, "Apply", &["DiskUnhealthy"]);
        let whole = ConditionOwners::read(&json!([whole]), ["DiskUnhealthy"].into_iter()).unwrap();
        assert!(whole.ownerless.is_empty() && !whole.agent["DiskUnhealthy"].is_empty());
    }
}
