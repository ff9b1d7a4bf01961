//! Pods: evicted and deleted by UID, guarded by budgets, read with their claims.

use std::{sync::Arc, time::Duration};

use nodewell_reconcile::{api_error::ApiError, cluster::Pods};
use nodewell_remediation::facts::{Pod, PodRef};
use serde_json::{Value, json};

use crate::{
    cases::{admin, cases},
    server::Server,
};

cases![
    a_budget_blocks_and_names_itself,
    another_pod_of_the_name_is_neither_evicted_nor_deleted,
    pods_of_a_node_come_with_their_claims,
];

async fn make_pod(server: &Server, name: &str, node: &str, extra: Value) -> PodRef {
    let mut body = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": name, "namespace": "default", "labels": { "app": name } },
        "spec": { "nodeName": node, "containers": [{ "name": "c", "image": "none" }] },
    });
    for (key, value) in extra.as_object().unwrap() {
        body["spec"][key] = value.clone();
    }
    let made = admin(server, "create", "/api/v1/namespaces/default/pods", body).await;
    let uid = made["metadata"]["uid"].as_str().unwrap().to_owned();
    let status = json!({ "status": { "phase": "Running", "conditions": [{ "type": "Ready", "status": "True" }] } });
    admin(server, "merge", &format!("/api/v1/namespaces/default/pods/{name}/status"), status).await;
    PodRef { namespace: "default".into(), name: name.into(), uid }
}

/// As the disruption controller would, which is not here.
async fn make_budget(server: &Server, app: &str) {
    let collection = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
    let body = json!({ "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": { "name": app },
        "spec": { "minAvailable": 1, "selector": { "matchLabels": { "app": app } } } });
    admin(server, "create", collection, body).await;
    let status = json!({ "status": { "observedGeneration": 1, "disruptionsAllowed": 0, "currentHealthy": 1,
        "desiredHealthy": 1, "expectedPods": 1 } });
    admin(server, "merge", &format!("{collection}/{app}/status"), status).await;
}

async fn a_budget_blocks_and_names_itself(server: Arc<Server>) {
    let cluster = server.cluster("controller").await;
    let guarded = make_pod(&server, "guarded", "draining", json!({})).await;
    make_budget(&server, "guarded").await;
    let refused = cluster.evict(&guarded, None).await;
    assert!(
        matches!(&refused, Err(ApiError::EvictionRefused { message, .. }) if message.contains("guarded")),
        "{refused:?}"
    );
    let pod: Pod = cluster.pod(&guarded).await.unwrap().unwrap();
    let budgets = cluster.budgets_of(&pod).await.unwrap();
    assert_eq!((budgets.len(), budgets[0].name.as_str(), budgets[0].disruptions_allowed), (1, "guarded", 0));
    let free = make_pod(&server, "free", "draining", json!({})).await;
    cluster.evict(&free, Some(Duration::ZERO)).await.unwrap();
    assert_eq!(cluster.pod(&free).await, Ok(None));
    assert_eq!(cluster.evict(&free, None).await, Err(ApiError::NotFound));
}

async fn another_pod_of_the_name_is_neither_evicted_nor_deleted(server: Arc<Server>) {
    let cluster = server.cluster("controller").await;
    let there = make_pod(&server, "again", "draining", json!({})).await;
    let before = PodRef { uid: "00000000-0000-0000-0000-000000000000".into(), ..there.clone() };
    assert_eq!(cluster.evict(&before, None).await, Err(ApiError::NotFound));
    assert_eq!(cluster.delete_pod(&before, Some(Duration::ZERO)).await, Err(ApiError::NotFound));
    assert_eq!(cluster.pod(&before).await, Ok(None));
    assert!(cluster.pod(&there).await.unwrap().is_some());
    cluster.delete_pod(&there, Some(Duration::ZERO)).await.unwrap();
    assert_eq!(cluster.pod(&there).await, Ok(None));
}

async fn pods_of_a_node_come_with_their_claims(server: Arc<Server>) {
    let cluster = server.cluster("controller").await;
    let class = json!({ "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": { "name": "fast" },
        "provisioner": "disks.example.com" });
    admin(&server, "create", "/apis/storage.k8s.io/v1/storageclasses", class).await;
    let claim = json!({ "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": { "name": "data" },
        "spec": { "accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "resources": { "requests": { "storage": "1Gi" } } } });
    admin(&server, "create", "/api/v1/namespaces/default/persistentvolumeclaims", claim).await;
    let volumes = json!({ "volumes": [
        { "name": "a", "persistentVolumeClaim": { "claimName": "data" } },
        { "name": "b", "persistentVolumeClaim": { "claimName": "nobodys" } },
    ] });
    make_pod(&server, "storing", "storage-node", volumes).await;
    make_pod(&server, "elsewhere", "other-node", json!({})).await;
    let pods = cluster.pods_and_claims_on("storage-node").await.unwrap();
    assert_eq!(pods.len(), 1);
    use nodewell_remediation::facts::{Volume, VolumeClaim};
    let known = VolumeClaim {
        name: "data".into(),
        storage_class: Some("fast".into()),
        driver: Some("disks.example.com".into()),
        one_node_only: Some(true),
        ..VolumeClaim::default()
    };
    let unknown = VolumeClaim { name: "nobodys".into(), ..VolumeClaim::default() };
    assert_eq!(pods[0].volumes[..2], [Volume::Claim(known), Volume::Claim(unknown)]);
    assert_eq!(cluster.attachments_on("storage-node").await, Ok(Vec::new()));
}
