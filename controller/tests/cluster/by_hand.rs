//! What a person does and sees of a controller that runs: a node fenced by hand, the leader's plan, records that ended.

use std::{fs, process::Command, sync::Arc};

use nodewell_reconcile::cluster::Records;
use serde_json::{Value, json};

use crate::{
    cases::{admin, cases, fence, make_node},
    program::{Service, program, until},
    server::Server,
};

const FENCES: &str = "/apis/nodewell.dev/v1alpha1/nodefences";
const PLAN: &str = "/api/v1/namespaces/nodewell-controller/configmaps/nodewell-controller-plan";

cases![
    a_node_is_fenced_by_hand_once_its_name_was_said_twice,
    the_plan_is_what_the_controller_decided,
    a_record_that_ended_leaves_a_copy_that_decides_nothing,
];

fn dry_run(server: &Server, folder: &std::path::Path, more: &str) -> Service {
    let config = folder.join("controller.toml");
    fs::write(&config, format!("metrics-listen = \"off\"\n{more}\n[webhook]\nlisten = \"off\"\n")).unwrap();
    let log = fs::File::create(folder.join("log")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_nodewell-controller"));
    command.arg("--kubeconfig").arg(server.kubeconfig("controller")).arg("--config").arg(config).arg("run");
    Service(command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap())
}

async fn get(server: &Server, path: &str) -> Option<Value> {
    server.cluster("admin").await.wire().get(path).await.unwrap()
}

async fn a_node_is_fenced_by_hand_once_its_name_was_said_twice(server: Arc<Server>) {
    make_node(&server, "by-hand").await;
    let (code, text) = program(&server, &["fence", "by-hand"]);
    assert!(code == Some(64) && text.contains("add --confirm by-hand"), "a script is asked for the name: {text}");
    let (code, text) = program(&server, &["fence", "by-hand", "--confirm", "by-foot"]);
    assert!(code == Some(64) && text.contains("nothing was asked for"), "{text}");
    assert!(get(&server, &format!("{FENCES}/by-hand")).await.is_none(), "nothing was written");
    let (code, text) = program(&server, &["fence", "by-hand", "its shelf burns", "--confirm", "by-hand"]);
    assert_eq!(code, Some(0), "{text}");
    let record = get(&server, &format!("{FENCES}/by-hand")).await.unwrap();
    assert_eq!(record["metadata"]["annotations"]["nodewell.dev/asked-by"], "admin: its shelf burns");
    assert!(record["spec"]["policy"].is_null() && record["spec"]["steps"][2]["powerCycle"].is_object(), "{record}");
    // It is a record that the controller reads.
    assert!(server.cluster("controller").await.fence("by-hand").await.unwrap().is_some());
    let (code, text) = program(&server, &["fence", "by-hand", "--confirm", "by-hand"]);
    assert!(code == Some(70) && text.contains("under remediation already: by a person"), "{text}");
    assert_eq!(program(&server, &["fence", "absent", "--confirm", "absent"]).0, Some(70));
    let ready = json!({ "status": { "conditions": [{ "type": "Ready", "status": "True" }] } });
    make_node(&server, "by-hand-ready").await;
    admin(&server, "merge", "/api/v1/nodes/by-hand-ready/status", ready).await;
    let (code, text) = program(&server, &["fence", "by-hand-ready", "--confirm", "by-hand-ready"]);
    assert!(code == Some(70) && text.contains("add --drain"), "{text}");
    assert!(server.kubectl(&["delete", "nodefence", "by-hand"]));
    assert!(server.kubectl(&["delete", "node", "by-hand", "by-hand-ready"]));
}

async fn the_plan_is_what_the_controller_decided(server: Arc<Server>) {
    make_node(&server, "planned-by-it").await;
    let policy = json!({ "apiVersion": "nodewell.dev/v1alpha1", "kind": "RemediationPolicy",
        "metadata": { "name": "its-own" },
        "spec": { "when": "node.name == 'planned-by-it'", "for": "0s", "nodeStartupGracePeriod": "0s", "mode": "Enforce",
            "steps": [{ "cordon": {} }] } });
    server.apply(&policy.to_string()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let service = dry_run(&server, folder.path(), "node-name = \"planned-by-it\"");
    until("reported", async || get(&server, PLAN).await.is_some()).await;
    let of_it = || program(&server, &["plan", "--node", "planned-by-it"]).1;
    // Only the controller's own configuration knows that this Node is its host.
    until("its blockers", async || of_it().contains("OwnHost")).await;
    let plan = of_it();
    assert!(plan.contains("in a dry run, decided ") && plan.contains("dry run: "), "{plan}");
    let local = program(&server, &["plan", "--local", "--node", "planned-by-it"]).1;
    assert!(!local.contains("OwnHost") && local.contains("as this host's configuration would decide"), "{local}");
    let json: Value = serde_json::from_str(&program(&server, &["plan", "--json"]).1).unwrap();
    assert_eq!(json["leader"]["configuration"]["node"], "planned-by-it", "{json}");
    let nodes = json["nodes"].as_array().unwrap();
    let index = |wanted: &dyn Fn(&Value) -> bool| nodes.iter().position(wanted).unwrap_or(nodes.len());
    let (its, quiet) = (index(&|node| node["node"] == "planned-by-it"), index(&|node| node["policy"].is_null()));
    assert!(its < quiet, "what changes comes before what is well: {json}");
    drop(service);
    let refused = fs::read_to_string(folder.path().join("log")).unwrap();
    assert!(!refused.contains("forbidden"), "{refused}");
    assert!(server.kubectl(&["delete", "remediationpolicy", "its-own"]));
    assert!(server.kubectl(&["delete", "node", "planned-by-it"]));
    assert!(server.kubectl(&["delete", "-n", "nodewell-controller", "configmap", "nodewell-controller-plan"]));
}

async fn a_record_that_ended_leaves_a_copy_that_decides_nothing(server: Arc<Server>) {
    make_node(&server, "over").await;
    let cluster = server.cluster("controller").await;
    let opened = cluster.open(&fence("over")).await.unwrap();
    let mut closed = opened.clone();
    closed.status.phase = nodewell_remediation::api::fence::Phase::Closed;
    let closed = cluster.save(&closed).await.unwrap();
    cluster.close(&closed).await.unwrap();
    assert!(cluster.fence("over").await.unwrap().is_none(), "the node's own record is gone");
    let name = format!("over-ended-{}", &opened.metadata.uid[..8]);
    let copy = get(&server, &format!("{FENCES}/{name}")).await.unwrap();
    assert_eq!((&copy["spec"]["nodeName"], &copy["status"]["phase"]), (&json!("over"), &json!("Closed")), "{copy}");
    let plan = program(&server, &["plan", "--local", "--node", "over"]);
    assert!(plan.0 == Some(0) && !plan.1.contains("Closed"), "{}", plan.1);
    // The next one of this node is opened at once.
    let again = cluster.open(&fence("over")).await.unwrap();
    assert_ne!(again.metadata.uid, opened.metadata.uid);
    let wire = cluster.wire();
    let hour = std::time::Duration::from_secs(3600);
    let clear = async |keep| nodewell_controller::kube::ended::clear(wire, keep, jiff::Timestamp::now()).await.unwrap();
    assert_eq!(clear(hour).await, 0, "it is young");
    assert!(clear(std::time::Duration::ZERO).await >= 1, "other cases close records too");
    assert!(get(&server, &format!("{FENCES}/{name}")).await.is_none(), "its time is over");
    assert!(cluster.fence("over").await.unwrap().is_some(), "what is open stays");
    assert!(server.kubectl(&["delete", "nodefence", "over"]));
    assert!(server.kubectl(&["delete", "node", "over"]));
}
