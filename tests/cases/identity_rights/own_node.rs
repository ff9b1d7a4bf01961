//! Of its own Node an agent writes its own conditions, and nothing else.

use nodewell_tests::cluster::{Call, Client, Cluster};
use serde_json::{Value, json};

use super::{allowed, apply, node_with_agent, refused, status_path};

pub(super) fn own_conditions_and_nothing_else_of_the_node(cluster: &Cluster) {
    let node = "rights-own";
    let agent = node_with_agent(cluster, node);
    allowed(&agent, "a condition of ours", &apply(node, "KernelUnhealthy"));
    allowed(&agent, "the same again", &apply(node, "KernelUnhealthy").metadata_only());
    allowed(&agent, "others in its place", &apply(node, "DiskUnhealthy"));
    assert!(cluster.condition(node, "KernelUnhealthy").is_none() && cluster.condition(node, "Ready").is_some());

    let only_conditions = "conditions of its Node only";
    let status = |body: Value| Call::strategic_merge(&status_path(node), &body);
    for (field, value) in [
        ("capacity", json!({ "cpu": "64" })),
        ("allocatable", json!({ "cpu": "64" })),
        ("addresses", json!([{ "type": "InternalIP", "address": "10.0.0.9" }])),
        ("phase", json!("Terminated")),
        ("daemonEndpoints", json!({ "kubeletEndpoint": { "Port": 1234 } })),
        ("nodeInfo", json!({ "kernelVersion": "other" })),
        ("images", json!([{ "names": ["example.com/other:1"] }])),
        ("volumesInUse", json!(["v"])),
        ("volumesAttached", json!([{ "name": "v", "devicePath": "/dev/v" }])),
        ("runtimeHandlers", json!([{ "name": "runc" }])),
        ("features", json!({ "supplementalGroupsPolicy": true })),
    ] {
        refused(&agent, field, &status(json!({ "status": { field: value } })), only_conditions);
    }
    refused(&agent, "taking images away", &status(json!({ "status": { "images": null } })), only_conditions);

    let metadata = "metadata of its Node";
    for (field, value) in [
        ("labels", json!({ "topology.kubernetes.io/zone": "mine" })),
        ("annotations", json!({ "a": "b" })),
        ("finalizers", json!(["example.com/mine"])),
        ("ownerReferences", json!([{ "apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u" }])),
    ] {
        let call = Call::merge(&status_path(node), &json!({ "metadata": { field: value } }));
        refused(&agent, field, &call, metadata);
    }
    kubelets_conditions(&agent, node);
    catalogue_only(&agent, cluster, node);
    main_resource(&agent, node);
}

fn kubelets_conditions(agent: &Client, node: &str) {
    let words = "kubelet's conditions";
    refused(agent, "Ready as ours", &apply(node, "Ready"), words);
    for condition in ["MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"] {
        refused(agent, condition, &apply(node, condition), words);
    }
    let none = json!({ "status": { "conditions": [] } });
    refused(agent, "Ready taken away", &Call::merge(&status_path(node), &none), words);
}

/// The controller's own condition, others', and which writer owns a condition.
fn catalogue_only(agent: &Client, cluster: &Cluster, node: &str) {
    let words = "of its catalogue only";
    refused(agent, "FenceReady", &apply(node, "FenceReady"), words);
    refused(agent, "a type of its own", &apply(node, "NoTypeOfOurs"), words);
    cluster.write_as_peer(
        node,
        "controller",
        &json!([{ "type": "FenceReady", "status": "False", "reason": "NoAnswer" }]),
    );
    let truth = json!([{ "type": "FenceReady", "status": "True", "reason": "FenceReady" }]);
    refused(
        agent,
        "what stands there",
        &Call::strategic_merge(&status_path(node), &json!({ "status": { "conditions": truth } })),
        words,
    );
    let away = json!({ "status": { "conditions": [{ "$patch": "delete", "type": "FenceReady" }] } });
    refused(agent, "taking it away", &Call::strategic_merge(&status_path(node), &away), words);

    let words = "as the field manager nodewell only";
    // What changes nothing has no owner: the server accepts it without an error.
    let ours =
        json!({ "status": { "conditions": [{ "type": "DiskUnhealthy", "status": "True", "reason": "Another" }] } });
    refused(agent, "no apply", &Call::strategic_merge(&status_path(node), &ours), words);
    let as_another = format!("/api/v1/nodes/{node}/status?fieldManager=kubelet");
    refused(agent, "under another's name", &Call::strategic_merge(&as_another, &ours), words);
    let owners =
        |node: &str| cluster.admin(&Call::get(&format!("/api/v1/nodes/{node}"))).1["metadata"]["managedFields"].clone();
    let before = owners(node);
    let emptied = json!({ "metadata": { "managedFields": [{}] } });
    let (code, answer) = agent.call(&Call::merge(&status_path(node), &emptied));
    assert_eq!(owners(node), before, "{code} {answer}");
    allowed(
        agent,
        "giving all up",
        &Call::apply(
            &format!("{}&force=true", status_path(node)),
            &json!({
        "apiVersion": "v1", "kind": "Node", "metadata": { "name": node }, "status": { "conditions": [] } }),
        ),
    );
}

fn main_resource(agent: &Client, node: &str) {
    let path = format!("/api/v1/nodes/{node}");
    let forbidden = "cannot";
    refused(agent, "reading it", &Call::get(&path), forbidden);
    refused(agent, "reading its status", &Call::get(&format!("{path}/status")), forbidden);
    refused(agent, "cordoning it", &Call::merge(&path, &json!({ "spec": { "unschedulable": true } })), forbidden);
    refused(agent, "deleting it", &Call::delete(&path), forbidden);
    let taints = json!({ "spec": { "taints": [{ "key": "k", "effect": "NoExecute" }] } });
    refused(agent, "tainting it", &Call::merge(&path, &taints), forbidden);
    refused(agent, "its proxy", &Call::get(&format!("{path}/proxy/pods")), forbidden);
    let made = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": node } });
    refused(agent, "making it", &Call::post("/api/v1/nodes", &made), forbidden);
    // A spec in a status patch is dropped by the server; nothing of it may stay.
    let spec = json!({ "spec": { "unschedulable": true } });
    let (_, answer) = agent.call(&Call::merge(&status_path(node), &spec));
    assert_ne!(answer["spec"]["unschedulable"], true, "{answer}");
}
