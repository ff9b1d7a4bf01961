//! What the book has an administrator type at an API server: the blocks of the pages, as they are but for the names
//! that a reader puts in, on the real one.

use std::process::Command;

use jiff::Timestamp;
use nodewell_tests::{
    book::{block, commands, workspace},
    cluster::{Call, Cluster},
    shell::Shell,
    suite::{Need, Suite},
    wait::until,
};
use serde_json::{Value, json};

use crate::enroll::Machine;

const TOOLS: Need = Need::Other(no_tools);
const POLICIES: &str = "/apis/nodewell.dev/v1alpha1/remediationpolicies";

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("book_in_a_cluster")
        .real_alone("the_controllers_first_steps", the_controllers_first_steps)
        .real_with(&[TOOLS], "an_identity_and_its_certificate", an_identity_and_its_certificate)
        .real_with(&[TOOLS], "what_is_seen_and_left", what_is_seen_and_left)
        .real_with(&[Need::ControllerManager], "a_trial_and_off_again", a_trial_and_off_again);
}

/// What pages pipe into, beside what every machine has.
fn no_tools() -> Option<String> {
    let is_missing = |tool: &&&str| Command::new(tool).arg("--version").output().is_err();
    let tool = ["jq", "openssl"].iter().find(is_missing)?;
    Some(format!("needs {tool} (Debian's package of that name)"))
}

/// A Node with this condition, as its agent applies it.
fn report(cluster: &Cluster, node: &str, condition: &str, status: &str) {
    let now = format!("{:.0}", Timestamp::now());
    let condition = json!({ "type": condition, "status": status, "reason": "OfTheTest", "message": "as it is",
        "lastTransitionTime": now, "lastHeartbeatTime": now });
    let body = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": node },
        "status": { "conditions": [condition] } });
    let path = format!("/api/v1/nodes/{node}/status?fieldManager=nodewell&force=false");
    assert_eq!(cluster.admin(&Call::apply(&path, &body)).0, 200);
}

fn established(shell: &Shell) {
    shell.run("kubectl wait --for=condition=Established --timeout=60s crd --all");
}

fn has_all(text: &str, parts: &[&str]) {
    let missing: Vec<&&str> = parts.iter().filter(|part| !text.contains(**part)).collect();
    assert!(missing.is_empty(), "no {missing:?} in {text}");
}

/// remediation.md, from the kinds to their removal.
fn the_controllers_first_steps(cluster: &Cluster) {
    let shell = Shell::at(cluster);
    cluster.create_node("worker-7");
    shell.run(&commands("remediation.md", "kubectl apply -f /usr/share"));
    established(&shell);
    let plan = shell.run(&commands("remediation.md", "cp /usr/share/doc"));
    let shown = block("remediation.md", "text", "cordon-gpu-faults.yaml: the policy is right");
    assert!(plan.starts_with(shown.lines().next().unwrap()), "{plan}");
    has_all(&plan, &["NODE       STATE", "worker-7"]);
    // Before any controller has decided anything the plan is this host's own.
    has_all(&plan, &["dry run: the controller's configuration lets it only report what it would do\n"]);
    let enforced = shell.run(&commands("remediation.md", "kubectl patch rp"));
    has_all(&enforced, &["remediationpolicy.nodewell.dev/cordon-gpu-faults patched"]);
    let (_, policy) = cluster.admin(&Call::get(&format!("{POLICIES}/cordon-gpu-faults")));
    assert_eq!(policy["spec"]["mode"], "Enforce");
    before_a_person_works(cluster, &shell);
    removed(cluster, &shell);
}

/// With the name that a reader puts in.
fn named(block: &str) -> String {
    block.replace("NODE", "worker-7")
}

fn before_a_person_works(cluster: &Cluster, shell: &Shell) {
    let node = || cluster.admin(&Call::get("/api/v1/nodes/worker-7")).1;
    let drained = shell.run(&named(&commands("remediation.md", "kubectl annotate node NODE")));
    has_all(&drained, &["node/worker-7 annotated", "node/worker-7 drained"]);
    assert_eq!(node()["metadata"]["annotations"]["nodewell.dev/skip-remediation"], "disk change, WHO");
    let skipped = shell.run(&commands("remediation.md", "kubectl get nodes -o custom-columns"));
    has_all(&skipped, &["worker-7", "disk change, WHO"]);
    shell.run(&named(&commands("remediation.md", "kubectl uncordon NODE")));
    let after = node();
    let annotation = &after["metadata"]["annotations"]["nodewell.dev/skip-remediation"];
    assert!(annotation.is_null() && after["spec"]["unschedulable"].is_null(), "{after}");
}

fn removed(cluster: &Cluster, shell: &Shell) {
    shell.run(&commands("remediation.md", "kubectl get rp      # on the way back"));
    let (_, policy) = cluster.admin(&Call::get(&format!("{POLICIES}/cordon-gpu-faults")));
    assert_eq!(policy["spec"]["mode"], "Paused");
    shell.run(&commands("remediation.md", "kubectl delete -f /usr/share"));
    let code = |path: &str| cluster.admin(&Call::get(path)).0;
    assert_eq!(code("/apis/rbac.authorization.k8s.io/v1/clusterroles/nodewell:controller"), 404);
    assert_eq!(code("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodefences.nodewell.dev"), 404);
    for namespace in ["nodewell", "nodewell-controller"] {
        assert_eq!(code(&format!("/api/v1/namespaces/{namespace}")), 200, "{namespace} stays");
    }
}

/// identity.md, but for what is typed on a node.
fn an_identity_and_its_certificate(cluster: &Cluster) {
    let shell = Shell::at(cluster);
    let applied = shell.run(&commands("identity.md", "cd /usr/share/nodewell/kubernetes"));
    has_all(&applied, &["validatingadmissionpolicy.admissionregistration.k8s.io/nodewell-own-node", "nodewell:agent"]);
    shell.run(&commands("identity.md", "sed"));
    let policy = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/nodewell-own-node";
    let variables = cluster.admin(&Call::get(policy)).1["spec"]["variables"].clone();
    let types = variables.as_array().unwrap().iter().find(|variable| variable["name"] == "types").unwrap().clone();
    has_all(types["expression"].as_str().unwrap(), &["'XfsShutdown', 'RaidUnhealthy'"]);

    let machine = Machine::new(cluster, "worker-9", "auto");
    assert_eq!(machine.enroll(&["--timeout", "1s"]).code, 75);
    let name = until("the request is there", || {
        let requests = cluster.admin(&Call::get("/apis/certificates.k8s.io/v1/certificatesigningrequests")).1;
        let names = requests["items"].as_array()?.iter().filter_map(|one| one["metadata"]["name"].as_str());
        names.map(str::to_owned).find(|name| name.starts_with("nodewell-worker-9-"))
    });
    let looked_at = shell.run(&commands("identity.md", "kubectl get csr").replace("REQUEST", &name));
    has_all(&looked_at, &["nodewell:nodes", "nodewell:node:worker-9", "approved"]);

    shell.run("kubectl apply -f /usr/share/nodewell/kubernetes/nodewell-service-account.yaml");
    cluster.create_node("worker-7");
    let token = shell.run(&commands("identity.md", "kubectl create token"));
    assert_eq!(token.trim().matches('.').count(), 2, "a token: {token}");
}

/// The pages that look, and those that take something over or back.
fn what_is_seen_and_left(cluster: &Cluster) {
    let shell = Shell::at(cluster);
    for node in ["worker-1", "worker-2"] {
        cluster.create_node(node);
        report(cluster, node, "DiskUnhealthy", "False");
    }
    let described = shell.run(&commands("start.md", "kubectl describe node").replace("NODE", "worker-2"));
    has_all(&described, &["Conditions:", "DiskUnhealthy"]);
    fleet(&shell);
    from_npd(cluster, &shell);
    cluster.create_namespace("medik8s-leases");
    shell.run(&commands("external-remediation.md", "kubectl apply -f /usr/share/nodewell-controller/crds/"));
    established(&shell);
    let taint = json!({ "spec": { "taints": [{ "key": "node.kubernetes.io/out-of-service", "value": "nodewell.dev",
        "effect": "NoExecute" }] } });
    assert_eq!(cluster.admin(&Call::merge("/api/v1/nodes/worker-1", &taint)).0, 200);
    assert_eq!(shell.run(&commands("etcd-restore.md", "kubectl get nodes -o json")), "worker-1\n");
}

fn fleet(shell: &Shell) {
    has_all(&shell.run(&commands("kubectl.md", "kubectl nodewell status")), &["2 nodes", "Healthy: 2 nodes"]);
    let why = shell.run(&commands("kubectl.md", "kubectl nodewell why"));
    has_all(&why, &["worker-2\n", "nodewell has set nothing on it"]);
    let bound = shell.run(&commands("kubectl.md", "kubectl create clusterrolebinding"));
    has_all(&bound, &["nodewell-viewers created"]);
}

/// As Node Problem Detector is deployed: its own files from the image, and one from a ConfigMap.
fn npd() -> Value {
    let monitor = r#"{"plugin": "kmsg", "source": "mine-monitor", "lookback": "5m", "conditions": [], "rules": [
        {"type": "temporary", "reason": "MyDriverSlow", "pattern": "mydrv: slow"}]}"#;
    let labels = json!({ "app": "node-problem-detector" });
    let arguments = ["--config.system-log-monitor=/config/kernel-monitor.json,/custom/mine.json"];
    let container = json!({ "name": "node-problem-detector", "image": "node-problem-detector:v1", "args": arguments,
        "command": ["/node-problem-detector"], "volumeMounts": [{ "name": "custom", "mountPath": "/custom" }] });
    let pod = json!({ "containers": [container], "volumes": [{ "name": "custom", "configMap": { "name": "npd" } }] });
    let metadata = |name: &str| json!({ "name": name, "namespace": "kube-system" });
    let template = json!({ "metadata": { "labels": labels }, "spec": pod });
    let spec = json!({ "selector": { "matchLabels": labels }, "template": template });
    json!({ "apiVersion": "v1", "kind": "List", "items": [
        { "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata("npd"), "data": { "mine.json": monitor } },
        { "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata("node-problem-detector"), "spec": spec },
    ] })
}

fn from_npd(cluster: &Cluster, shell: &Shell) {
    shell.write("deployed.json", &npd().to_string());
    shell.run("kubectl apply -f deployed.json");
    shell.run(&commands("from-npd.md", "kubectl get daemonset,configmap"));
    let imported = shell.run("nodewell import-npd npd.yaml 2>&1 >/dev/null");
    // Of the page's the lines that this deployment has, too.
    has_all(
        &imported,
        &["/config/kernel-monitor.json is the image's own", "same: MyDriverSlow", "1 same, 3 changed, 1 none"],
    );
    shell.run(&commands("from-npd.md", "kubectl delete daemonset"));
    let gone = "/apis/apps/v1/namespaces/kube-system/daemonsets/node-problem-detector";
    assert_eq!(cluster.admin(&Call::get(gone)).0, 404);
}

/// Off again it is gone with its namespace, which a controller of kube-controller-manager's empties.
fn a_trial_and_off_again(cluster: &Cluster) {
    let _controllers = cluster.as_real().start_controllers("namespace-controller");
    let shell = Shell::at(cluster);
    let namespace = || cluster.admin(&Call::get("/api/v1/namespaces/nodewell-trial")).0;
    let trial = shell.run_in(workspace(), &commands("from-npd.md", "kubectl apply -f packaging/trial"));
    has_all(&trial, &["daemonset.apps/nodewell-trial created"]);
    assert_eq!(namespace(), 200);
    let off = shell.run_in(workspace(), &commands("from-npd.md", "kubectl delete -f packaging/trial"));
    has_all(&off, &["namespace \"nodewell-trial\" deleted", "daemonset.apps \"nodewell-trial\" deleted"]);
    assert_eq!(namespace(), 404);
}
