//! Records. Each write is a compare-and-swap on the resourceVersion and names the UID.

use nodewell_reconcile::api_error::ApiError;
use nodewell_remediation::api::{ASKED_BY, GROUP, VERSION, fence::NodeFence, request::REQUESTED_BY};
use serde_json::{Value, json};

use super::wire::{Wire, escaped};

/// The collection's path.
pub(super) fn collection() -> String {
    format!("/apis/{GROUP}/{VERSION}/nodefences")
}

pub(super) fn path(name: &str) -> String {
    format!("{}/{}", collection(), escaped(name))
}

/// Creates it. The server drops the status of a creation: the caller that opens it saves that next.
pub(super) async fn open(wire: &Wire, fence: &NodeFence) -> Result<NodeFence, ApiError> {
    let mut body = body(fence);
    body["metadata"] = json!({
        "name": fence.metadata.name, "labels": fence.metadata.labels, "annotations": fence.metadata.annotations,
    });
    wire.create(&collection(), &body).await
}

pub(super) async fn save(wire: &Wire, fence: &NodeFence) -> Result<NodeFence, ApiError> {
    versioned(fence)?;
    let mut body = body(fence);
    // `managedFields` and the like are the server's own; the labels are of no concern to a write of the status.
    body["metadata"] = json!({
        "name": fence.metadata.name, "uid": fence.metadata.uid, "resourceVersion": fence.metadata.resource_version,
    });
    wire.replace(&format!("{}/status", path(&fence.metadata.name)), &body).await
}

/// Has it stopped, as `nodewell-controller abort` does; only the record of this UID.
pub(crate) async fn abort(wire: &Wire, fence: &NodeFence, by: &str) -> Result<(), ApiError> {
    let patch = json!({ "metadata": { "uid": fence.metadata.uid, "annotations": { ASKED_BY: by } },
        "spec": { "abort": true } });
    wire.merge::<Value>(&path(&fence.metadata.name), &patch).await.map(drop)
}

/// Has it serve another request; only the record of this UID.
pub(crate) async fn hand_over(wire: &Wire, fence: &NodeFence, to: &str) -> Result<(), ApiError> {
    let patch = json!({ "metadata": { "uid": fence.metadata.uid, "annotations": { REQUESTED_BY: to } } });
    wire.merge::<Value>(&path(&fence.metadata.name), &patch).await.map(drop)
}

pub(super) async fn close(wire: &Wire, fence: &NodeFence) -> Result<(), ApiError> {
    versioned(fence)?;
    let preconditions = json!({ "uid": fence.metadata.uid, "resourceVersion": fence.metadata.resource_version });
    wire.delete(&path(&fence.metadata.name), &preconditions, None).await
}

/// A write without a version would win against every other.
fn versioned(fence: &NodeFence) -> Result<(), ApiError> {
    if fence.metadata.uid.is_empty() || fence.metadata.resource_version.is_empty() {
        let message = format!("the record of {} was never stored: it has no version", fence.metadata.name);
        return Err(ApiError::Refused { code: 0, message });
    }
    Ok(())
}

fn body(fence: &NodeFence) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/{VERSION}"), "kind": "NodeFence", "spec": fence.spec, "status": fence.status,
    })
}
