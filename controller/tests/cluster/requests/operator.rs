//! The real node-healthcheck-operator, where envtest's folder has one as `node-healthcheck-operator`: it finds a node
//! ill and has it fenced, by the shipped example, with its webhook, and with the rights to our kinds that it takes by
//! itself. What it writes is held to what [`super::health_check`] plays.

use std::{fs, net::TcpListener, sync::Arc};

use base64::{Engine, engine::general_purpose::STANDARD};
use nodewell_remediation::api::request::FINALIZER;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    actors::{Leader, condition, get, gone, record, released, request, set_phase},
    health_check::{HEALTH_CHECKS, HealthCheck, TIMED_OUT, lease_owners, lease_path, remediation},
    prepare,
};
use crate::{
    cases::{admin, cases},
    program::until,
    server::{Guard, Server, binary},
    workload::StandIn,
};

cases![the_operator_has_a_node_fenced_and_takes_its_request_back, the_operator_gives_up_a_request_that_has_failed,];

const NAME: &str = "node-healthcheck-operator";
/// It binds its role to this account of the namespace that it is started with.
const NAMESPACE: &str = "nhc";
const ACCOUNT: &str = "system:serviceaccount:nhc:node-healthcheck-controller-manager";
/// Of its webhook, in its code: no flag changes it.
const PORT: u16 = 9443;
const RIGHTS: &str = include_str!("customers/operator.yaml");
const EXAMPLE: &str = include_str!("../../../../docs/examples/external-remediation/node-health-check.yaml");
/// The example under a name of its own, and the label of the nodes that it is for.
const CHECK: &str = "real";
const LABEL: &str = "nodewell.dev/real-check";
/// Of each case; the first falls ill.
const FENCED: [&str; 3] = ["nhc-real-1", "nhc-real-2", "nhc-real-3"];
const FAILED: [&str; 3] = ["nhc-fail-1", "nhc-fail-2", "nhc-fail-3"];

/// Why there is none here.
pub(crate) fn missing() -> Option<String> {
    (!binary(NAME).is_file()).then(|| format!("no {NAME} in {}", binary("").display()))
}

/// The operator, with the example as its only check; ended with the case.
struct Operator {
    server: Arc<Server>,
    process: Guard,
    _temporary: TempDir,
}

impl Operator {
    async fn start(server: &Arc<Server>) -> Self {
        prepare(server);
        server.apply(RIGHTS).unwrap();
        // Those that cases have played: it would serve them.
        assert!(server.kubectl(&["delete", "nodehealthchecks", "--all"]));
        assert!(TcpListener::bind(("0.0.0.0", PORT)).is_ok(), "port {PORT} is taken, and {NAME} has no other");
        let temporary = serving_certificate(server);
        server.apply(&webhook(server).to_string()).unwrap();
        let flags = [
            format!("--kubeconfig={}", server.kubeconfig("health-check-operator").display()),
            "--leader-elect=false".to_owned(),
            "--metrics-bind-address=0".to_owned(),
            "--health-probe-bind-address=0".to_owned(),
        ];
        let folder = temporary.path().to_str().unwrap();
        let process = server.start_beside(NAME, &flags, &[("DEPLOYMENT_NAMESPACE", NAMESPACE), ("TMPDIR", folder)]);
        let mut operator = Self { server: Arc::clone(server), process, _temporary: temporary };
        operator.takes_its_rights().await;
        operator.takes_the_example().await;
        operator
    }

    /// By its own role, which selects the label of ours.
    async fn takes_its_rights(&mut self) {
        let may =
            |server: &Server, verb: &str, what: &str| server.kubectl(&["auth", "can-i", verb, what, "--as", ACCOUNT]);
        until("its rights to requests", async || {
            assert!(!self.process.has_ended(), "{NAME} has ended");
            may(&self.server, "create", "nodefenceremediations.nodewell.dev")
                && may(&self.server, "list", "nodefenceremediationtemplates.nodewell.dev")
        })
        .await;
    }

    /// It refuses what it cannot do, so that what it takes it has looked at.
    async fn takes_the_example(&mut self) {
        let mut hasty = example();
        hasty["spec"]["escalatingRemediations"][0]["timeout"] = json!("30s");
        until("its webhook", async || {
            assert!(!self.process.has_ended(), "{NAME} has ended");
            self.server.apply(&hasty.to_string()).is_err_and(|why| why.contains("at least one minute"))
        })
        .await;
        self.server.apply(&example().to_string()).unwrap();
        until("enabled", async || check(&self.server).await["status"]["phase"] == "Enabled").await;
    }

    /// No node of its check is unhealthy any more: nothing holds the check, and nothing of it is left.
    async fn finds_all_healthy(&self, nodes: [&str; 3]) {
        until("all healthy", async || {
            let status = &check(&self.server).await["status"];
            let unhealthy = status["unhealthyNodes"].as_array().map_or(0, Vec::len);
            status["healthyNodes"] == nodes.len() && unhealthy == 0 && status["phase"] == "Enabled"
        })
        .await;
        for node in nodes {
            assert_eq!(get(&self.server, &lease_path(node)).await, None, "its Lease");
        }
        assert!(self.server.kubectl(&["delete", "nodehealthcheck", CHECK]), "its webhook lets it go");
    }
}

impl Drop for Operator {
    /// Without the operator its webhook would refuse every `NodeHealthCheck`.
    fn drop(&mut self) {
        self.server.kubectl(&["delete", "--ignore-not-found", "validatingwebhookconfiguration", NAME]);
        if std::thread::panicking() {
            eprintln!("{}", self.server.log(NAME));
        }
    }
}

/// Where controller-runtime looks for it: below `TMPDIR`. The API server's own is of the right authority and address.
fn serving_certificate(server: &Server) -> TempDir {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().join("k8s-webhook-server/serving-certs");
    fs::create_dir_all(&folder).unwrap();
    for (own, its) in [("server.crt", "tls.crt"), ("server.key", "tls.key")] {
        fs::copy(server.own_file(own), folder.join(its)).unwrap();
    }
    temporary
}

/// As `config/webhook/manifests.yaml` registers it, by its address in place of a Service.
fn webhook(server: &Server) -> Value {
    let authority = STANDARD.encode(fs::read(server.own_file("ca.crt")).unwrap());
    let url = format!("https://127.0.0.1:{PORT}/validate-remediation-medik8s-io-v1alpha1-nodehealthcheck");
    json!({ "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": { "name": NAME },
        "webhooks": [{ "name": "vnodehealthcheck.kb.io", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "failurePolicy": "Fail", "clientConfig": { "url": url, "caBundle": authority },
            "rules": [{ "apiGroups": ["remediation.medik8s.io"], "apiVersions": ["v1alpha1"],
                "resources": ["nodehealthchecks"], "operations": ["CREATE", "UPDATE", "DELETE"] }] }] })
}

/// The shipped `NodeHealthCheck`, for the nodes of the case, with the template of the cases, and within seconds.
fn example() -> Value {
    let documents = serde_saphyr::from_multiple::<Value>(EXAMPLE).unwrap();
    let mut check = documents.into_iter().find(|one| one["kind"] == "NodeHealthCheck").unwrap();
    check["metadata"]["name"] = json!(CHECK);
    check["spec"]["selector"] = json!({ "matchLabels": { LABEL: "" } });
    for condition in check["spec"]["unhealthyConditions"].as_array_mut().unwrap() {
        condition["duration"] = json!("1s");
    }
    check["spec"]["escalatingRemediations"][0]["remediationTemplate"]["namespace"] = json!("default");
    check
}

async fn check(server: &Server) -> Value {
    get(server, &format!("{HEALTH_CHECKS}/{CHECK}")).await.unwrap_or_default()
}

/// Its entry of this node.
async fn entry(server: &Server, node: &str) -> Value {
    let check = check(server).await;
    let mut nodes = check["status"]["unhealthyNodes"].as_array().into_iter().flatten();
    nodes.find(|one| one["name"] == node).cloned().unwrap_or_default()
}

/// Nodes that are well, with the label of the check: one may fall ill, since more than half stay healthy. The one that
/// does, and the others.
async fn start_nodes(server: &Arc<Server>, names: [&str; 3]) -> (StandIn, Vec<StandIn>) {
    let mut nodes = Vec::new();
    for name in names {
        nodes.push(StandIn::start(server, name).await);
        let labels = json!({ "metadata": { "labels": { LABEL: "" } } });
        admin(server, "merge", &format!("/api/v1/nodes/{name}"), labels).await;
    }
    (nodes.remove(0), nodes)
}

/// What it wrote is what is played for it: of the request, of its own status and of the Lease.
async fn wrote_what_is_played(server: &Arc<Server>, node: &str) {
    let stored = request(server, node).await.unwrap();
    let played = HealthCheck::make(server, CHECK).await;
    let like = played.request(node, &json!({ "leaveOff": false }));
    for part in ["apiVersion", "kind", "spec"] {
        assert_eq!(stored[part], like[part], "{part}");
    }
    for part in ["name", "namespace", "annotations", "labels", "ownerReferences"] {
        assert_eq!(stored["metadata"][part], like["metadata"][part], "{part}");
    }
    until("listed", async || entry(server, node).await["remediations"] == json!([remediation(&stored)])).await;
    let lease = get(server, &lease_path(node)).await.unwrap();
    assert_eq!(lease["spec"]["holderIdentity"], played.holder().as_str());
    assert_eq!(lease["metadata"]["ownerReferences"], lease_owners(server, node).await);
    // The 30 minutes of the example, and one more.
    assert_eq!(lease["spec"]["leaseDurationSeconds"], 31 * 60);
}

async fn the_operator_has_a_node_fenced_and_takes_its_request_back(server: Arc<Server>) {
    let (mut node, _others) = start_nodes(&server, FENCED).await;
    let operator = Operator::start(&server).await;
    let leader = Leader::start(&server, "").await;
    node.die().await;
    until("its request", async || request(&server, &node.name).await.is_some()).await;
    wrote_what_is_played(&server, &node.name).await;
    until("its record", async || record(&server, &node.name).await.is_some()).await;
    // The real check confirms the request: its Lease of the node does not block the record.
    until("what blocks it", async || {
        condition(&server, &node.name, "Succeeded").await.is_some_and(|(is, reason, message)| {
            is == "Unknown"
                && reason == "FencingBlocked"
                && message.contains("NewNode")
                && !message.contains("ClaimedByPeer")
        })
    })
    .await;
    assert_eq!(request(&server, &node.name).await.unwrap()["metadata"]["finalizers"], json!([FINALIZER]));
    set_phase(&server, &node.name, released("AwaitReady")).await;
    until("turned on", async || {
        condition(&server, &node.name, "Succeeded").await.is_some_and(|(_, reason, _)| reason == "TurningOn")
    })
    .await;
    // It deletes the request as soon as the node is Ready, and waits for its finalizer.
    let node = node.boots("boot-2").await;
    until("its request is gone", async || request(&server, &node.name).await.is_none()).await;
    assert!(record(&server, &node.name).await.is_none(), "it has ended before its request did");
    let left = get(&server, &format!("/api/v1/nodes/{}", node.name)).await.unwrap();
    assert!(left["spec"]["unschedulable"].is_null() && left["spec"]["taints"].is_null(), "{}", left["spec"]);
    operator.finds_all_healthy(FENCED).await;
    leader.was_refused_nothing();
    gone(&server, &FENCED);
}

async fn the_operator_gives_up_a_request_that_has_failed(server: Arc<Server>) {
    let (mut node, _others) = start_nodes(&server, FAILED).await;
    let operator = Operator::start(&server).await;
    let _leader = Leader::start(&server, "").await;
    node.die().await;
    until("its record", async || record(&server, &node.name).await.is_some()).await;
    let blocker = json!([{ "reason": "Attempts", "message": "power off failed 5 times" }]);
    set_phase(&server, &node.name, json!({ "phase": "Quarantined", "blockedBy": blocker })).await;
    // Long before the template's time is over, because `Succeeded` is False.
    until("given up by the operator", async || {
        let stored = request(&server, &node.name).await.unwrap();
        let remediations = &entry(&server, &node.name).await["remediations"];
        stored["metadata"]["annotations"][TIMED_OUT].is_string() && remediations[0]["timedOut"].is_string()
    })
    .await;
    let (is, reason, _) = condition(&server, &node.name, "Succeeded").await.unwrap();
    assert_eq!((is.as_str(), reason.as_str()), ("False", "Attempts"), "what it failed by stays");
    let node = node.boots("boot-2").await;
    until("its request is gone", async || request(&server, &node.name).await.is_none()).await;
    let stays = record(&server, &node.name).await.unwrap();
    assert!(stays["spec"]["abort"] != true && stays["status"]["phase"] == "Quarantined", "a person's turn: {stays}");
    operator.finds_all_healthy(FAILED).await;
    gone(&server, &FAILED);
}
