//! What the reconcilers of agents rely on: conditions under the agent's own name, and decisions on signing requests.

use std::sync::Arc;

use nodewell_approver::{ApprovalDecision, Request, Requests, Rule, judge};
use nodewell_controller::kube::{AgentConditions, SigningRequests};
use nodewell_reconcile::{
    api_error::ApiError,
    cluster::{Configuration, Marks, Nodes, Records},
    liveness::Conditions,
};
use nodewell_remediation::liveness::{AGENT_FIELD_MANAGER, Evidence, RawCondition, StatusView};
use rcgen::{CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose};
use serde_json::{Value, json};

use crate::{
    cases::{admin, cases, fence, make_node, taint},
    server::Server,
};

cases![
    a_silent_agents_conditions_turn_unknown_and_are_restored,
    a_client_that_wrote_meanwhile_wins,
    an_agents_lease_is_read_with_its_node,
    collected_conditions_are_gone,
    a_request_is_approved_once,
    a_request_is_denied,
    the_approver_can_do_nothing_else,
];

fn condition(kind: &str, status: &str, reason: &str) -> RawCondition {
    let condition = json!({ "type": kind, "status": status, "reason": reason, "message": "m",
        "lastTransitionTime": "2026-01-01T00:00:00Z", "lastHeartbeatTime": "2026-01-01T00:00:00Z" });
    condition.as_object().unwrap().clone()
}

/// As an agent does it: everything, forced.
async fn agent_reports(server: &Server, node: &str, set: &[RawCondition]) {
    let file =
        json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": node }, "status": { "conditions": set } });
    let path = server.file("apply.json", &file.to_string());
    let manager = format!("--field-manager={AGENT_FIELD_MANAGER}");
    let args = ["apply", "--server-side", "--force-conflicts", "--subresource=status", &manager, "-f", &path];
    server.kubectl_output(&args).unwrap();
}

async fn read(conditions: &AgentConditions<'_>, node: &str) -> Evidence {
    conditions.read(node).await.unwrap().unwrap()
}

fn reason(evidence: &Evidence, kind: &str) -> Option<String> {
    let condition = evidence.status.conditions.iter().find(|condition| condition["type"] == kind)?;
    Some(condition["reason"].as_str().unwrap().to_owned())
}

async fn a_silent_agents_conditions_turn_unknown_and_are_restored(server: Arc<Server>) {
    let cluster = server.cluster("controller").await;
    let conditions = AgentConditions::new(&cluster);
    make_node(&server, "silent").await;
    agent_reports(&server, "silent", &[condition("DiskUnhealthy", "True", "MediumError")]).await;
    let before = read(&conditions, "silent").await;
    let unknown = [condition("DiskUnhealthy", "Unknown", "AgentSilent")];
    conditions.apply("silent", &before.status, &unknown).await.unwrap();
    let after = read(&conditions, "silent").await;
    assert_eq!(reason(&after, "DiskUnhealthy").as_deref(), Some("AgentSilent"));
    let managers = after.status.managed_fields.as_array().unwrap().iter();
    assert_eq!(managers.filter(|entry| entry["manager"] == AGENT_FIELD_MANAGER).count(), 1, "{after:?}");
    agent_reports(&server, "silent", &[condition("DiskUnhealthy", "False", "DiskFine")]).await;
    assert_eq!(reason(&read(&conditions, "silent").await, "DiskUnhealthy").as_deref(), Some("DiskFine"));
}

async fn a_client_that_wrote_meanwhile_wins(server: Arc<Server>) {
    let cluster = server.cluster("controller").await;
    let conditions = AgentConditions::new(&cluster);
    make_node(&server, "raced").await;
    agent_reports(&server, "raced", &[condition("DiskUnhealthy", "True", "MediumError")]).await;
    let before = read(&conditions, "raced").await;
    agent_reports(&server, "raced", &[condition("DiskUnhealthy", "False", "DiskFine")]).await;
    let set = [condition("DiskUnhealthy", "Unknown", "AgentSilent")];
    let outcome = conditions.apply("raced", &before.status, &set).await;
    assert!(matches!(outcome, Err(ApiError::Conflict(_))), "{outcome:?}");
    let now = read(&conditions, "raced").await;
    let another = StatusView { uid: "00000000-0000-0000-0000-000000000000".into(), ..now.status.clone() };
    let outcome = conditions.apply("raced", &another, &set).await;
    assert!(matches!(outcome, Err(ApiError::Refused { code: 422, .. })), "{outcome:?}");
    assert_eq!(reason(&read(&conditions, "raced").await, "DiskUnhealthy").as_deref(), Some("DiskFine"));
}

async fn an_agents_lease_is_read_with_its_node(server: Arc<Server>) {
    let cluster = server.cluster("controller").await;
    let conditions = AgentConditions::new(&cluster);
    assert_eq!(conditions.read("absent").await, Ok(None));
    make_node(&server, "leasing").await;
    assert_eq!(read(&conditions, "leasing").await.lease, None);
    let lease = json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": "leasing" },
        "spec": { "holderIdentity": "leasing", "leaseDurationSeconds": 240, "renewTime": "2026-01-02T03:04:05.000006Z" } });
    admin(&server, "create", "/apis/coordination.k8s.io/v1/namespaces/nodewell/leases", lease).await;
    let renewed = "2026-01-02T03:04:05.000006Z".parse().unwrap();
    assert_eq!(read(&conditions, "leasing").await.lease, Some(Some(renewed)));
}

async fn collected_conditions_are_gone(server: Arc<Server>) {
    let cluster = server.cluster("controller").await;
    let conditions = AgentConditions::new(&cluster);
    make_node(&server, "removed").await;
    agent_reports(&server, "removed", &[condition("DiskUnhealthy", "Unknown", "AgentSilent")]).await;
    let before = read(&conditions, "removed").await;
    conditions.apply("removed", &before.status, &[]).await.unwrap();
    assert_eq!(reason(&read(&conditions, "removed").await, "DiskUnhealthy"), None);
}

/// As `nodewell enroll` makes it, asked for by the administrator.
async fn ask(server: &Server, name: &str) {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::OrganizationName, "nodewell:nodes");
    params.distinguished_name.push(DnType::CommonName, "nodewell:node:n1");
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let pem = params.serialize_request(&KeyPair::generate().unwrap()).unwrap().pem().unwrap();
    let request = k8s_openapi::ByteString(pem.into_bytes());
    let body = json!({ "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
        "metadata": { "name": name }, "spec": {
            "request": request, "signerName": "kubernetes.io/kube-apiserver-client", "expirationSeconds": 3600,
            "usages": ["client auth", "digital signature"], "username": "ignored", "groups": [] } });
    admin(server, "create", "/apis/certificates.k8s.io/v1/certificatesigningrequests", body).await;
}

async fn open(requests: &SigningRequests, name: &str) -> Option<Request> {
    requests.all().await.unwrap().into_iter().find(|request| request.name == name)
}

async fn conditions_of(server: &Server, name: &str) -> Value {
    let path = format!("/apis/certificates.k8s.io/v1/certificatesigningrequests/{name}");
    let object: Value = server.cluster("admin").await.wire().get(&path).await.unwrap().unwrap();
    object["status"]["conditions"].clone()
}

async fn a_request_is_approved_once(server: Arc<Server>) {
    let requests = SigningRequests::new(server.cluster("approver").await.wire().clone());
    ask(&server, "nodewell-n1-0").await;
    let request = open(&requests, "nodewell-n1-0").await.unwrap();
    assert_eq!(request.username, "admin", "by the server's own account");
    let ApprovalDecision::Leave(rejection) = judge(&request, &Rule::default()) else {
        panic!("an administrator is no kubelet")
    };
    assert_eq!(rejection.reason(), "Requester");
    let stale = Request { resource_version: "1".into(), ..request.clone() };
    let outcome = requests.approve(&stale, "m").await;
    assert!(matches!(outcome, Err(ApiError::Conflict(_))), "{outcome:?}");
    let another = Request { uid: "00000000-0000-0000-0000-000000000000".into(), ..request.clone() };
    assert!(requests.approve(&another, "m").await.is_err());
    assert_eq!(conditions_of(&server, "nodewell-n1-0").await, Value::Null);
    requests.approve(&request, "asked by it").await.unwrap();
    let conditions = conditions_of(&server, "nodewell-n1-0").await;
    assert_eq!((&conditions[0]["type"], &conditions[0]["message"]), (&json!("Approved"), &json!("asked by it")));
    assert_eq!(open(&requests, "nodewell-n1-0").await, None, "it is decided");
    let outcome = requests.deny(&request, "m").await;
    assert!(matches!(outcome, Err(ApiError::Conflict(_))), "{outcome:?}");
}

async fn a_request_is_denied(server: Arc<Server>) {
    let requests = SigningRequests::new(server.cluster("approver").await.wire().clone());
    ask(&server, "nodewell-n1-1").await;
    let request = open(&requests, "nodewell-n1-1").await.unwrap();
    requests.deny(&request, "it is forged").await.unwrap();
    assert_eq!(conditions_of(&server, "nodewell-n1-1").await[0]["type"], "Denied");
}

async fn the_approver_can_do_nothing_else(server: Arc<Server>) {
    let approver = server.cluster("approver").await;
    let uid = make_node(&server, "approved").await;
    let refused = |error: &ApiError| matches!(error, ApiError::Refused { code: 403, .. });
    assert!(approver.node("approved").await.is_err_and(|error| refused(&error)));
    assert!(approver.taint("approved", &uid, &taint("a")).await.is_err_and(|error| refused(&error)));
    assert!(approver.secret("s").await.is_err_and(|error| refused(&error)));
    assert!(approver.open(&fence("approved")).await.is_err_and(|error| refused(&error)));
    let controller = SigningRequests::new(server.cluster("controller").await.wire().clone());
    assert!(controller.all().await.is_err_and(|error| refused(&error)), "and what acts on nodes cannot approve");
    // Another signer's requests can be seen and not decided.
    for (signer, expected) in
        [("kube-apiserver-client", true), ("kubelet-serving", false), ("kube-apiserver-client-kubelet", false)]
    {
        assert_eq!(may_approve(&server, signer).await, expected, "{signer}");
    }
}

async fn may_approve(server: &Server, signer: &str) -> bool {
    let review = json!({ "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {
        "user": "nodewell:approver", "resourceAttributes": { "group": "certificates.k8s.io", "resource": "signers",
            "verb": "approve", "name": format!("kubernetes.io/{signer}") } } });
    let answer = admin(server, "create", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review).await;
    answer["status"]["allowed"] == true
}
