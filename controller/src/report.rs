//! Reads and writes the report of the controller that decides ([`nodewell_remediation::leader_report`]).

use std::collections::BTreeMap;

use nodewell_reconcile::api_error::ApiError;
use nodewell_remediation::leader_report::KEY;
pub use nodewell_remediation::leader_report::{Budget, Configuration, NAME, Report};
use serde_json::{Value, json};

use crate::kube::{FIELD_MANAGER, Manager, Wire, escaped};

fn path(namespace: &str) -> String {
    format!("/api/v1/namespaces/{}/configmaps/{NAME}", escaped(namespace))
}

/// The one that is stored; what cannot be read is none.
///
/// # Errors
/// What the API server answered instead.
pub async fn stored(wire: &Wire, namespace: &str) -> Result<Option<Report>, ApiError> {
    let map: Option<Value> = wire.get(&path(namespace)).await?;
    Ok(map.as_ref().and_then(|map| serde_json::from_str(map["data"][KEY].as_str()?).ok()))
}

/// # Errors
/// What the API server answered instead.
pub async fn store(wire: &Wire, namespace: &str, report: &Report) -> Result<(), ApiError> {
    let data: BTreeMap<&str, String> = [(KEY, json!(report).to_string())].into();
    let body = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": NAME }, "data": data });
    wire.apply(&path(namespace), Manager { name: FIELD_MANAGER, force: true }, &body).await
}
