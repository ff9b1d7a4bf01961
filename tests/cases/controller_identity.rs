//! The controller and the identities of agents: certificates are approved by rule, and silent agents spoken for.

use std::{path::Path, time::Duration};

use nodewell_tests::{
    cluster::{Call, Cluster, Identity},
    controller::{Controller, apply_manifests},
    suite::{Need, Suite},
    wait::until_within,
};
use serde_json::{Value, json};

use crate::enroll::Machine;

/// 40 s of silence, and two rounds.
const SILENT_WITHIN: Duration = Duration::from_secs(90);

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("controller_identity")
        .real_with(
            &[Need::ControllerManager],
            "a_kubelet_that_enrols_its_agent_is_approved",
            a_kubelet_that_enrols_its_agent_is_approved,
        )
        .real_with(
            &[Need::LongSuite],
            "a_silent_agents_conditions_turn_unknown",
            a_silent_agents_conditions_turn_unknown,
        );
}

/// The approver, with the rights of its role alone.
fn approver(cluster: &Cluster, folder: &Path) -> String {
    let path = cluster.write_kubeconfig(&Identity::Approver, folder);
    format!("[approver]\nenabled = true\nkubeconfig = {path:?}\n")
}

fn a_kubelet_that_enrols_its_agent_is_approved(cluster: &Cluster) {
    apply_manifests(cluster);
    let _signer = cluster.as_real().start_signer();
    let folder = tempfile::tempdir().unwrap();
    let controller = Controller::start(cluster, &approver(cluster, folder.path()));
    let machine = Machine::new(cluster, "approved", "auto");
    let outcome = machine.enroll(&["--timeout", "60s", "--json"]);
    assert_eq!((outcome.code, &outcome.json()["user"]), (0, &json!("nodewell:node:approved")), "{}", controller.log());
    let counted = "nodewell_controller_signing_requests_total{outcome=\"approved\"} 1\n";
    assert!(controller.metrics().contains(counted), "{}", controller.metrics());
}

fn leases(namespace: &str) -> String {
    format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases")
}

/// A node whose kubelet lives.
fn renew(cluster: &Cluster, node: &str) {
    let now = json!({ "spec": { "renewTime": format!("{:.6}", jiff::Timestamp::now()) } });
    let (code, answer) = cluster.admin(&Call::merge(&format!("{}/{node}", leases("kube-node-lease")), &now));
    assert_eq!(code, 200, "{answer}");
}

fn lease(node: &str, seconds: u64) -> Value {
    json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": node },
        "spec": { "holderIdentity": node, "leaseDurationSeconds": seconds, "renewTime": "2026-01-01T00:00:00.000000Z" } })
}

fn agent_reports(cluster: &Cluster, node: &str, status: &str) {
    let condition = json!({ "type": "DiskUnhealthy", "status": status, "reason": "MediumError", "message": "sda",
        "lastTransitionTime": "2026-01-01T00:00:00Z", "lastHeartbeatTime": "2026-01-01T00:00:00Z" });
    let body = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": node },
        "status": { "conditions": [condition] } });
    // Not forced: what is restored was never another manager's.
    let path = format!("/api/v1/nodes/{node}/status?fieldManager=nodewell");
    let (code, answer) = cluster.admin(&Call::apply(&path, &body));
    assert_eq!(code, 200, "{answer}");
}

fn a_silent_agents_conditions_turn_unknown(cluster: &Cluster) {
    apply_manifests(cluster);
    cluster.create_node("silent");
    cluster.write_as_peer(
        "silent",
        "kubelet",
        &json!([{ "type": "Ready", "status": "True", "reason": "KubeletReady" }]),
    );
    cluster.create_namespace("kube-node-lease");
    for (namespace, seconds) in [("kube-node-lease", 40), ("nodewell", 30)] {
        let (code, answer) = cluster.admin(&Call::post(&leases(namespace), &lease("silent", seconds)));
        assert_eq!(code, 201, "{answer}");
    }
    agent_reports(cluster, "silent", "True");
    let controller = Controller::start(cluster, "");
    until_within(SILENT_WITHIN, "the condition is Unknown", || {
        renew(cluster, "silent");
        cluster.condition("silent", "DiskUnhealthy").filter(|condition| condition["reason"] == "AgentSilent")
    });
    let condition = cluster.condition("silent", "DiskUnhealthy").unwrap();
    assert!(condition["message"].to_string().contains("before that True: MediumError: sda"), "{condition}");
    let counted = "nodewell_controller_agent_nodes_total{outcome=\"marked_unknown\"} 1\n";
    until_within(SILENT_WITHIN, "it is counted", || controller.metrics().contains(counted).then_some(()));
    agent_reports(cluster, "silent", "False");
    assert_eq!(cluster.condition("silent", "DiskUnhealthy").unwrap()["status"], "False", "restored without a fight");
}
