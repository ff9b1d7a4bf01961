//! Records that ended, kept for a while for people: a copy of each under another name, of which nothing is decided. A
//! record of the node's own name is one that is open, so the next one can be opened at once.

use std::time::Duration;

use jiff::Timestamp;
use nodewell_reconcile::api_error::ApiError;
pub use nodewell_remediation::api::ended::is_ended;
use nodewell_remediation::api::{
    GROUP, VERSION,
    ended::{RECORD, name_of},
    fence::NodeFence,
};
use serde_json::{Value, json};

use super::{fences, wire::Wire};

/// More are not kept, however young: a policy that goes round in circles must not fill etcd.
const MOST: usize = 1000;

fn name(fence: &NodeFence) -> String {
    name_of(&fence.spec.node_name, &fence.metadata.uid)
}

/// The copy of the record of `node` that had this UID, if it is kept.
///
/// # Errors
/// What the API server answered instead.
pub(crate) async fn copy_of(wire: &Wire, node: &str, uid: &str) -> Result<Option<NodeFence>, ApiError> {
    let copy: Option<NodeFence> = wire.get(&fences::path(&name_of(node, uid))).await?;
    Ok(copy.filter(|copy| copy.metadata.annotations.get(RECORD).is_some_and(|of| of == uid)))
}

/// Keeps a copy of what is about to be deleted. That it cannot be kept is no reason to keep the record open.
pub(super) async fn keep(wire: &Wire, fence: &NodeFence) {
    if let Err(error) = copy(wire, fence).await {
        tracing::warn!(node = fence.spec.node_name, %error, "the ended record is not kept; the audit has it");
    }
}

async fn copy(wire: &Wire, fence: &NodeFence) -> Result<(), ApiError> {
    let name = name(fence);
    let mut annotations = fence.metadata.annotations.clone();
    annotations.insert(RECORD.to_owned(), fence.metadata.uid.clone());
    let body = json!({
        "apiVersion": format!("{GROUP}/{VERSION}"), "kind": "NodeFence", "spec": fence.spec,
        "metadata": { "name": name, "annotations": annotations },
    });
    let created: Value = match wire.create(&fences::collection(), &body).await {
        // By a try before this one, which did not come to the deletion.
        Err(ApiError::Conflict(_)) => return Ok(()),
        outcome => outcome?,
    };
    let metadata = json!({ "name": name, "resourceVersion": created["metadata"]["resourceVersion"] });
    let mut body = body;
    (body["metadata"], body["status"]) = (metadata, json!(fence.status));
    wire.replace::<Value>(&format!("{}/status", fences::path(&name)), &body).await.map(drop)
}

/// Deletes those that have been kept for long enough, the oldest first; how many.
///
/// # Errors
/// What the API server answered instead.
pub async fn clear(wire: &Wire, keep: Duration, now: Timestamp) -> Result<usize, ApiError> {
    let all: Vec<Value> = wire.list(&fences::collection(), "").await?;
    let over = over(all, keep, now);
    for fence in &over {
        let metadata = &fence["metadata"];
        let path = fences::path(metadata["name"].as_str().unwrap_or_default());
        match wire.delete(&path, &json!({ "uid": metadata["uid"] }), None).await {
            Ok(()) | Err(ApiError::NotFound | ApiError::Conflict(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(over.len())
}

fn over(all: Vec<Value>, keep: Duration, now: Timestamp) -> Vec<Value> {
    let age = |fence: &Value| {
        let created = fence["metadata"]["creationTimestamp"].as_str().and_then(|text| text.parse::<Timestamp>().ok());
        created.and_then(|created| Duration::try_from(now.duration_since(created)).ok()).unwrap_or_default()
    };
    let mut ended: Vec<Value> = all.into_iter().filter(is_ended).collect();
    ended.sort_by_key(&age);
    let young = ended.iter().take(MOST).filter(|fence| age(fence) < keep).count();
    ended.split_off(young)
}

#[cfg(test)]
mod tests {
    use nodewell_remediation::api::{
        Meta,
        fence::{NodeFenceSpec, NodeFenceStatus},
    };

    use super::*;

    fn stored(name: &str, node: &str, created: &str) -> Value {
        json!({ "metadata": { "name": name, "uid": name, "creationTimestamp": created }, "spec": { "nodeName": node } })
    }

    #[test]
    fn only_what_is_named_otherwise_than_its_node_has_ended() {
        assert!(is_ended(&stored("n1-ended-12345678", "n1", "")));
        assert!(!is_ended(&stored("n1", "n1", "")));
        assert!(!is_ended(&stored("n1-ended-12345678", "n1-ended-12345678", "")), "a Node may be called so");
        assert!(!is_ended(&json!({ "metadata": { "name": "n1-ended-1" } })), "what cannot be read may be open");
    }

    #[test]
    fn a_copy_has_a_name_that_the_api_server_takes() {
        let fence = |node: &str| NodeFence {
            metadata: Meta { uid: "0a1b2c3d-0000-4000-8000-000000000000".into(), ..Meta::default() },
            spec: NodeFenceSpec { node_name: node.into(), ..NodeFenceSpec::default() },
            status: NodeFenceStatus::default(),
        };
        assert_eq!(name(&fence("n1")), "n1-ended-0a1b2c3d");
        let long = format!("{}.{}", "a".repeat(229), "b".repeat(20));
        let name = name(&fence(&long));
        assert!(name.len() <= 253 && name.contains("a-ended-0a1b2c3d"), "{name}");
    }

    #[test]
    fn what_is_old_goes_and_what_is_open_stays_whatever_its_age() {
        let now = "2026-01-02T00:00:00Z".parse().unwrap();
        let all = vec![
            stored("n1", "n1", "2025-01-01T00:00:00Z"),
            stored("n1-ended-1", "n1", "2025-12-31T23:00:00Z"),
            stored("n1-ended-2", "n1", "2026-01-01T01:00:00Z"),
            stored("n1-ended-3", "n1", "2026-01-03T00:00:00Z"),
        ];
        let names = |over: Vec<Value>| over.iter().map(|one| one["metadata"]["name"].clone()).collect::<Vec<_>>();
        assert_eq!(names(over(all.clone(), Duration::from_secs(24 * 3600), now)), ["n1-ended-1"]);
        let many = (0..MOST + 5).map(|n| stored(&format!("n-ended-{n}"), "n", "2026-01-01T23:59:59Z")).collect();
        assert_eq!(over(many, Duration::from_secs(24 * 3600), now).len(), 5);
    }
}
