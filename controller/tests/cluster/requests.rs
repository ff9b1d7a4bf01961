//! Requests of other remediators, played step by step as node-healthcheck-operator and Cluster API make them, with the rights
//! of the optional manifests. What a BMC would bring about is written into the record's status: the nodes are younger than
//! the grace period of new nodes, so that the leader itself begins nothing.

#[path = "requests/actors.rs"]
mod actors;

#[path = "requests/health_check.rs"]
mod health_check;

#[path = "requests/machine_health_check.rs"]
mod machine_health_check;

#[path = "requests/operator.rs"]
pub(crate) mod operator;

use std::sync::Arc;

use nodewell_remediation::api::request::FINALIZER;
use serde_json::{Value, json};

use self::{
    actors::{Leader, Silent, condition, gone, record, released, request, set_phase, strict},
    health_check::HealthCheck,
    machine_health_check::{MACHINES, machine_request, make_cluster},
};
use crate::{
    cases::{admin, cases, make_node},
    program::until,
    server::Server,
    workload::StandIn,
};

const ROLES: [&str; 2] = [
    include_str!("../../../packaging/rbac/external-remediation/nodewell-external-remediation.yaml"),
    include_str!("../../../packaging/rbac/cluster-api/nodewell-cluster-api.yaml"),
];
const PEOPLE: &str = include_str!("../../../packaging/rbac/people/nodewell-people.yaml");
const CLAIMS: &str = include_str!("../../../packaging/rbac/claims/nodewell-controller-claims.yaml");
/// Their kinds as they define them, and the rights of those that are played.
const CUSTOMERS: [&str; 3] = [
    include_str!("requests/customers/node-health-check.yaml"),
    include_str!("requests/customers/cluster-api.yaml"),
    include_str!("requests/customers/requester.yaml"),
];

// In this order: the first one applies what the others need.
cases![
    a_request_needs_the_rights_and_the_kinds_that_are_optional,
    a_health_check_has_a_node_fenced_and_takes_its_request_back,
    a_request_whose_record_is_given_up_has_the_health_check_escalate,
    a_request_that_is_deleted_or_timed_out_is_taken_back,
    a_leader_that_is_killed_leaves_no_request_that_the_next_does_not_find,
    a_request_joins_a_policys_record_which_stays,
    a_lease_of_another_holder_blocks_the_record_of_a_request,
    a_machines_request_is_served_only_when_it_is_proven_to_be_the_node,
    a_management_cluster_that_does_not_answer_delays_no_request_of_this_one,
];

/// What `fence` asks for.
fn template() -> Value {
    json!({ "apiVersion": "nodewell.dev/v1alpha1", "kind": "NodeFenceRemediationTemplate",
        "metadata": { "name": "fence", "namespace": "default" }, "spec": { "template": { "spec": {} } } })
}

/// Kinds and rights that are optional, and the template.
fn prepare(server: &Server) {
    // Other cases make the namespace.
    let _ = server.kubectl(&["create", "namespace", "medik8s-leases"]);
    for text in ROLES.into_iter().chain([PEOPLE, CLAIMS]).chain(CUSTOMERS) {
        server.apply(text).unwrap();
    }
    assert!(server.kubectl(&["wait", "--for=condition=Established", "--timeout=30s", "crd", "--all"]));
    server.apply(&template().to_string()).unwrap();
}

async fn a_request_needs_the_rights_and_the_kinds_that_are_optional(server: Arc<Server>) {
    prepare(&server);
    let may = |who: &str, verb: &str, what: &str| {
        let (what, part) = what.split_once('/').unwrap_or((what, ""));
        server.kubectl(&["auth", "can-i", verb, what, "--subresource", part, "--as", who])
    };
    for (who, verb, what, expected) in [
        ("requester", "create", "nodefenceremediations.nodewell.dev", true),
        ("requester", "delete", "nodefenceremediations.nodewell.dev", true),
        ("requester", "patch", "nodefenceremediations.nodewell.dev/status", false),
        ("requester", "create", "nodefences.nodewell.dev", false),
        ("stranger", "create", "nodefenceremediations.nodewell.dev", false),
        ("nodewell:controller", "create", "nodefenceremediations.nodewell.dev", false),
        ("nodewell:controller", "delete", "nodefenceremediations.nodewell.dev", false),
        ("nodewell:cluster-api", "patch", "nodefences.nodewell.dev", false),
    ] {
        assert_eq!(may(who, verb, what), expected, "{who} {verb} {what}");
    }
    let mut bad = template();
    bad["spec"]["template"]["spec"] = json!({ "drain": "soon" });
    assert!(server.apply(&bad.to_string()).unwrap_err().contains("spec.template.spec.drain"));
    bad["spec"]["template"] = json!({});
    assert!(server.apply(&bad.to_string()).is_err(), "node-healthcheck-operator calls it broken");
}

async fn a_health_check_has_a_node_fenced_and_takes_its_request_back(server: Arc<Server>) {
    let mut node = StandIn::start(&server, "nhc-happy").await;
    node.die().await;
    let leader = Leader::start(&server, "").await;
    let health_check = HealthCheck::make(&server, "workers").await;
    health_check.asks_for(&node.name, json!({ "leaveOff": false })).await;
    // The Lease of the node is the health check's: it is its own request that it does not block.
    until("its record", async || record(&server, &node.name).await.is_some()).await;
    until("what blocks it", async || {
        condition(&server, &node.name, "Succeeded").await.is_some_and(|(is, reason, message)| {
            is == "Unknown"
                && reason == "FencingBlocked"
                && message.contains("NewNode")
                && !message.contains("ClaimedByPeer")
        })
    })
    .await;
    let stored = request(&server, &node.name).await.unwrap();
    assert_eq!(stored["metadata"]["finalizers"], json!([FINALIZER]));
    let opened = record(&server, &node.name).await.unwrap();
    assert!(opened["spec"]["policy"].is_null() && opened["spec"]["steps"][2]["powerCycle"].is_object(), "{opened}");
    let finalizers = health_check.strips_the_finalizer(&node.name).await;
    assert!(finalizers.is_err_and(|why| why.contains("goes when what was begun")), "a client cannot leave it behind");

    set_phase(&server, &node.name, released("AwaitReady")).await;
    until("turned on", async || {
        condition(&server, &node.name, "Succeeded")
            .await
            .is_some_and(|(is, reason, _)| is == "Unknown" && reason == "TurningOn")
    })
    .await;
    let node = node.boots("boot-2").await;
    until("fenced", async || {
        condition(&server, &node.name, "Succeeded")
            .await
            .is_some_and(|(is, reason, _)| is == "True" && reason == "Fenced")
    })
    .await;
    health_check.takes_back(&node.name).await;
    health_check.counts_as_healthy(&node.name).await;
    assert!(record(&server, &node.name).await.is_none(), "it has ended before its request did");
    let left =
        server.cluster("admin").await.wire().get::<Value>(&format!("/api/v1/nodes/{}", node.name)).await.unwrap();
    let left = left.unwrap();
    assert!(left["spec"]["unschedulable"].is_null() && left["spec"]["taints"].is_null(), "{}", left["spec"]);
    leader.was_refused_nothing();
    gone(&server, &[&node.name]);
}

async fn a_request_whose_record_is_given_up_has_the_health_check_escalate(server: Arc<Server>) {
    make_node(&server, "nhc-fails").await;
    let _leader = Leader::start(&server, "").await;
    let health_check = HealthCheck::make(&server, "workers").await;
    health_check.asks_for("nhc-fails", json!({})).await;
    until("its record", async || record(&server, "nhc-fails").await.is_some()).await;
    let blocker = json!([{ "reason": "Attempts", "message": "power off failed 5 times" }]);
    set_phase(&server, "nhc-fails", json!({ "phase": "Quarantined", "blockedBy": blocker })).await;
    until("failed", async || {
        condition(&server, "nhc-fails", "Succeeded").await.is_some_and(|(is, reason, message)| {
            is == "False" && reason == "Attempts" && message.contains("failed 5 times")
        })
    })
    .await;
    assert_eq!(condition(&server, "nhc-fails", "Processing").await.unwrap().0, "False");
    health_check.times_out("nhc-fails").await;
    health_check.takes_back("nhc-fails").await;
    health_check.counts_as_healthy("nhc-fails").await;
    let stays = record(&server, "nhc-fails").await.unwrap();
    assert!(stays["spec"]["abort"] != true && stays["status"]["phase"] == "Quarantined", "a person's turn: {stays}");
    gone(&server, &["nhc-fails"]);
}

async fn a_request_that_is_deleted_or_timed_out_is_taken_back(server: Arc<Server>) {
    for name in ["nhc-deleted", "nhc-late"] {
        make_node(&server, name).await;
    }
    let _leader = Leader::start(&server, "").await;
    let health_check = HealthCheck::make(&server, "workers").await;
    for name in ["nhc-deleted", "nhc-late"] {
        health_check.asks_for(name, json!({})).await;
        until("its record", async || record(&server, name).await.is_some()).await;
    }
    health_check.takes_back("nhc-deleted").await;
    health_check.counts_as_healthy("nhc-deleted").await;
    assert!(record(&server, "nhc-deleted").await.is_none());
    health_check.times_out("nhc-late").await;
    until("failed", async || {
        condition(&server, "nhc-late", "Succeeded")
            .await
            .is_some_and(|(is, reason, _)| is == "False" && reason == "TimedOut")
    })
    .await;
    until("taken back", async || record(&server, "nhc-late").await.is_none()).await;
    until("over", async || {
        request(&server, "nhc-late").await.is_some_and(|one| one["status"]["nodeFence"]["ended"] == true)
    })
    .await;
    health_check.takes_back("nhc-late").await;
    health_check.counts_as_healthy("nhc-late").await;
    gone(&server, &["nhc-deleted", "nhc-late"]);
}

async fn a_leader_that_is_killed_leaves_no_request_that_the_next_does_not_find(server: Arc<Server>) {
    make_node(&server, "nhc-killed").await;
    let leader = Leader::start(&server, "").await;
    let health_check = HealthCheck::make(&server, "workers").await;
    health_check.asks_for("nhc-killed", json!({})).await;
    until("its record", async || record(&server, "nhc-killed").await.is_some()).await;
    leader.kill();
    // What it had not written yet, and what happened while none led.
    let nothing = json!({ "status": { "nodeFence": null, "conditions": null } });
    admin(&server, "merge", &format!("{}/status", actors::path("nhc-killed")), nothing).await;
    health_check.takes_back("nhc-killed").await;
    let waits = request(&server, "nhc-killed").await.unwrap();
    assert!(waits["metadata"]["deletionTimestamp"].is_string(), "its finalizer holds it: {waits}");
    let _next = Leader::start(&server, "").await;
    health_check.counts_as_healthy("nhc-killed").await;
    assert!(record(&server, "nhc-killed").await.is_none());

    // A request without its finalizer, and so without a trace: its record is an orphan.
    health_check.asks_for("nhc-killed", json!({})).await;
    until("its record", async || record(&server, "nhc-killed").await.is_some()).await;
    admin(&server, "merge", &actors::path("nhc-killed"), json!({ "metadata": { "finalizers": null } })).await;
    health_check.takes_back("nhc-killed").await;
    health_check.counts_as_healthy("nhc-killed").await;
    until("taken back", async || record(&server, "nhc-killed").await.is_none()).await;
    gone(&server, &["nhc-killed"]);
}

async fn a_request_joins_a_policys_record_which_stays(server: Arc<Server>) {
    let uid = make_node(&server, "nhc-joins").await;
    let policys = json!({ "apiVersion": "nodewell.dev/v1alpha1", "kind": "NodeFence", "metadata": { "name": "nhc-joins" },
        "spec": { "nodeName": "nhc-joins", "nodeUID": uid, "policy": "not-there", "steps": [{ "cordon": {} }] } });
    admin(&server, "create", "/apis/nodewell.dev/v1alpha1/nodefences", policys).await;
    let _leader = Leader::start(&server, "").await;
    let health_check = HealthCheck::make(&server, "workers").await;
    health_check.asks_for("nhc-joins", json!({})).await;
    until("joined", async || {
        condition(&server, "nhc-joins", "Processing")
            .await
            .is_some_and(|(_, _, message)| message.contains("(of policy not-there)"))
    })
    .await;
    health_check.takes_back("nhc-joins").await;
    health_check.counts_as_healthy("nhc-joins").await;
    let stays = record(&server, "nhc-joins").await.unwrap();
    assert!(stays["spec"]["abort"] != true && stays["spec"]["policy"] == "not-there", "{stays}");
    gone(&server, &["nhc-joins"]);
}

async fn a_lease_of_another_holder_blocks_the_record_of_a_request(server: Arc<Server>) {
    make_node(&server, "nhc-held").await;
    let _leader = Leader::start(&server, "").await;
    let health_check = HealthCheck::make(&server, "workers").await;
    health_check.leases("nhc-held", "node-maintenance").await;
    health_check.asks_for("nhc-held", json!({})).await;
    let is_blocked = async || {
        let message = condition(&server, "nhc-held", "Succeeded").await.map(|(_, _, message)| message);
        message.is_some_and(|message| message.contains("ClaimedByPeer") && message.contains("node-maintenance"))
    };
    until("blocked", is_blocked).await;
    // The same holder as its owner, which does not confirm the request: another remediator of it is under way.
    health_check.leases("nhc-held", "NodeHealthCheck-workers").await;
    health_check.lists("nhc-held", &["SelfNodeRemediation", "NodeFenceRemediation"]).await;
    let by_its_own = async || {
        let message = condition(&server, "nhc-held", "Succeeded").await.map(|(_, _, message)| message);
        message.is_some_and(|message| message.contains("ClaimedByPeer") && message.contains("NodeHealthCheck-workers"))
    };
    until("still blocked", by_its_own).await;
    health_check.lists("nhc-held", &["NodeFenceRemediation"]).await;
    until("free", async || {
        condition(&server, "nhc-held", "Succeeded")
            .await
            .is_some_and(|(_, _, message)| !message.contains("ClaimedByPeer"))
    })
    .await;
    health_check.takes_back("nhc-held").await;
    health_check.counts_as_healthy("nhc-held").await;
    gone(&server, &["nhc-held"]);
}

async fn a_machines_request_is_served_only_when_it_is_proven_to_be_the_node(server: Arc<Server>) {
    make_node(&server, "capi-1").await;
    admin(&server, "merge", "/api/v1/nodes/capi-1", json!({ "spec": { "providerID": "metal://1" } })).await;
    let management = format!(
        "[cluster-api]\nkubeconfig = {:?}\nnamespace = \"default\"\ncluster = \"prod\"\n",
        server.kubeconfig("cluster-api")
    );
    let leader = Leader::start(&server, &management).await;
    // The shipped example is a check of theirs, and its template what they make requests of.
    make_cluster(&server, "prod");
    machine_request(&server, "m-1", "prod", None).await;
    let reason = async |wanted: &str, text: &str| {
        until(text, async || {
            condition(&server, "m-1", "Succeeded")
                .await
                .is_some_and(|(is, _, message)| is == "Unknown" && message.contains(wanted) && message.contains(text))
        })
        .await;
    };
    reason("MachineUnknown", "has no status.nodeRef").await;
    let (machine, status) = (strict(&format!("{MACHINES}/m-1")), strict(&format!("{MACHINES}/m-1/status")));
    let refers =
        async |name: &str| admin(&server, "merge", &status, json!({ "status": { "nodeRef": { "name": name } } })).await;
    refers("capi-absent").await;
    reason("MachineUnknown", "this cluster has no such Node").await;
    refers("capi-1").await;
    admin(&server, "merge", &machine, json!({ "spec": { "providerID": "metal://2" } })).await;
    reason("MachineUnknown", "differ").await;
    assert!(record(&server, "capi-1").await.is_none(), "nothing is guessed");
    admin(&server, "merge", &machine, json!({ "spec": { "providerID": "metal://1" } })).await;
    until("its record", async || record(&server, "capi-1").await.is_some()).await;
    // Another cluster's Machine with a Node of the same name is for the controller there.
    make_cluster(&server, "staging");
    machine_request(&server, "m-2", "staging", Some(json!({ "nodeRef": { "name": "capi-1" } }))).await;
    // Cluster API deletes the request of a Machine that is healthy again.
    assert!(server.kubectl(&["delete", "--wait=false", "nodefenceremediation", "m-1"]));
    until("the request is gone", async || request(&server, "m-1").await.is_none()).await;
    assert!(record(&server, "capi-1").await.is_none());
    let other = request(&server, "m-2").await.unwrap();
    assert!(other["status"].is_null() && other["metadata"]["finalizers"].is_null(), "{other}");
    leader.was_refused_nothing();
    assert!(server.kubectl(&["delete", "nodefenceremediation", "m-2"]));
    gone(&server, &["capi-1"]);
}

async fn a_management_cluster_that_does_not_answer_delays_no_request_of_this_one(server: Arc<Server>) {
    let health_check = HealthCheck::make(&server, "workers").await;
    let silent = Silent::listen(&server);
    let management =
        format!("[cluster-api]\nkubeconfig = {:?}\nnamespace = \"default\"\ncluster = \"prod\"\n", silent.kubeconfig());
    let _leader = Leader::start(&server, &management).await;
    until("it is asked", async || silent.questions() > 0).await;
    // Each is made when the one before was served: in one round with the question to the silent one each would cost one more.
    for node in ["absent-1", "absent-2", "absent-3", "absent-4"] {
        health_check.asks_for(node, json!({})).await;
        until("served", async || condition(&server, node, "Succeeded").await.is_some()).await;
    }
    assert!(silent.questions() < 4, "{}", silent.questions());
    for node in ["absent-1", "absent-2", "absent-3", "absent-4"] {
        health_check.takes_back(node).await;
        health_check.counts_as_healthy(node).await;
    }
}
