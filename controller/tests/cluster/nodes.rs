//! Nodes: taints and cordons, of this Node and no other of its name.

use std::sync::Arc;

use nodewell_controller::kube::KubeCluster;
use nodewell_reconcile::{
    api_error::ApiError,
    cluster::{Marks, Nodes},
};
use serde_json::json;

use crate::{
    cases::{cases, make_node, taint},
    server::Server,
};

cases![
    a_taint_comes_and_goes_beside_others,
    taints_set_at_once_are_all_there,
    only_our_cordon_is_removed,
    another_node_of_the_name_is_left_alone,
];

async fn a_taint_comes_and_goes_beside_others(server: Arc<Server>) {
    let cluster = server.cluster("controller").await;
    let uid = make_node(&server, "tainted").await;
    assert!(server.kubectl(&["taint", "node", "tainted", "person=here:NoExecute"]));
    for _ in 0..2 {
        cluster.taint("tainted", &uid, &taint("nodewell.dev/remediation")).await.unwrap();
    }
    assert_eq!(keys(&cluster, "tainted").await, ["nodewell.dev/remediation", "person"]);
    cluster.untaint("tainted", &uid, &taint("nodewell.dev/remediation")).await.unwrap();
    assert_eq!(keys(&cluster, "tainted").await, ["person"]);
}

/// Without what the server sets itself.
async fn keys(cluster: &KubeCluster, node: &str) -> Vec<String> {
    let node = cluster.node(node).await.unwrap().unwrap();
    let mut keys: Vec<String> = node.taints.into_iter().map(|taint| taint.key).collect();
    keys.retain(|key| !key.starts_with("node.kubernetes.io/"));
    keys.sort();
    keys
}

async fn taints_set_at_once_are_all_there(server: Arc<Server>) {
    let cluster = server.cluster("controller").await;
    let uid = make_node(&server, "busy").await;
    let (a, b, c) = (taint("a"), taint("b"), taint("c"));
    let outcomes =
        tokio::join!(cluster.taint("busy", &uid, &a), cluster.taint("busy", &uid, &b), cluster.taint("busy", &uid, &c));
    assert_eq!(outcomes, (Ok(true), Ok(true), Ok(true)));
    assert_eq!(keys(&cluster, "busy").await, ["a", "b", "c"]);
}

async fn only_our_cordon_is_removed(server: Arc<Server>) {
    let cluster = server.cluster("controller").await;
    let uid = make_node(&server, "cordoned").await;
    // The server stores who wrote what once a client has applied something, as agents do with their conditions.
    let applied =
        json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "cordoned", "labels": { "a": "b" } } });
    server.apply(&applied.to_string()).unwrap();
    let is_cordoned = async || cluster.node("cordoned").await.unwrap().unwrap().unschedulable;
    assert_eq!(cluster.cordon("cordoned", &uid, "p").await, Ok(true));
    assert_eq!(cluster.cordon("cordoned", &uid, "p").await, Ok(true));
    assert!(is_cordoned().await);
    assert_eq!(cluster.uncordon("cordoned", &uid, "q").await, Ok(false));
    assert_eq!(cluster.uncordon("cordoned", &uid, "p").await, Ok(true));
    assert!(!is_cordoned().await);
    // A person's own cordon stays, with our mark left from before or not.
    assert_eq!(cluster.cordon("cordoned", &uid, "p").await, Ok(true));
    assert!(server.kubectl(&["uncordon", "cordoned"]) && server.kubectl(&["cordon", "cordoned"]));
    assert_eq!(cluster.uncordon("cordoned", &uid, "p").await, Ok(false));
    assert!(is_cordoned().await);
    let node = cluster.node("cordoned").await.unwrap().unwrap();
    assert!(!node.annotations.contains_key("nodewell.dev/cordoned-by"), "it would take their cordon for ours for ever");
}

async fn another_node_of_the_name_is_left_alone(server: Arc<Server>) {
    let cluster = server.cluster("controller").await;
    make_node(&server, "reborn").await;
    let gone = "00000000-0000-0000-0000-000000000000";
    assert_eq!(cluster.taint("reborn", gone, &taint("a")).await, Err(ApiError::NotFound));
    assert_eq!(cluster.cordon("reborn", gone, "p").await, Err(ApiError::NotFound));
    assert_eq!(cluster.cordon("never-there", gone, "p").await, Err(ApiError::NotFound));
    assert_eq!(cluster.node("never-there").await, Ok(None));
}
