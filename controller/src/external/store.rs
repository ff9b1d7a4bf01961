//! Writes about requests: their status and finalizers by compare-and-swap, and what is done to their records.

use nodewell_reconcile::{api_error::ApiError, cluster::Records};
use nodewell_remediation::{
    api::request::{FINALIZER, NodeFenceRemediationStatus},
    external::{next::Act, request::Request},
};
use serde_json::{Value, json};

use super::sources;
use crate::kube::{KubeCluster, Wire, fences};

/// Writes the status; the request's version after that.
pub(super) async fn write_status(
    wire: &Wire,
    request: &Request,
    status: &NodeFenceRemediationStatus,
) -> Result<String, ApiError> {
    if *status == request.status {
        return Ok(request.resource_version.clone());
    }
    let mut body = json!(status);
    // What a merge patch does not name stays.
    for field in ["nodeName", "nodeUID", "nodeFence"] {
        if body.get(field).is_none() {
            body[field] = Value::Null;
        }
    }
    let patch =
        json!({ "metadata": { "uid": request.uid, "resourceVersion": request.resource_version }, "status": body });
    let written: Value = wire.merge(&format!("{}/status", sources::path(request)), &patch).await?;
    written["metadata"]["resourceVersion"]
        .as_str()
        .map(str::to_owned)
        .ok_or_else(|| ApiError::NoAnswer("the request was written and came back without a version".to_owned()))
}

/// Performs it. What another leader has done already is done.
pub(super) async fn perform(
    cluster: &KubeCluster,
    wire: &Wire,
    request: &Request,
    version: &str,
    act: &Act,
) -> Result<(), ApiError> {
    match act {
        Act::AddFinalizer => {
            let finalizers: Vec<&str> = request.finalizers.iter().map(String::as_str).chain([FINALIZER]).collect();
            write_finalizers(wire, request, version, &finalizers).await
        }
        Act::RemoveFinalizer => {
            let others = request.finalizers.iter().map(String::as_str).filter(|name| *name != FINALIZER);
            write_finalizers(wire, request, version, &others.collect::<Vec<_>>()).await
        }
        Act::Open(_) | Act::Abort(_) | Act::Close(_) | Act::HandOver(..) => {
            on_record(cluster, act, &format!("{} is over", request.shown())).await
        }
    }
}

/// What is done to a record; `why` it is aborted, if it is.
pub(super) async fn on_record(cluster: &KubeCluster, act: &Act, why: &str) -> Result<(), ApiError> {
    match act {
        Act::Open(record) => match cluster.open(record).await {
            Ok(_) | Err(ApiError::Conflict(_)) => Ok(()),
            Err(error) => Err(error),
        },
        Act::Abort(record) => fences::abort(cluster.wire(), record, &format!("nodewell-controller: {why}")).await,
        Act::Close(record) => cluster.close(record).await,
        Act::HandOver(record, to) => fences::hand_over(cluster.wire(), record, to).await,
        Act::AddFinalizer | Act::RemoveFinalizer => Ok(()),
    }
}

async fn write_finalizers(wire: &Wire, request: &Request, version: &str, finalizers: &[&str]) -> Result<(), ApiError> {
    let metadata = json!({ "uid": request.uid, "resourceVersion": version, "finalizers": finalizers });
    match wire.merge::<Value>(&sources::path(request), &json!({ "metadata": metadata })).await {
        Ok(_) | Err(ApiError::NotFound) => Ok(()),
        Err(error) => Err(error),
    }
}
