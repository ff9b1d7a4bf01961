//! Other remediators' Leases: honoured, taken and released, with the rights of the packages.

use std::{process::Command, sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use nodewell_controller::kube::{
    FIELD_MANAGER,
    claims::{self, Read, Standing},
};
use nodewell_reconcile::{
    api_error::ApiError,
    cluster::{Election, Nodes, Records},
};
use serde_json::{Value, json};

use crate::{
    cases::{admin, cases, make_node},
    program::{Service, until},
    server::Server,
};

const NAMESPACE: &str = "medik8s-leases";
const ROLE: &str = include_str!("../../../packaging/rbac/claims/nodewell-controller-claims.yaml");

// In this order: a namespace cannot be deleted here.
cases![
    a_namespace_that_is_not_there_claims_nothing_and_one_that_is_closed_blocks,
    a_node_is_claimed_by_one_at_a_time,
    the_program_waits_for_a_peer_and_makes_peers_wait,
];

async fn read(server: &Server) -> Read {
    claims::read(server.cluster("controller").await.wire(), NAMESPACE).await
}

fn lease(node: &str, holder: &str, age: SignedDuration) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": { "name": format!("node-{node}"), "namespace": NAMESPACE },
        "spec": { "holderIdentity": holder, "leaseDurationSeconds": 60, "leaseTransitions": 3,
            "renewTime": format!("{:.6}", Timestamp::now() - age) },
    })
}

/// Who has the node's Lease; nothing if there is none.
async fn holder(server: &Server, node: &str) -> Option<Value> {
    let path = format!("/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/node-{node}");
    let lease: Option<Value> = server.cluster("admin").await.wire().get(&path).await.unwrap();
    lease.map(|lease| lease["spec"]["holderIdentity"].clone())
}

async fn a_namespace_that_is_not_there_claims_nothing_and_one_that_is_closed_blocks(server: Arc<Server>) {
    assert!(matches!(read(&server).await, Read::NoNamespace), "{:?}", read(&server).await);
    let everywhere = claims::read(server.cluster("admin").await.wire(), NAMESPACE).await;
    assert!(matches!(everywhere, Read::NoNamespace), "an empty list of nothing: {everywhere:?}");
    assert!(matches!(claims::read(server.cluster("controller").await.wire(), "another").await, Read::Unknown(_)));
    assert!(server.kubectl(&["create", "namespace", NAMESPACE]));
    assert!(
        matches!(read(&server).await, Read::Closed(ApiError::Refused { code: 403, .. })),
        "{:?}",
        read(&server).await
    );
    server.apply(ROLE).unwrap();
    // The authoriser hears of a new rule a little later.
    for _ in 0..300 {
        if matches!(read(&server).await, Read::Listed(_)) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("{:?}", read(&server).await);
}

async fn a_node_is_claimed_by_one_at_a_time(server: Arc<Server>) {
    let cluster = server.cluster("controller").await;
    let leases = format!("/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases");
    for (node, age) in [("held", SignedDuration::ZERO), ("over", SignedDuration::from_hours(1))] {
        admin(&server, "create", &leases, lease(node, "NodeHealthCheck-a", age)).await;
    }
    let Err(ApiError::Conflict(why)) = cluster.claim("held", "u").await else { panic!("it was claimed") };
    assert!(why.contains("medik8s-leases/node-held is held by NodeHealthCheck-a"), "{why}");
    for node in ["over", "new", "new"] {
        assert_eq!(cluster.claim(node, "u").await, Ok(()), "{node}");
        assert_eq!(holder(&server, node).await, Some(json!(FIELD_MANAGER)));
    }
    let Read::Listed(leases) = read(&server).await else { panic!("it cannot be read") };
    let seen = leases.claims(NAMESPACE, Timestamp::now());
    assert_eq!((seen.held.keys().map(String::as_str).collect::<Vec<_>>(), seen.are_kept), (vec!["held"], true));
    let ours =
        leases.standings(Timestamp::now()).filter(|(_, standing)| matches!(standing, Standing::Ours(Some(_)))).count();
    assert_eq!(ours, 2);
    assert_eq!(claims::release(cluster.wire(), NAMESPACE, &leases, "new").await, Ok(()));
    assert_eq!(holder(&server, "new").await, None);
    assert_eq!(cluster.claim("over", "u").await, Ok(()));
    let old = claims::release(cluster.wire(), NAMESPACE, &leases, "over").await;
    assert!(matches!(old, Err(ApiError::Conflict(_))), "it was renewed since: {old:?}");
}

async fn set_lost(server: &Server, lost: &str) {
    let conditions = json!({ "status": { "conditions": [
        { "type": "GpuUnhealthy", "status": lost, "reason": "Lost" },
        { "type": "Ready", "status": "True", "reason": "KubeletReady" },
    ] } });
    admin(server, "merge", "/api/v1/nodes/peered/status", conditions).await;
}

/// Some kubelet renews: a controller that hears none for two rounds trusts nothing.
async fn beat(server: Arc<Server>) {
    let leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
    let body = |time: Timestamp| {
        json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": "beating" },
            "spec": { "holderIdentity": "beating", "leaseDurationSeconds": 40, "renewTime": format!("{time:.6}") } })
    };
    admin(&server, "create", leases, body(Timestamp::now())).await;
    loop {
        tokio::time::sleep(Duration::from_secs(2)).await;
        admin(&server, "merge", &format!("{leases}/beating"), body(Timestamp::now())).await;
    }
}

/// The program's log, shown where a case fails.
struct ShownLog(std::path::PathBuf);

impl Drop for ShownLog {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", std::fs::read_to_string(&self.0).unwrap_or_default());
        }
    }
}

async fn the_program_waits_for_a_peer_and_makes_peers_wait(server: Arc<Server>) {
    // Of several that are true of a living node the first by name decides: those of other cases are not meant.
    assert!(server.kubectl(&["delete", "remediationpolicies", "--all"]));
    let beating = tokio::task::spawn_local(beat(Arc::clone(&server)));
    make_node(&server, "peered").await;
    set_lost(&server, "True").await;
    let leases = format!("/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases");
    admin(&server, "create", &leases, lease("peered", "node-maintenance", SignedDuration::ZERO)).await;
    let policy = json!({ "apiVersion": "nodewell.dev/v1alpha1", "kind": "RemediationPolicy",
        "metadata": { "name": "peers" },
        "spec": { "mode": "Enforce", "nodeStartupGracePeriod": "0s", "for": "0s", "healthyDelay": "1s",
            "steps": [{ "cordon": {} }],
            "when": "has(conditions.GpuUnhealthy) && conditions.GpuUnhealthy.status == 'True'",
            "cordonBudget": { "maxUnavailable": "100%", "maxUnavailablePerZone": "100%" },
            "storm": { "unhealthy": "100%", "rate": { "count": 1000, "window": "1m" }, "reachable": "0%" } } });
    server.apply(&policy.to_string()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let log = std::fs::File::create(folder.path().join("log")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_nodewell-controller"));
    command.arg("--kubeconfig").arg(server.kubeconfig("controller"));
    command.args(["run", "--no-dry-run", "--metrics-listen", "off"]);
    let _service = Service(command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap());
    let cluster = server.cluster("controller").await;
    let _shown = ShownLog(folder.path().join("log"));
    until("leading", async || cluster.leadership().await.unwrap().is_some_and(|lease| !lease.holder.is_empty())).await;
    let plan = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nodewell-controller"));
        let command =
            command.arg("--kubeconfig").arg(server.kubeconfig("controller")).args(["plan", "--node", "peered"]);
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    // Nothing but the claim stands in its way: kubelets may be late for 90 s after a controller's start.
    let is_claimed_alone = |plan: String| {
        plan.contains("ClaimedByPeer") && plan.contains("node-maintenance") && !plan.contains("KubeletLate")
    };
    until("blocked by the claim alone", async || is_claimed_alone(plan())).await;
    let is_cordoned = async || cluster.node("peered").await.unwrap().is_some_and(|node| node.unschedulable);
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(!is_cordoned().await);
    assert!(server.kubectl(&["delete", "lease", "-n", NAMESPACE, "node-peered"]));
    until("cordoned", is_cordoned).await;
    assert_eq!(holder(&server, "peered").await, Some(json!(FIELD_MANAGER)), "peers are not notified");
    set_lost(&server, "False").await;
    until("uncordoned", async || !is_cordoned().await).await;
    until("released", async || holder(&server, "peered").await.is_none()).await;
    beating.abort();
    assert!(server.kubectl(&["delete", "remediationpolicy", "peers"]));
}
