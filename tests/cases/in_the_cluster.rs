//! What kustomize and Helm make for a cluster, on the real server: every part is taken, none undoes another, and what is
//! removed as docs/in-the-cluster.md says leaves the namespaces with what is in them, and Helm the kinds.

use std::process::Command;

use nodewell_tests::{
    book::{commands, workspace},
    cluster::{Call, Cluster, Identity},
    shell::Shell,
    suite::{Need, Suite},
    wait::until,
};
use serde_json::json;

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("in_the_cluster")
        .real_alone("the_base_is_taken_and_removed_without_its_namespaces", the_base_is_taken_and_removed)
        .real_alone("no_part_undoes_another", no_part_undoes_another)
        .real_with(&[Need::Other(no_helm)], "helm_goes_there_and_back", helm_goes_there_and_back);
}

fn no_helm() -> Option<String> {
    let there = Command::new("helm").arg("version").output().is_ok_and(|ended| ended.status.success());
    (!there).then(|| "needs helm on the PATH".to_owned())
}

const FENCES: &str = "/apis/nodewell.dev/v1alpha1/nodefences";
const SECRETS: &str = "/api/v1/namespaces/nodewell/secrets";
const MEDIK8S: &str = "medik8s-leases";

/// Every overlay and every part that no overlay has; alerts and targets need the Prometheus operator's kinds.
const PARTS: [&str; 8] = [
    "kustomize/overlays/agent",
    "kustomize/overlays/controller",
    "kustomize/overlays/medik8s",
    "kustomize/overlays/management-cluster",
    "rbac/approver",
    "rbac/enroll",
    "rbac/service-account",
    "rbac/kubelet-events",
];

fn folder(part: &str) -> String {
    workspace().join("packaging").join(part).to_string_lossy().into_owned()
}

/// Runs kubectl to its end, and gives what it prints.
fn kubectl(cluster: &Cluster, args: &[&str]) -> String {
    let outcome = cluster.as_real().kubectl(args);
    assert_eq!(outcome.code, 0, "kubectl {args:?}: {outcome:?}");
    outcome.stdout
}

fn apply(cluster: &Cluster, part: &str) {
    kubectl(cluster, &["apply", "--kustomize", &folder(part)]);
}

/// The server has it as it was applied: `kubectl diff` ends with 1 if a second apply would change something.
fn is_as_applied(cluster: &Cluster, part: &str) {
    kubectl(cluster, &["diff", "--kustomize", &folder(part)]);
}

/// As the page says: by the label, which the namespaces have not.
fn the_base_is_taken_and_removed(cluster: &Cluster) {
    let shell = Shell::at(cluster);
    shell.run_in(workspace(), &commands("in-the-cluster.md", "kubectl apply -k"));
    is_as_applied(cluster, "kustomize/base");
    what_it_grants_and_refuses(cluster);
    let secret =
        json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "secret-fence-method-ipmi-one" } });
    assert_eq!(cluster.admin(&Call::post(SECRETS, &secret)).0, 201);
    shell.run_in(workspace(), &commands("in-the-cluster.md", "kubectl kustomize"));
    for namespace in ["nodewell", "nodewell-controller"] {
        let (code, object) = cluster.admin(&Call::get(&format!("/api/v1/namespaces/{namespace}")));
        assert!(code == 200 && object["status"]["phase"] == "Active", "{code} {object}");
    }
    assert_eq!(cluster.admin(&Call::get(&format!("{SECRETS}/secret-fence-method-ipmi-one"))).0, 200);
    for gone in [
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodefences.nodewell.dev",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles/nodewell:agent",
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/nodewell-own-node",
        "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/nodewell",
    ] {
        assert_eq!(cluster.admin(&Call::get(gone)).0, 404, "{gone}");
    }
}

/// The controller reads its kinds, and an agent is held to its own Node; both take the server a moment.
fn what_it_grants_and_refuses(cluster: &Cluster) {
    let controller = cluster.client(&Identity::Controller);
    until("the controller may list records", || (controller.call(&Call::get(FENCES)).0 == 200).then_some(()));
    cluster.create_node("another");
    let agent = cluster.client(&Identity::Agent("one".to_owned()));
    let status = json!({ "status": { "phase": "x" } });
    let call = Call::merge("/api/v1/nodes/another/status?dryRun=All", &status);
    until("an agent is held to its own Node", || (agent.call(&call).0 == 422).then_some(()));
}

/// As the page says, with an upgrade that adds a role and a way back that takes it away.
fn helm_goes_there_and_back(cluster: &Cluster) {
    const CHART: &str = "target/dist/nodewell-0.1.0.tgz --namespace kube-system";
    const OF_TOKENS: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles/nodewell:enroll";
    let shell = Shell::at(cluster);
    let code = |path: &str| cluster.admin(&Call::get(path)).0;
    shell.run_in(workspace(), &commands("in-the-cluster.md", "packaging/helm/make"));
    what_it_grants_and_refuses(cluster);
    assert_eq!(code(OF_TOKENS), 404, "not asked for");
    let upgrade = format!("helm upgrade nodewell {CHART} --reuse-values --set agent.bootstrapTokens=true");
    shell.run_in(workspace(), &upgrade);
    assert_eq!(code(OF_TOKENS), 200);
    shell.run_in(workspace(), "helm rollback nodewell 1 --namespace kube-system");
    assert_eq!(code(OF_TOKENS), 404, "as it was");
    shell.run_in(workspace(), &commands("in-the-cluster.md", "helm uninstall"));
    for (left, expected) in [
        ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodefences.nodewell.dev", 200),
        ("/api/v1/namespaces/nodewell-controller", 200),
        ("/apis/rbac.authorization.k8s.io/v1/clusterroles/nodewell:agent", 404),
        ("/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/nodewell-own-node", 404),
    ] {
        assert_eq!(code(left), expected, "{left}");
    }
}

fn no_part_undoes_another(cluster: &Cluster) {
    // Theirs, and made by none of our parts.
    cluster.create_namespace(MEDIK8S);
    PARTS.iter().for_each(|part| apply(cluster, part));
    PARTS.iter().for_each(|part| is_as_applied(cluster, part));
}
