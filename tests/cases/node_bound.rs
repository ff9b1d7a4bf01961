//! Tokens of the shipped service account: one that is bound to a Node is held to it, and to its life; one that is bound to
//! none may write nothing.

use nodewell_tests::{
    cluster::{Call, Cluster, Identity},
    suite::Suite,
    wait::until,
};
use serde_json::{Value, json};

use crate::identity_rights::{EVENTS, LEASES, allowed, apply, event, lease, node_with_agent, refused};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("node_bound")
        .real("a_bound_token_is_its_node_only", a_bound_token_is_its_node_only)
        .real("an_unbound_token_writes_nothing", an_unbound_token_writes_nothing);
}

/// A token of the shipped service account; bound to `node` if one is named.
pub(crate) fn token(cluster: &Cluster, node: Option<&str>) -> String {
    let path = "/api/v1/namespaces/nodewell/serviceaccounts/nodewell-agent/token";
    let mut spec = json!({ "audiences": [], "expirationSeconds": 3600 });
    if let Some(name) = node {
        spec["boundObjectRef"] =
            json!({ "apiVersion": "v1", "kind": "Node", "name": name, "uid": cluster.node_uid(name) });
    }
    let request = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec });
    let (code, answer) = cluster.admin(&Call::post(path, &request));
    assert_eq!(code, 201, "{answer}");
    answer["status"]["token"].as_str().unwrap().to_owned()
}

fn a_bound_token_is_its_node_only(cluster: &Cluster) {
    let node = "token-mine";
    node_with_agent(cluster, node);
    node_with_agent(cluster, "token-theirs");
    let agent = cluster.client(&Identity::Bearer(token(cluster, Some(node))));
    allowed(&agent, "its own conditions", &apply(node, "KernelUnhealthy"));
    allowed(&agent, "its own Event", &Call::post(EVENTS, &event("token-mine.1", node, &Value::Null)));
    let uid = cluster.node_uid(node);
    allowed(&agent, "its own Lease", &Call::post(LEASES, &lease(node, node, &uid)));
    refused(&agent, "another's", &apply("token-theirs", "KernelUnhealthy"), "this identity is Node token-mine only");
    refused(
        &agent,
        "another's Event",
        &Call::post(EVENTS, &event("token-mine.2", "token-theirs", &Value::Null)),
        "reports on Node token-mine only",
    );
    refused(&agent, "another's Lease", &Call::post(LEASES, &lease("token-theirs", "token-theirs", "u")), "token-mine");
    cluster.delete_node(node);
    let gone = || (agent.call(&apply(node, "KernelUnhealthy")).0 == 401).then_some(());
    until("the token dies with its Node", gone);
}

fn an_unbound_token_writes_nothing(cluster: &Cluster) {
    let node = "token-unbound";
    node_with_agent(cluster, node);
    let agent = cluster.client(&Identity::Bearer(token(cluster, None)));
    refused(&agent, "conditions", &apply(node, "KernelUnhealthy"), "this identity is Node (none) only");
    refused(&agent, "an Event", &Call::post(EVENTS, &event("token-unbound.1", node, &Value::Null)), "(none)");
    refused(&agent, "a Lease", &Call::post(LEASES, &lease(node, node, "u")), "(none)");
}
