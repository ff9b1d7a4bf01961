//! The agent's Lease: a sign of life that belongs to the Node.

use std::time::Duration;

use jiff::Timestamp;
use nodewell_tests::{
    agent::{Agent, Plan},
    cluster::{Cluster, Identity},
    suite::Suite,
    wait::{until, until_within},
};
use serde_json::Value;

use crate::api_conditions::{plan_on, wait_published};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("lease")
        .api("a_lease_is_renewed_and_nothing_else_is_written", a_lease_is_renewed_and_nothing_else_is_written)
        .api("without_the_right_it_works_without", without_the_right_it_works_without)
        .api("a_lease_that_goes_with_its_node_brings_the_conditions_to_the_next_one", a_lease_that_goes_with_its_node);
}

/// An identity that may update a Lease: here the administrator, so that no roles are needed.
pub(crate) fn with_lease(cluster: &Cluster, node: &str) -> Agent {
    cluster.create_namespace("nodewell");
    cluster.create_node(node);
    let plan = Plan::new(node);
    let kubeconfig = cluster.write_kubeconfig(&Identity::Admin, plan.folder());
    plan.kubeconfig(kubeconfig).config("[apiserver]\nlease-renew = \"10s\"\n").start()
}

fn renewed(lease: &Value) -> Timestamp {
    lease["spec"]["renewTime"].as_str().unwrap().parse().unwrap()
}

fn owner(lease: &Value) -> &Value {
    &lease["metadata"]["ownerReferences"][0]["uid"]
}

fn a_lease_is_renewed_and_nothing_else_is_written(cluster: &Cluster) {
    let node = "leased";
    let agent = with_lease(cluster, node);
    let first = until("a Lease", || cluster.lease(node));
    assert_eq!((&first["spec"]["holderIdentity"], &first["spec"]["leaseDurationSeconds"]), (&node.into(), &40.into()));
    assert_eq!(owner(&first), cluster.node_uid(node).as_str());
    let reported = cluster.condition(node, "KernelUnhealthy").unwrap();
    let after =
        |before: &Value| until("a renewal", || cluster.lease(node).filter(|lease| renewed(lease) > renewed(before)));
    // The first one may come at any time: nodes that start together fall out of step by it.
    let second = after(&first);
    let third = after(&second);
    assert!(renewed(&third).duration_since(renewed(&second)).as_secs() >= 10);
    assert_eq!(cluster.condition(node, "KernelUnhealthy").unwrap()["lastHeartbeatTime"], reported["lastHeartbeatTime"]);
    let metrics = agent.metrics();
    assert!(metrics.contains("request=\"create-lease\",code=\"201\"} 1"), "{metrics}");
}

fn without_the_right_it_works_without(cluster: &Cluster) {
    let node = "unleased";
    let agent = plan_on(cluster, node).start();
    wait_published(cluster, node, "KernelUnhealthy", "False");
    until("it is reported", || agent.log().contains("no Lease for us").then_some(()));
    assert!(agent.log().contains("can only access leases in the"));
    let apiserver = agent.view().apiserver;
    assert_eq!(
        (serde_json::to_value(apiserver.state).unwrap(), apiserver.message),
        ("connected".into(), String::new())
    );
    assert!(cluster.lease(node).is_none());
}

fn a_lease_that_goes_with_its_node(cluster: &Cluster) {
    let node = "leased-again";
    let _agent = with_lease(cluster, node);
    wait_published(cluster, node, "KernelUnhealthy", "False");
    until("a Lease", || cluster.lease(node));
    cluster.delete_node(node);
    let uid = cluster.create_node(node);
    cluster.delete_lease(node);
    let patience = Duration::from_secs(40);
    until_within(patience, "the quiet agent reports to the new Node", || cluster.condition(node, "KernelUnhealthy"));
    until_within(patience, "the Lease belongs to it", || {
        cluster.lease(node).filter(|lease| *owner(lease) == uid.as_str())
    });
}
