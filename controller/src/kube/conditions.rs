//! Agents' conditions, read and written by the API alone: the trait `Conditions` of the reconciler of silent agents.

use k8s_openapi::api::coordination::v1::Lease;
use nodewell_reconcile::{api_error::ApiError, cluster::LeaseKind, liveness::Conditions};
use nodewell_remediation::{
    action::EventDraft,
    liveness::{AGENT_FIELD_MANAGER, Evidence, RawCondition, StatusView, apply_body},
};
use serde_json::Value;

use super::{
    KubeCluster, events, leases, nodes,
    wire::{Manager, Wire, escaped},
};

/// The way to the agents' conditions, with the controller's own rights.
#[derive(Debug, Clone, Copy)]
pub struct AgentConditions<'a> {
    wire: &'a Wire,
    /// Where the agents' Leases are.
    namespace: &'a str,
}

impl<'a> AgentConditions<'a> {
    #[must_use]
    pub fn new(cluster: &'a KubeCluster) -> Self {
        Self { wire: cluster.wire(), namespace: &cluster.settings().namespace }
    }
}

impl Conditions for AgentConditions<'_> {
    async fn read(&self, node: &str) -> Result<Option<Evidence>, ApiError> {
        let Some(raw) = self.wire.get::<Value>(&nodes::path(node)).await? else { return Ok(None) };
        let path = leases::path(leases::namespace(LeaseKind::Agent, self.namespace), node);
        let lease = self.wire.get::<Lease>(&path).await?;
        let renewed = |lease: Lease| lease.spec.and_then(|spec| spec.renew_time).map(|time| time.0);
        Ok(Some(Evidence { status: status(&raw)?, lease: lease.map(renewed) }))
    }

    async fn apply(&self, node: &str, status: &StatusView, set: &[RawCondition]) -> Result<(), ApiError> {
        versioned(node, status)?;
        let manager = Manager { name: AGENT_FIELD_MANAGER, force: status.has_ownerless_conditions() };
        self.wire.apply(&status_path(node), manager, &apply_body(node, status, set)).await
    }

    async fn emit(&self, node: &str, uid: &str, event: &EventDraft) {
        events::emit(self.wire, node, uid, event).await;
    }
}

fn status_path(node: &str) -> String {
    format!("/api/v1/nodes/{}/status", escaped(node))
}

/// What is not there is empty; a list of owners that is empty is one that a client emptied.
fn status(raw: &Value) -> Result<StatusView, ApiError> {
    let meta = &raw["metadata"];
    let text = |name: &str| meta[name].as_str().unwrap_or_default().to_owned();
    let raw_conditions = raw["status"]["conditions"].as_array().into_iter().flatten();
    let conditions: Option<Vec<RawCondition>> = raw_conditions.map(|one| one.as_object().cloned()).collect();
    Ok(StatusView {
        uid: text("uid"),
        resource_version: text("resourceVersion"),
        managed_fields: meta["managedFields"].clone(),
        conditions: conditions.ok_or_else(|| ApiError::NoAnswer("a condition of the Node is no object".to_owned()))?,
    })
}

/// Without both preconditions it would win against an agent that has come back.
fn versioned(node: &str, status: &StatusView) -> Result<(), ApiError> {
    if status.uid.is_empty() || status.resource_version.is_empty() {
        let message = format!("the Node {node} was read without its uid or resourceVersion");
        return Err(ApiError::Refused { code: 0, message });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_read_comes_back_with_its_owners() {
        let fields = json!([{ "manager": "nodewell" }]);
        let raw = json!({
            "metadata": { "uid": "u", "resourceVersion": "7", "managedFields": fields },
            "status": { "conditions": [{ "type": "DiskUnhealthy", "status": "False" }] },
        });
        let read = status(&raw).unwrap();
        assert_eq!((read.uid.as_str(), read.resource_version.as_str(), &read.managed_fields), ("u", "7", &fields));
        assert_eq!(read.conditions[0]["type"], "DiskUnhealthy");
        assert!(status(&json!({ "status": { "conditions": ["odd"] } })).is_err());
        assert_eq!(
            status(&json!({})).unwrap().managed_fields,
            Value::Null,
            "as the server shows a list that was emptied"
        );
    }

    #[test]
    fn nothing_is_applied_without_both_preconditions() {
        let whole = StatusView { uid: "u".into(), resource_version: "7".into(), ..StatusView::default() };
        assert_eq!(versioned("n", &whole), Ok(()));
        for half in [
            StatusView { uid: String::new(), ..whole.clone() },
            StatusView { resource_version: String::new(), ..whole },
        ] {
            assert!(versioned("n", &half).is_err());
        }
    }
}
