//! What the controller is led and stopped by: Leases, Events, the kill switch, a server that is not there.

use std::{sync::Arc, time::Duration};

use nodewell_controller::kube::{KubeCluster, PAUSE_CONFIG_MAP};
use nodewell_reconcile::{
    api_error::ApiError,
    cluster::{Configuration, Election, Hosts, Leadership, LeaseKind, Marks, Nodes},
};
use nodewell_remediation::{action::EventDraft, message::Message};
use serde_json::json;

use crate::{
    cases::{admin, cases, make_node},
    server::Server,
};

cases![
    leadership_is_taken_by_one,
    a_node_named_like_the_leaders_lease_does_not_lead,
    an_event_is_counted,
    the_kill_switch_stops,
    a_lease_is_read_in_its_place,
    no_server_is_no_answer,
];

async fn leadership_is_taken_by_one(server: Arc<Server>) {
    let cluster = server.cluster("controller").await;
    assert_eq!(cluster.leadership().await, Ok(None));
    let now = Some(jiff::Timestamp::now());
    let mine = Leadership {
        holder: "a".into(),
        duration: Duration::from_secs(15),
        acquired: now,
        renewed: now,
        transitions: 1,
        annotations: [("nodewell.dev/sees".to_owned(), "{}".to_owned())].into(),
        ..Leadership::default()
    };
    let stored = cluster.lead(&mine).await.unwrap();
    assert!(matches!(cluster.lead(&mine).await, Err(ApiError::Conflict(_))), "made twice");
    let renewed = cluster.lead(&Leadership { transitions: 2, ..stored.clone() }).await.unwrap();
    assert!(matches!(cluster.lead(&stored).await, Err(ApiError::Conflict(_))), "a stale version leads");
    assert_eq!(cluster.leadership().await.unwrap().unwrap(), renewed);
    assert_eq!((renewed.transitions, renewed.annotations.len()), (2, 1));
}

/// Agents make a Lease in `nodewell` that is named like their Node.
async fn a_node_named_like_the_leaders_lease_does_not_lead(server: Arc<Server>) {
    let cluster = server.cluster("controller").await;
    let before = cluster.leadership().await.unwrap();
    let of_agents = "/apis/coordination.k8s.io/v1/namespaces/nodewell/leases";
    for name in ["nodewell-controller", "nodewell-controller-reach-cp-1"] {
        let lease = json!({
            "metadata": {
                "name": name, "labels": { "nodewell.dev/reach": "" },
                "annotations": { "nodewell.dev/reach-sequence": "1", "nodewell.dev/reach": "{}" },
            },
            "spec": { "holderIdentity": name, "leaseDurationSeconds": 240, "leaseTransitions": 9 },
        });
        admin(&server, "create", of_agents, lease).await;
        assert!(cluster.lease(LeaseKind::Agent, name).await.unwrap().is_some());
    }
    assert_eq!(cluster.leadership().await.unwrap(), before);
    assert_eq!(cluster.reach_reports().await.unwrap(), []);
    // It may not take an agent's Lease either.
    let wire = cluster.wire();
    let taken = wire.merge::<serde_json::Value>(&format!("{of_agents}/nodewell-controller"), &json!({})).await;
    assert!(matches!(taken, Err(ApiError::Refused { code: 403, .. })), "{taken:?}");
}

async fn an_event_is_counted(server: Arc<Server>) {
    let cluster = server.cluster("controller").await;
    let uid = make_node(&server, "noted").await;
    for _ in 0..3 {
        cluster
            .emit(
                "noted",
                &uid,
                &EventDraft::warning(Message {
                    reason: "RemediationBlocked".into(),
                    text: "the budget of zone a is used up".into(),
                }),
            )
            .await;
    }
    let shown = server.kubectl_output(&["describe", "node", "noted"]).unwrap();
    assert!(
        shown.contains("RemediationBlocked") && shown.contains("x3") && shown.contains("zone a is used up"),
        "{shown}"
    );
}

async fn the_kill_switch_stops(server: Arc<Server>) {
    let cluster = server.cluster("controller").await;
    assert_eq!(cluster.stopped().await, Ok(None));
    let create = ["-n", "nodewell", "create", "configmap", PAUSE_CONFIG_MAP, "--from-literal=reason=rack 4"];
    assert!(server.kubectl(&create));
    assert!(cluster.stopped().await.unwrap().unwrap().ends_with("rack 4"));
    assert!(server.kubectl(&["-n", "nodewell", "delete", "configmap", PAUSE_CONFIG_MAP]));
    assert_eq!(cluster.stopped().await, Ok(None));
    assert!(server.kubectl(&["-n", "nodewell", "create", "secret", "generic", "s", "--from-literal=password=p w"]));
    let secret = cluster.secret("s").await.unwrap().unwrap();
    assert_eq!((secret.data["password"].as_slice(), secret.version.is_empty()), (b"p w".as_slice(), false));
    assert!(cluster.secret("none").await.unwrap().is_none());
}

async fn a_lease_is_read_in_its_place(server: Arc<Server>) {
    let cluster = server.cluster("controller").await;
    let lease = json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": "leased" },
        "spec": { "holderIdentity": "leased", "leaseDurationSeconds": 40, "renewTime": "2026-01-02T03:04:05.000006Z" } });
    admin(&server, "create", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases", lease).await;
    let view = cluster.lease(LeaseKind::Kubelet, "leased").await.unwrap().unwrap();
    assert_eq!((view.holder.as_str(), view.duration), ("leased", Duration::from_secs(40)));
    assert_eq!(cluster.lease(LeaseKind::Agent, "leased").await, Ok(None));
}

async fn no_server_is_no_answer(server: Arc<Server>) {
    let _ = &server;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kubeconfig");
    let kubeconfig = json!({ "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{ "name": "c", "cluster": { "server": "http://127.0.0.1:1" } }], "users": [{ "name": "c", "user": {} }],
        "contexts": [{ "name": "c", "context": { "cluster": "c", "user": "c" } }] });
    std::fs::write(&path, kubeconfig.to_string()).unwrap();
    let requests = Arc::default();
    let client = nodewell_controller::kube::connect(Some(&path), Arc::clone(&requests)).await.unwrap();
    let cluster = KubeCluster::new(client, crate::server::clock(), crate::server::settings());
    let error = cluster.node("n").await.unwrap_err();
    assert!(matches!(&error, ApiError::NoAnswer(why) if why.contains("GET /api/v1/nodes/n")), "{error}");
    let asked = nodewell_controller::kube::Asked { verb: "get", resource: "nodes" };
    assert_eq!(requests.so_far(), [((asked, 0), 1)].into());
}
