//! What the program reports: of nodes that are blocked, of policies that cannot be read, in a dry run, and in a plan.

use std::{path::Path, process::Command, sync::Arc};

use jiff::{SignedDuration, Timestamp};
use nodewell_controller::kube::FIELD_MANAGER;
use serde_json::{Value, json};

use crate::{
    cases::{admin, cases, make_node},
    program::{Service, program, until},
    server::Server,
};

cases![what_blocks_and_what_is_wrong_is_reported, a_plan_judges_by_the_ages_of_the_api_server];

const POLICIES: &str = "/apis/nodewell.dev/v1alpha1/remediationpolicies";

fn policy(name: &str, when: &str, held_for: &str) -> String {
    json!({ "apiVersion": "nodewell.dev/v1alpha1", "kind": "RemediationPolicy", "metadata": { "name": name },
        "spec": { "mode": "Observe", "nodeStartupGracePeriod": "0s", "for": held_for, "steps": [{ "cordon": {} }],
            "when": when,
            "cordonBudget": { "maxUnavailable": "100%", "maxUnavailablePerZone": "100%" },
            "storm": { "unhealthy": "100%", "rate": { "count": 1000, "window": "1m" }, "reachable": "0%" } } })
    .to_string()
}

fn service(server: &Server, log: &Path, mode: &str) -> Service {
    let log = std::fs::File::create(log).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_nodewell-controller"));
    command.arg("--kubeconfig").arg(server.kubeconfig("controller")).args(["run", mode, "--metrics-listen"]);
    command.arg(format!("127.0.0.1:{}", nodewell_kit::free_port())).stdout(log.try_clone().unwrap()).stderr(log);
    Service(command.spawn().unwrap())
}

async fn mark(server: &Server, node: &str, condition: &str, since: Timestamp) {
    let condition = json!({ "type": condition, "status": "True", "reason": "Lost",
        "lastTransitionTime": format!("{since:.0}") });
    let ready = json!({ "type": "Ready", "status": "True", "reason": "KubeletReady" });
    let status = json!({ "status": { "conditions": [condition, ready] } });
    admin(server, "merge", &format!("/api/v1/nodes/{node}/status"), status).await;
}

/// Of ours: node-lifecycle-controller emits Events of new Nodes.
async fn events(server: &Server, node: &str) -> Vec<Value> {
    let wire = server.cluster("admin").await.wire().clone();
    let query = format!("&fieldSelector=involvedObject.name%3D{node},source%3D{FIELD_MANAGER}");
    wire.list("/api/v1/namespaces/default/events", &query).await.unwrap()
}

async fn status(server: &Server, policy: &str) -> Value {
    let wire = server.cluster("admin").await.wire().clone();
    wire.get::<Value>(&format!("{POLICIES}/{policy}")).await.unwrap().unwrap()["status"].clone()
}

async fn what_blocks_and_what_is_wrong_is_reported(server: Arc<Server>) {
    // Other cases leave a policy behind; of a living node the first by name decides.
    make_node(&server, "blocked").await;
    mark(&server, "blocked", "FanLost", Timestamp::now()).await;
    server.apply(&policy("a-watching", "has(conditions.FanLost)", "0s")).unwrap();
    server.apply(&policy("broken", "nope(", "0s")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("dry");
    let dry = service(&server, &log, "--dry-run");
    let log = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    until("rehearsed", async || log("dry").contains("would cordon by policy a-watching")).await;
    assert!(log("dry").contains("blocked"), "{}", log("dry"));
    assert_eq!(log("dry").matches("would cordon by policy a-watching").count(), 1, "{}", log("dry"));
    drop(dry);
    assert!(events(&server, "blocked").await.is_empty(), "a dry run writes nothing");
    assert_eq!(status(&server, "a-watching").await, Value::Null);

    let _real = service(&server, &folder.path().join("real"), "--no-dry-run");
    until("an Event is sent", async || !events(&server, "blocked").await.is_empty()).await;
    let event = events(&server, "blocked").await.remove(0);
    assert_eq!(event["reason"], "Blocked");
    assert!(event["message"].as_str().unwrap().contains("is blocked by Observe: "), "{event}");
    until("judged", async || status(&server, "broken").await["conditions"][0]["status"] == "False").await;
    assert!(log("real").contains("the policy cannot be read"), "{}", log("real"));
    until("counted", async || status(&server, "a-watching").await["matched"] == 1).await;
    let watching = status(&server, "a-watching").await;
    assert_eq!((&watching["conditions"][0]["status"], &watching["blocked"]), (&json!("True"), &json!(1)), "{watching}");
    assert!(server.kubectl(&["delete", "remediationpolicy", "a-watching", "broken"]));
}

async fn a_plan_judges_by_the_ages_of_the_api_server(server: Arc<Server>) {
    let uid = make_node(&server, "long-lost").await;
    let two_hours = SignedDuration::from_hours(2);
    mark(&server, "long-lost", "FanLost", Timestamp::now() - two_hours).await;
    let now = format!("{:.0}", Timestamp::now());
    let event = json!({ "apiVersion": "v1", "kind": "Event", "metadata": { "name": "long-lost.1" }, "reason": "DiskFell",
        "involvedObject": { "apiVersion": "v1", "kind": "Node", "name": "long-lost", "uid": uid },
        "type": "Warning", "firstTimestamp": now, "lastTimestamp": now, "count": 3 });
    admin(&server, "create", "/api/v1/namespaces/default/events", event).await;
    server.apply(&policy("lost", "has(conditions.FanLost) && conditions.FanLost.status == 'True'", "5m")).unwrap();
    server.apply(&policy("strict", "has(conditions.FanLost) && conditions.FanLost.status == 'True'", "1d")).unwrap();
    server.apply(&policy("with-events", "has(events.DiskFell) && events.DiskFell.count >= 3", "0s")).unwrap();
    let (code, one) = program(&server, &["plan", "--node", "long-lost"]);
    assert_eq!(code, Some(0), "{one}");
    assert!(!one.contains("WithinGracePeriod") && one.contains("policy lost: Observe, true of it for 2h"), "{one}");
    assert!(one.contains("policy with-events: Observe, true of it for "), "{one}");
    assert!(one.contains(", but policy ") && one.contains(" decides\n"), "{one}");
    assert!(one.contains("not asked by a plan"), "{one}");
    assert!(server.kubectl(&["delete", "remediationpolicy", "lost", "strict", "with-events"]));
}
