//! The controller and the identities of agents: certificates are approved by rule, and silent agents spoken for.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use jiff::Timestamp;
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
/// Fifteen minutes without a heartbeat, and some rounds.
const UNHEARD_WITHIN: Duration = Duration::from_mins(20);
/// As kubelets do it: of those that are late all the time it would seem that the API server was away.
const RENEWS_EVERY: Duration = Duration::from_secs(10);
/// As agents do it, only more often.
const BEATS_EVERY: Duration = Duration::from_secs(30);

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
        )
        .real_with(
            &[Need::LongSuite],
            "without_leases_the_one_whose_conditions_beat_no_more_is_silent",
            without_leases_the_one_whose_conditions_beat_no_more_is_silent,
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
    agent_reports_at(cluster, node, status, "2026-01-01T00:00:00Z");
}

fn agent_reports_at(cluster: &Cluster, node: &str, status: &str, heartbeat: &str) {
    let condition = json!({ "type": "DiskUnhealthy", "status": status, "reason": "MediumError", "message": "sda",
        "lastTransitionTime": "2026-01-01T00:00:00Z", "lastHeartbeatTime": heartbeat });
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

/// Agents with the kubelet's identity may have no Lease: their conditions show that they live, and what the controller
/// itself writes of a node, every six hours, does not.
fn without_leases_the_one_whose_conditions_beat_no_more_is_silent(cluster: &Cluster) {
    apply_manifests(cluster);
    cluster.create_namespace("kube-node-lease");
    let nodes = ["heard-1", "heard-2", "heard-3", "unheard"];
    for node in nodes {
        cluster.create_node(node);
        cluster.write_as_peer(node, "kubelet", &json!([{ "type": "Ready", "status": "True" }]));
        let (code, answer) = cluster.admin(&Call::post(&leases("kube-node-lease"), &lease(node, 40)));
        assert_eq!(code, 201, "{answer}");
        agent_reports(cluster, node, "False");
        let fence_ready = json!([{ "type": "FenceReady", "status": "True", "reason": "Proven",
            "lastHeartbeatTime": "2026-01-01T00:00:00Z" }]);
        cluster.write_as_peer(node, "nodewell-controller", &fence_ready);
    }
    let controller = Controller::start(cluster, "");
    let is_silent = |node: &str| {
        cluster.condition(node, "DiskUnhealthy").is_some_and(|condition| condition["reason"] == "AgentSilent")
    };
    let (mut renewed, mut beaten) = (None, None);
    let is_due = |last: &mut Option<Instant>, every: Duration| {
        let is_due = last.is_none_or(|at| at.elapsed() >= every);
        is_due.then(|| *last = Some(Instant::now())).is_some()
    };
    controller.until(UNHEARD_WITHIN, "the one that is not heard is silent", || {
        if !is_due(&mut renewed, RENEWS_EVERY) {
            return None;
        }
        nodes.iter().for_each(|node| renew(cluster, node));
        if is_due(&mut beaten, BEATS_EVERY) {
            let now = format!("{:.0}", Timestamp::now());
            nodes[..3].iter().for_each(|node| agent_reports_at(cluster, node, "False", &now));
        }
        is_silent(nodes[3]).then_some(())
    });
    assert!(nodes[..3].iter().copied().all(|node| !is_silent(node)), "those that beat are heard");
    let counted = "nodewell_controller_agent_nodes_total{outcome=\"marked_unknown\"} 1\n";
    until_within(SILENT_WITHIN, "it is counted", || controller.metrics().contains(counted).then_some(()));
    let log = controller.log();
    assert!(!log.contains("agents went silent"), "{log}");
}
