//! An agent with an identity of its own can touch its own Node's conditions, its own Events and its own Lease. Every
//! other thing it might try is refused by the real server, with our manifests applied as administrators apply them.

use nodewell_tests::{
    cluster::{Call, Client, Cluster, Identity},
    suite::Suite,
};
use serde_json::{Value, json};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("identity_rights")
        .real("own_conditions_and_nothing_else_of_the_node", own_conditions_and_nothing_else_of_the_node)
        .real("no_other_node", no_other_node)
        .real("no_role_takes_it_further", no_role_takes_it_further)
        .real("own_events_only", own_events_only)
        .real("own_lease_only", own_lease_only)
        .real("a_node_named_like_the_leader_is_no_leader", a_node_named_like_the_leader_is_no_leader)
        .real("nothing_else_in_the_cluster", nothing_else_in_the_cluster)
        .real("requests_travel_in_a_lane_of_their_own", requests_travel_in_a_lane_of_their_own);
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
pub(crate) fn refused(client: &Client, what: &str, (call, words): (&Call, &str)) {
    let (code, answer) = client.call(call);
    let message = answer["message"].as_str().unwrap_or_default();
    assert!([403, 422].contains(&code) && message.contains(words), "{what}: {code} {answer}");
}

fn own_conditions_and_nothing_else_of_the_node(cluster: &Cluster) {
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
        refused(&agent, field, (&status(json!({ "status": { field: value } })), only_conditions));
    }
    refused(&agent, "taking images away", (&status(json!({ "status": { "images": null } })), only_conditions));

    let metadata = "metadata of its Node";
    for (field, value) in [
        ("labels", json!({ "topology.kubernetes.io/zone": "mine" })),
        ("annotations", json!({ "a": "b" })),
        ("finalizers", json!(["example.com/mine"])),
        ("ownerReferences", json!([{ "apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u" }])),
    ] {
        let call = Call::merge(&status_path(node), &json!({ "metadata": { field: value } }));
        refused(&agent, field, (&call, metadata));
    }
    kubelets_conditions(&agent, node);
    catalogue_only(&agent, cluster, node);
    main_resource(&agent, node);
}

fn kubelets_conditions(agent: &Client, node: &str) {
    let words = "kubelet's conditions";
    refused(agent, "Ready as ours", (&apply(node, "Ready"), words));
    for condition in ["MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"] {
        refused(agent, condition, (&apply(node, condition), words));
    }
    let none = json!({ "status": { "conditions": [] } });
    refused(agent, "Ready taken away", (&Call::merge(&status_path(node), &none), words));
}

/// The controller's own condition, others', and which writer owns a condition.
fn catalogue_only(agent: &Client, cluster: &Cluster, node: &str) {
    let words = "of its catalogue only";
    refused(agent, "FenceReady", (&apply(node, "FenceReady"), words));
    refused(agent, "a type of its own", (&apply(node, "NoTypeOfOurs"), words));
    cluster.write_as_peer(
        node,
        "controller",
        &json!([{ "type": "FenceReady", "status": "False", "reason": "NoAnswer" }]),
    );
    let truth = json!([{ "type": "FenceReady", "status": "True", "reason": "FenceReady" }]);
    refused(
        agent,
        "what stands there",
        (&Call::strategic_merge(&status_path(node), &json!({ "status": { "conditions": truth } })), words),
    );
    let away = json!({ "status": { "conditions": [{ "$patch": "delete", "type": "FenceReady" }] } });
    refused(agent, "taking it away", (&Call::strategic_merge(&status_path(node), &away), words));

    let words = "as the field manager nodewell only";
    // What changes nothing has no owner: the server accepts it without an error.
    let ours =
        json!({ "status": { "conditions": [{ "type": "DiskUnhealthy", "status": "True", "reason": "Another" }] } });
    refused(agent, "no apply", (&Call::strategic_merge(&status_path(node), &ours), words));
    let as_another = format!("/api/v1/nodes/{node}/status?fieldManager=kubelet");
    refused(agent, "under another's name", (&Call::strategic_merge(&as_another, &ours), words));
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
    refused(agent, "reading it", (&Call::get(&path), forbidden));
    refused(agent, "reading its status", (&Call::get(&format!("{path}/status")), forbidden));
    refused(agent, "cordoning it", (&Call::merge(&path, &json!({ "spec": { "unschedulable": true } })), forbidden));
    refused(agent, "deleting it", (&Call::delete(&path), forbidden));
    let taints = json!({ "spec": { "taints": [{ "key": "k", "effect": "NoExecute" }] } });
    refused(agent, "tainting it", (&Call::merge(&path, &taints), forbidden));
    refused(agent, "its proxy", (&Call::get(&format!("{path}/proxy/pods")), forbidden));
    let made = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": node } });
    refused(agent, "making it", (&Call::post("/api/v1/nodes", &made), forbidden));
    // A spec in a status patch is dropped by the server; nothing of it may stay.
    let spec = json!({ "spec": { "unschedulable": true } });
    let (_, answer) = agent.call(&Call::merge(&status_path(node), &spec));
    assert_ne!(answer["spec"]["unschedulable"], true, "{answer}");
}

fn no_other_node(cluster: &Cluster) {
    let agent = node_with_agent(cluster, "rights-mine");
    node_with_agent(cluster, "rights-theirs");
    let words = "this identity is Node rights-mine only, not rights-theirs";
    refused(&agent, "another's conditions", (&apply("rights-theirs", "KernelUnhealthy"), words));
    refused(
        &agent,
        "as a dry run",
        (
            &Call::merge(
                &format!("{}&dryRun=All", status_path("rights-theirs")),
                &json!({ "status": { "phase": "x" } }),
            ),
            words,
        ),
    );
    // Names that begin or end alike.
    node_with_agent(cluster, "rights-mine-too");
    refused(&agent, "a longer name", (&apply("rights-mine-too", "KernelUnhealthy"), "rights-mine only"));
    for path in ["/api/v1/nodes/rights-theirs", "/api/v1/nodes", "/api/v1/nodes?watch=true"] {
        refused(&agent, path, (&Call::get(path), "cannot"));
    }
    // In the group, but with a name that is no node's.
    let odd = cluster.client(&Identity::Agent(String::new()));
    refused(&odd, "no name", (&apply("rights-mine", "KernelUnhealthy"), "(none)"));
}

/// The policies hold whatever else a role lets it do.
fn no_role_takes_it_further(cluster: &Cluster) {
    let node = "rights-wide";
    let agent = node_with_agent(cluster, node);
    let path = format!("/api/v1/nodes/{node}");
    let cordon = Call::merge(&path, &json!({ "spec": { "unschedulable": true } }));
    refused(&agent, "before", (&cordon, "cannot"));
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": { "name": node },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin" },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": format!("nodewell:node:{node}") }],
    });
    let bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    assert_eq!(cluster.admin(&Call::post(bindings, &binding)).0, 201);
    nodewell_tests::wait::until("the role is in force", || (agent.call(&Call::get(&path)).0 == 200).then_some(()));
    refused(&agent, "cordoning", (&cordon, "writes the status of its Node only"));
    let made = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "rights-made" } });
    refused(&agent, "making a Node", (&Call::post("/api/v1/nodes", &made), "writes the status of its Node only"));
    let labels = json!({ "metadata": { "labels": { "a": "b" } } });
    refused(&agent, "a label", (&Call::merge(&path, &labels), "writes the status of its Node only"));
    let elsewhere = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
    let uid = cluster.node_uid(node);
    refused(
        &agent,
        "the kubelet's Lease",
        (&Call::post(elsewhere, &lease(node, (node, &uid))), "in namespace nodewell only"),
    );
    assert_eq!(cluster.admin(&Call::delete(&format!("{bindings}/{node}"))).0, 200);
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

fn own_events_only(cluster: &Cluster) {
    let node = "rights-events";
    let agent = node_with_agent(cluster, node);
    let post = |event: &Value| Call::post(EVENTS, event);
    allowed(&agent, "an Event about itself", &post(&event("rights-events.1", node, &Value::Null)));
    let one = format!("{EVENTS}/rights-events.1");
    allowed(&agent, "its count", &Call::merge(&one, &json!({ "count": 2, "lastTimestamp": "2026-11-21T10:00:00Z" })));
    allowed(&agent, "a look at it", &Call::merge(&one, &json!({})));

    let words = "this identity reports on Node rights-events only";
    refused(&agent, "another Node's", (&post(&event("rights-events.2", "other", &Value::Null)), words));
    let pod = json!({ "involvedObject": { "kind": "Pod", "name": node, "namespace": "default" } });
    refused(&agent, "a Pod's", (&post(&event("rights-events.3", node, &pod)), words));
    let kubelet = json!({ "reportingComponent": "kubelet" });
    refused(&agent, "in the kubelet's name", (&post(&event("rights-events.4", node, &kubelet)), "carry its name"));
    let moved = json!({ "involvedObject": { "name": "other" } });
    refused(&agent, "moved to another Node", (&Call::merge(&one, &moved), words));
    for (number, more) in [
        (5, json!({ "reportingComponent": "kubelet", "reportingInstance": node })),
        (
            6,
            json!({ "involvedObject": { "apiVersion": "v1", "kind": "Node", "name": "other" }, "reportingInstance": "other" }),
        ),
    ] {
        let name = format!("rights-events.{number}");
        assert_eq!(cluster.admin(&post(&event(&name, node, &more))).0, 201);
        let path = format!("{EVENTS}/{name}");
        let takes = json!({ "count": 99, "reportingComponent": "nodewell", "reportingInstance": node,
            "involvedObject": { "name": node } });
        refused(&agent, "another's", (&Call::merge(&path, &json!({ "count": 99 })), ""));
        refused(&agent, "another's, made to look like its own", (&Call::merge(&path, &takes), "another's Events"));
    }
    refused(&agent, "reading", (&Call::get(EVENTS), "cannot"));
    refused(&agent, "reading its own", (&Call::get(&one), "cannot"));
    refused(&agent, "deleting its own", (&Call::delete(&one), "cannot"));
    let elsewhere = "/api/v1/namespaces/kube-system/events";
    let mut there = event("rights-events.7", node, &Value::Null);
    there["metadata"]["namespace"] = json!("kube-system");
    refused(&agent, "another namespace", (&Call::post(elsewhere, &there), "cannot"));
}

pub(crate) const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/nodewell/leases";

pub(crate) fn lease(name: &str, (owner, uid): (&str, &str)) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": { "name": name, "ownerReferences": [{ "apiVersion": "v1", "kind": "Node", "name": owner, "uid": uid }] },
        "spec": { "holderIdentity": name, "leaseDurationSeconds": 240, "renewTime": "2026-11-21T10:00:00.000000Z" },
    })
}

fn own_lease_only(cluster: &Cluster) {
    let node = "rights-lease";
    let agent = node_with_agent(cluster, node);
    let uid = cluster.node_uid(node);
    let apply =
        |name: &str, lease: &Value| Call::apply(&format!("{LEASES}/{name}?fieldManager=nodewell&force=true"), lease);
    allowed(&agent, "its own", &apply(node, &lease(node, (node, &uid))));
    let renewed = json!({ "spec": { "renewTime": "2026-11-21T10:01:00.000000Z" } });
    allowed(&agent, "renewing it", &Call::merge(&format!("{LEASES}/{node}"), &renewed));

    let words = "the Lease rights-lease in namespace nodewell only";
    refused(&agent, "another's", (&apply("other", &lease("other", ("other", "u"))), words));
    refused(&agent, "making another's", (&Call::post(LEASES, &lease("other", ("other", "u"))), words));
    assert_eq!(cluster.admin(&Call::post(LEASES, &lease("rights-there", ("rights-there", "u")))).0, 201);
    refused(&agent, "renewing another's", (&Call::merge(&format!("{LEASES}/rights-there"), &renewed), words));
    let owned = "owned by its Node";
    refused(
        &agent,
        "no owner's",
        (&Call::merge(&format!("{LEASES}/{node}"), &json!({ "metadata": { "ownerReferences": null } })), owned),
    );
    refused(&agent, "another's by owner", (&apply(node, &lease(node, ("other", &uid))), owned));
    refused(&agent, "reading its own", (&Call::get(&format!("{LEASES}/{node}")), "cannot"));
    refused(&agent, "deleting its own", (&Call::delete(&format!("{LEASES}/{node}")), "cannot"));
    for namespace in ["kube-node-lease", "kube-system", "default", "nodewell-controller"] {
        let path = format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases");
        refused(&agent, namespace, (&Call::post(&path, &lease(node, (node, &uid))), "cannot"));
        let path = format!("{path}/{node}");
        refused(&agent, namespace, (&Call::merge(&path, &renewed), "cannot"));
    }
}

/// Its own Lease may be called anything; the leader's is where it has no role, whatever policies are in force.
fn a_node_named_like_the_leader_is_no_leader(cluster: &Cluster) {
    for node in ["nodewell-controller", "nodewell-controller-reach-cp-1"] {
        let agent = node_with_agent(cluster, node);
        let uid = cluster.node_uid(node);
        let path = format!("{LEASES}/{node}?fieldManager=nodewell&force=true");
        allowed(&agent, "its own", &Call::apply(&path, &lease(node, (node, &uid))));
        let leaders = "/apis/coordination.k8s.io/v1/namespaces/nodewell-controller/leases";
        let path = format!("{leaders}/{node}?fieldManager=nodewell&force=true");
        refused(&agent, "the leader's", (&Call::apply(&path, &lease(node, (node, &uid))), "cannot patch"));
        refused(&agent, "making it", (&Call::post(leaders, &lease(node, (node, &uid))), "cannot create"));
    }
}

fn nothing_else_in_the_cluster(cluster: &Cluster) {
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
        refused(&agent, path, (&Call::get(path), "cannot"));
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
        refused(&agent, path, (&Call::post(path, &body), "cannot"));
    }
}

/// By the server's own report: the answer names the FlowSchema that took the request.
fn requests_travel_in_a_lane_of_their_own(cluster: &Cluster) {
    cluster.as_real().apply_manifests();
    let path = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/nodewell";
    let (code, schema) = cluster.admin(&Call::get(path));
    assert_eq!((code, &schema["spec"]["priorityLevelConfiguration"]["name"]), (200, &json!("nodewell")));
    let conditions = schema["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let dangling = conditions.iter().find(|one| one["type"] == "Dangling").map(|one| one["status"].clone());
    assert_ne!(dangling, Some(json!("True")), "{schema}");
    let node = "rights-lane";
    let agent = node_with_agent(cluster, node);
    let lane = schema["metadata"]["uid"].as_str().unwrap();
    let taken_by = |call: &Call| agent.header(call, "x-kubernetes-pf-flowschema-uid");
    nodewell_tests::wait::until("the lane is in force", || {
        (taken_by(&apply(node, "KernelUnhealthy")) == lane).then_some(())
    });
    assert_eq!(taken_by(&Call::post(EVENTS, &event("rights-lane.1", node, &Value::Null))), lane);
    let uid = cluster.node_uid(node);
    assert_eq!(taken_by(&Call::post(LEASES, &lease(node, (node, &uid)))), lane);
}
