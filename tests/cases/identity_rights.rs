//! An agent with an identity of its own can touch its own Node's conditions, its own Events and its own Lease. Every
//! other thing it might try is refused by the real server, with our manifests applied as administrators apply them.

mod lane;
mod nothing_else;
mod own_events;
mod own_lease;
mod own_node;

use nodewell_tests::{
    cluster::{Call, Client, Cluster, Identity},
    suite::Suite,
};
use serde_json::{Value, json};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("identity_rights")
        .real("own_conditions_and_nothing_else_of_the_node", own_node::own_conditions_and_nothing_else_of_the_node)
        .real("no_other_node", nothing_else::no_other_node)
        .real("no_role_takes_it_further", nothing_else::no_role_takes_it_further)
        .real("own_events_only", own_events::own_events_only)
        .real("own_lease_only", own_lease::own_lease_only)
        .real("a_node_named_like_the_leader_is_no_leader", own_lease::a_node_named_like_the_leader_is_no_leader)
        .real("nothing_else_in_the_cluster", nothing_else::nothing_else_in_the_cluster)
        .real("requests_travel_in_a_lane_of_their_own", lane::requests_travel_in_a_lane_of_their_own);
}

/// Node `name` with something in every part, and the client of its agent.
pub(crate) fn node_with_agent(cluster: &Cluster, name: &str) -> Client {
    cluster.as_real().apply_manifests();
    cluster.create_node(name);
    let status = json!({ "status": {
        "capacity": { "cpu": "2" },
        "addresses": [{ "type": "Hostname", "address": name }],
        "nodeInfo": { "machineID": "m", "systemUUID": "u", "bootID": "b", "kernelVersion": "k", "osImage": "o",
            "containerRuntimeVersion": "c", "kubeletVersion": "v1.36.2", "kubeProxyVersion": "", "operatingSystem":
            "linux", "architecture": "amd64" },
        "images": [{ "names": ["example.com/image:1"], "sizeBytes": 1 }],
        "conditions": [{ "type": "Ready", "status": "True", "reason": "KubeletReady" }],
    } });
    let path = format!("/api/v1/nodes/{name}/status?fieldManager=kubelet");
    let (code, answer) = cluster.admin(&Call::strategic_merge(&path, &status));
    assert_eq!(code, 200, "{answer}");
    cluster.client(&Identity::Agent(name.to_owned()))
}

fn status_path(node: &str) -> String {
    format!("/api/v1/nodes/{node}/status?fieldManager=nodewell")
}

/// As the exporter writes.
pub(crate) fn apply(node: &str, condition: &str) -> Call {
    let conditions = json!([{ "type": condition, "status": "True", "reason": "R", "message": "m" }]);
    let body = json!({
        "apiVersion": "v1", "kind": "Node", "metadata": { "name": node }, "status": { "conditions": conditions },
    });
    Call::apply(&format!("{}&force=true", status_path(node)), &body)
}

pub(crate) fn allowed(client: &Client, what: &str, call: &Call) -> Value {
    let (code, answer) = client.call(call);
    assert!((200..300).contains(&code), "{what}: {code} {answer}");
    answer
}

/// By a role (403) or by one of our policies (422), with this text.
pub(crate) fn refused(client: &Client, what: &str, call: &Call, words: &str) {
    let (code, answer) = client.call(call);
    let message = answer["message"].as_str().unwrap_or_default();
    assert!([403, 422].contains(&code) && message.contains(words), "{what}: {code} {answer}");
}

pub(crate) const EVENTS: &str = "/api/v1/namespaces/default/events";

pub(crate) fn event(name: &str, node: &str, more: &Value) -> Value {
    let mut event = json!({
        "apiVersion": "v1", "kind": "Event", "metadata": { "name": name, "namespace": "default" },
        "involvedObject": { "apiVersion": "v1", "kind": "Node", "name": node, "uid": "u" },
        "reason": "KernelOops", "message": "m", "type": "Warning", "count": 1,
        "source": { "component": "kernel-monitor", "host": node },
        "reportingComponent": "nodewell", "reportingInstance": node,
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        event[key] = value.clone();
    }
    event
}

pub(crate) const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/nodewell/leases";

pub(crate) fn lease(name: &str, owner: &str, uid: &str) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": { "name": name, "ownerReferences": [{ "apiVersion": "v1", "kind": "Node", "name": owner, "uid": uid }] },
        "spec": { "holderIdentity": name, "leaseDurationSeconds": 240, "renewTime": "2026-11-21T10:00:00.000000Z" },
    })
}
