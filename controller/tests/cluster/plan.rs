//! `nodewell-controller plan`, as a person runs it.

use std::{process::Command, sync::Arc};

use serde_json::{Value, json};

use crate::{
    cases::{admin, cases},
    server::Server,
};

cases![what_would_become_of_a_node_is_shown_beside_the_plan];

fn plan(server: &Server, columns: &str, more: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nodewell-controller"));
    command.arg("--kubeconfig").arg(server.kubeconfig("admin")).arg("--no-dry-run").args(more);
    let output = command.env("COLUMNS", columns).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

struct Pod {
    namespace: &'static str,
    name: &'static str,
    spec: Value,
    /// Beside its name.
    metadata: Value,
}

async fn make_pod(server: &Server, pod: Pod) {
    let Pod { namespace, name, spec, metadata } = pod;
    let mut pod = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name }, "spec": spec });
    for (key, value) in metadata.as_object().unwrap() {
        pod["metadata"][key] = value.clone();
    }
    admin(server, "create", &format!("/api/v1/namespaces/{namespace}/pods"), pod).await;
}

/// In a zone of its own: other cases' nodes are never Ready.
async fn make_well(server: &Server, name: &str) {
    let labels = json!({ "topology.kubernetes.io/zone": "of-plan" });
    let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": name, "labels": labels } });
    admin(server, "create", "/api/v1/nodes", node).await;
    let status =
        json!({ "status": { "conditions": [{ "type": "Ready", "status": "True", "reason": "KubeletReady" }] } });
    admin(server, "merge", &format!("/api/v1/nodes/{name}/status"), status).await;
}

fn spec(node: &str) -> Value {
    json!({ "nodeName": node, "containers": [{ "name": "c", "image": "i" }], "automountServiceAccountToken": false })
}

async fn what_would_become_of_a_node_is_shown_beside_the_plan(server: Arc<Server>) {
    for name in ["worker-6", "worker-7", "worker-8"] {
        make_well(&server, name).await;
    }
    let owner = |kind: &str, name: &str| {
        json!({ "ownerReferences": [{ "apiVersion": "apps/v1", "kind": kind, "name": name, "controller": true,
            "uid": "00000000-0000-0000-0000-000000000001" }] })
    };
    assert!(server.kubectl(&["create", "namespace", "shop"]));
    let pod = Pod { namespace: "shop", name: "db-0", spec: spec("worker-7"), metadata: owner("StatefulSet", "db") };
    make_pod(&server, pod).await;
    let metadata = owner("ReplicaSet", "web-5d9c7b8f6");
    let pod = Pod { namespace: "shop", name: "web-5d9c7b8f6-x2x4q", spec: spec("worker-7"), metadata };
    make_pod(&server, pod).await;
    let mut manager = spec("control-plane-1");
    manager["containers"][0]["name"] = json!("kube-controller-manager");
    manager["containers"][0]["command"] = json!(["kube-controller-manager", "--node-monitor-grace-period=20s"]);
    let metadata = json!({ "labels": { "component": "kube-controller-manager" } });
    let name = "kube-controller-manager-cp1";
    make_pod(&server, Pod { namespace: "kube-system", name, spec: manager, metadata }).await;
    let policy = json!({ "apiVersion": "nodewell.dev/v1alpha1", "kind": "RemediationPolicy",
        "metadata": { "name": "lost" },
        "spec": { "when": "conditions.Ready.status != 'True'", "mode": "Observe",
            "steps": [{ "cordon": {} }, { "powerCycle": {} }] } });
    admin(&server, "create", "/apis/nodewell.dev/v1alpha1/remediationpolicies", policy).await;
    for columns in ["80", "120"] {
        let text = plan(&server, columns, &["plan", "--node", "worker-7"]);
        eprintln!("{text}");
        let widest =
            text.lines().skip_while(|line| !line.starts_with("If worker-7")).map(|line| line.chars().count()).max();
        assert!(widest.is_some_and(|widest| widest <= columns.parse().unwrap()), "{text}");
        for part in ["10s–25s", "shop/db-0", "NoMethods", "flags of kube-controller-manager"] {
            assert!(text.contains(part), "{part}:\n{text}");
        }
    }
    let json: Value = serde_json::from_str(&plan(&server, "80", &["plan", "--json", "--node", "worker-7"])).unwrap();
    let forecast = &json["nodes"][0]["forecast"];
    assert_eq!(forecast["settings"]["nodeMonitorGracePeriodSeconds"], 20.0);
    assert_eq!(
        (&forecast["remediation"]["policy"], forecast["pods"].as_array().unwrap().len()),
        (&json!("lost"), 2),
        "{forecast}"
    );
    assert!(server.kubectl(&["delete", "remediationpolicy", "lost"]));
}
