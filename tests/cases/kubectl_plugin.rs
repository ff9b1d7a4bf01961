//! `kubectl nodewell` on the real server: without a controller and with one's records, as an administrator, as a person with
//! its role, and as one who may do nothing.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use jiff::Timestamp;
use nodewell_tests::{
    cli::{Outcome, binary},
    cluster::{Call, Cluster, Identity},
    controller::apply_manifests,
    suite::Suite,
    wait::until,
};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("kubectl_plugin")
        .real_alone("a_fleet_is_shown_to_who_may_see_it", a_fleet_is_shown_to_who_may_see_it);
}

const FENCES: &str = "/apis/nodewell.dev/v1alpha1/nodefences";
const EVENTS: &str = "/api/v1/namespaces/default/events";
const PROBLEM: i32 = 1;
const UNAVAILABLE: i32 = 69;
const NO_PERMISSION: i32 = 77;

/// Runs it to its end as the user of this folder's kubeconfig.
fn plugin(folder: &TempDir, args: &[&str]) -> Outcome {
    let mut command = Command::new(binary("kubectl-nodewell"));
    command.args(args).arg("--kubeconfig").arg(folder.path().join("kubeconfig"));
    command.stdin(Stdio::null()).output().unwrap().into()
}

fn user(cluster: &Cluster, identity: &Identity) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    cluster.write_kubeconfig(identity, folder.path());
    folder
}

fn seconds(time: Timestamp) -> String {
    format!("{time:.0}")
}

/// A condition as the agent of `node` applies it.
fn report(cluster: &Cluster, node: &str, status: &str, reason: &str) {
    let now = seconds(Timestamp::now());
    let condition = json!({ "type": "DiskUnhealthy", "status": status, "reason": reason, "message": "sdb: as it is",
        "lastTransitionTime": now, "lastHeartbeatTime": now });
    let body = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": node },
        "status": { "conditions": [condition] } });
    let path = format!("/api/v1/nodes/{node}/status?fieldManager=nodewell&force=false");
    let (code, answer) = cluster.admin(&Call::apply(&path, &body));
    assert_eq!(code, 200, "{answer}");
}

fn has_all(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
}

fn a_fleet_is_shown_to_who_may_see_it(cluster: &Cluster) {
    ["bare", "sick", "well"].into_iter().for_each(|name| drop(cluster.create_node(name)));
    report(cluster, "sick", "True", "MediumError");
    report(cluster, "well", "False", "DisksAreHealthy");
    let admin = user(cluster, &Identity::Admin);
    without_a_controller(&admin);
    apply_manifests(cluster);
    a_record(cluster);
    with_its_records(&admin);
    what_a_role_allows(cluster);
    cluster.stop();
    let away = plugin(&admin, &["status"]);
    assert_eq!(away.code, UNAVAILABLE, "{away:?}");
    has_all(&away.stderr, &["https://127.0.0.1:", "does not answer", "--context"]);
}

fn without_a_controller(admin: &TempDir) {
    let status = plugin(admin, &["status", "--exit-code"]);
    assert_eq!(status.code, PROBLEM, "{status:?}");
    let parts =
        ["DiskUnhealthy: 1 node", "sick", "MediumError", "not installed", "No agent: 1 node: bare", "Healthy: 1 node"];
    has_all(&status.stdout, &parts);
    assert!(!status.stdout.contains("note:") && !status.stdout.contains('\u{1b}'), "{status:?}");
    let selected = plugin(admin, &["status", "-l", "pool=none", "-o", "json"]).json();
    assert_eq!(selected["counts"]["nodes"], 0, "{selected}");
    let nothing = plugin(admin, &["why", "well"]);
    has_all(&nothing.stdout, &["nodewell has set nothing on it", "No record of it and no Event is left"]);
    assert_eq!(plugin(admin, &["why", "no-such-node"]).code, 66);
    assert_eq!(plugin(admin, &["status", "--condition", "DiskUnhealthi"]).code, 64);
}

/// As the controller writes it: a cordon, a record that drains, an Event.
fn a_record(cluster: &Cluster) {
    let uid = cluster.node_uid("sick");
    let record = json!({ "apiVersion": "nodewell.dev/v1alpha1", "kind": "NodeFence", "metadata": { "name": "sick" },
        "spec": { "nodeName": "sick", "nodeUID": uid, "policy": "bad-disks", "cause": "DiskUnhealthy is True",
            "steps": [{ "cordon": {} }] } });
    assert_eq!(cluster.admin(&Call::post(FENCES, &record)).0, 201);
    let now = seconds(Timestamp::now());
    let log = json!([{ "at": now, "epoch": 1, "text": "Draining: the Node is cordoned; next is step 2: drain" }]);
    let status = json!({ "status": { "phase": "Draining", "since": now, "epoch": 1, "log": log } });
    let (code, answer) = cluster.admin(&Call::merge(&format!("{FENCES}/sick/status"), &status));
    assert_eq!(code, 200, "{answer}");
    let cordon = json!({ "metadata": { "annotations": { "nodewell.dev/cordoned-by": "bad-disks" } },
        "spec": { "unschedulable": true } });
    let path = "/api/v1/nodes/sick?fieldManager=nodewell-controller";
    assert_eq!(cluster.admin(&Call::merge(path, &cordon)).0, 200);
    let event = json!({ "apiVersion": "v1", "kind": "Event", "metadata": { "name": "sick.1", "namespace": "default" },
        "involvedObject": { "apiVersion": "v1", "kind": "Node", "name": "sick", "uid": uid },
        "reason": "DrainWaits", "message": "shop/db-0 is waited for", "type": "Normal",
        "source": { "component": "nodewell-controller" }, "reportingComponent": "nodewell-controller",
        "firstTimestamp": now, "lastTimestamp": now, "count": 1 });
    assert_eq!(cluster.admin(&Call::post(EVENTS, &event)).0, 201);
}

fn with_its_records(admin: &TempDir) {
    let why = plugin(admin, &["why", "node/sick"]);
    assert_eq!(why.code, 0, "{why:?}");
    let parts = [
        "It is cordoned by nodewell-controller for policy bad-disks.",
        "asked for by policy bad-disks: DiskUnhealthy is True",
        "its pods are to be evicted: the Node is cordoned; next is step 2: drain",
        "shop/db-0 is waited for",
    ];
    has_all(&why.stdout, &parts);
    let node = plugin(admin, &["node", "sick", "-o", "json"]).json();
    assert_eq!(node["conditions"][0]["condition"], "DiskUnhealthy", "{node}");
    assert_eq!((&node["remediation"]["phase"], &node["health"]), (&json!("Draining"), &json!("problem")), "{node}");
    let status = plugin(admin, &["status", "-o", "yaml"]);
    has_all(&status.stdout, &["underRemediation: 1", "state: undecided"]);
    let events = plugin(admin, &["events", "sick", "--since", "1h"]);
    has_all(&events.stdout, &["DrainWaits", "shop/db-0 is waited for"]);
}

fn what_a_role_allows(cluster: &Cluster) {
    let stranger = user(cluster, &Identity::Stranger);
    let refused = plugin(&stranger, &["status"]);
    assert_eq!(refused.code, NO_PERMISSION, "{refused:?}");
    has_all(&refused.stderr, &["you may not list nodes", "--clusterrole=nodewell:fleet-viewer --user=stranger"]);
    let viewer = user(cluster, &Identity::Person("viewers"));
    bind(cluster);
    let seen = || {
        let outcome = plugin(&viewer, &["status", "-o", "json"]);
        (outcome.code == 0).then(|| outcome.json()).filter(|view: &Value| view["notes"] == json!([]))
    };
    let view = until("the role allows all that is shown", seen);
    assert_eq!((&view["counts"]["nodes"], &view["counts"]["cordoned"]), (&json!(3), &json!(1)), "{view}");
    assert_eq!(plugin(&viewer, &["events"]).code, 0);
    assert_eq!(plugin(&viewer, &["why", "sick", "-o", "json"]).json()["notes"], json!([]));
}

fn bind(cluster: &Cluster) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/rbac/view/nodewell-view.yaml");
    let role = "--clusterrole=nodewell:fleet-viewer";
    for words in [
        &["apply", "--filename", &path.to_string_lossy()][..],
        &["create", "clusterrolebinding", "viewers", role, "--group=viewers"],
    ] {
        let outcome = cluster.as_real().kubectl(words);
        assert_eq!(outcome.code, 0, "{outcome:?}");
    }
}
