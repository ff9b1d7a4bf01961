//! No other Node and nothing else in the cluster, whatever role an agent is given.

use nodewell_tests::cluster::{Call, Cluster, Identity};
use serde_json::json;

use super::{apply, lease, node_with_agent, refused, status_path};

pub(super) fn no_other_node(cluster: &Cluster) {
    let agent = node_with_agent(cluster, "rights-mine");
    node_with_agent(cluster, "rights-theirs");
    let words = "this identity is Node rights-mine only, not rights-theirs";
    refused(&agent, "another's conditions", &apply("rights-theirs", "KernelUnhealthy"), words);
    refused(
        &agent,
        "as a dry run",
        &Call::merge(&format!("{}&dryRun=All", status_path("rights-theirs")), &json!({ "status": { "phase": "x" } })),
        words,
    );
    // Names that begin or end alike.
    node_with_agent(cluster, "rights-mine-too");
    refused(&agent, "a longer name", &apply("rights-mine-too", "KernelUnhealthy"), "rights-mine only");
    for path in ["/api/v1/nodes/rights-theirs", "/api/v1/nodes", "/api/v1/nodes?watch=true"] {
        refused(&agent, path, &Call::get(path), "cannot");
    }
    // In the group, but with a name that is no node's.
    let odd = cluster.client(&Identity::Agent(String::new()));
    refused(&odd, "no name", &apply("rights-mine", "KernelUnhealthy"), "(none)");
}

/// The policies hold whatever else a role lets it do.
pub(super) fn no_role_takes_it_further(cluster: &Cluster) {
    let node = "rights-wide";
    let agent = node_with_agent(cluster, node);
    let path = format!("/api/v1/nodes/{node}");
    let cordon = Call::merge(&path, &json!({ "spec": { "unschedulable": true } }));
    refused(&agent, "before", &cordon, "cannot");
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": { "name": node },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin" },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": format!("nodewell:node:{node}") }],
    });
    let bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    assert_eq!(cluster.admin(&Call::post(bindings, &binding)).0, 201);
    nodewell_tests::wait::until("the role is in force", || (agent.call(&Call::get(&path)).0 == 200).then_some(()));
    refused(&agent, "cordoning", &cordon, "writes the status of its Node only");
    let made = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "rights-made" } });
    refused(&agent, "making a Node", &Call::post("/api/v1/nodes", &made), "writes the status of its Node only");
    let labels = json!({ "metadata": { "labels": { "a": "b" } } });
    refused(&agent, "a label", &Call::merge(&path, &labels), "writes the status of its Node only");
    let elsewhere = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
    let uid = cluster.node_uid(node);
    refused(
        &agent,
        "the kubelet's Lease",
        &Call::post(elsewhere, &lease(node, node, &uid)),
        "in namespace nodewell only",
    );
    assert_eq!(cluster.admin(&Call::delete(&format!("{bindings}/{node}"))).0, 200);
}

pub(super) fn nothing_else_in_the_cluster(cluster: &Cluster) {
    let agent = node_with_agent(cluster, "rights-nothing");
    for path in [
        "/api/v1/namespaces/kube-system/secrets",
        "/api/v1/secrets",
        "/api/v1/configmaps",
        "/api/v1/pods",
        "/api/v1/pods?fieldSelector=spec.nodeName%3Drights-nothing",
        "/api/v1/namespaces",
        "/api/v1/namespaces/nodewell/serviceaccounts",
        "/api/v1/persistentvolumes",
        "/apis/certificates.k8s.io/v1/certificatesigningrequests",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles",
        "/apis/apps/v1/daemonsets",
        "/apis/coordination.k8s.io/v1/leases",
    ] {
        refused(&agent, path, &Call::get(path), "cannot");
    }
    let empty = json!({});
    for (path, kind) in [
        ("/api/v1/namespaces/nodewell/serviceaccounts/nodewell-agent/token", "TokenRequest"),
        ("/apis/certificates.k8s.io/v1/certificatesigningrequests", "CertificateSigningRequest"),
        ("/api/v1/namespaces/default/pods", "Pod"),
        ("/api/v1/namespaces/default/secrets", "Secret"),
        ("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", "ClusterRoleBinding"),
    ] {
        let mut body = empty.clone();
        body["kind"] = json!(kind);
        refused(&agent, path, &Call::post(path, &body), "cannot");
    }
}
