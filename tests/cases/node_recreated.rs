//! The Node is deleted and made anew, as autoscalers do: conditions return, events are about the new one.

use std::time::Duration;

use nodewell_tests::{cluster::Cluster, suite::Suite, wait::until_within};

use crate::{
    api_conditions::{plan_on, wait_told},
    api_events::wait_events,
    lines::{OOPS, STALL},
};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("node_recreated")
        .api("a_new_node_gets_conditions_and_events", a_new_node_gets_conditions_and_events);
}

fn a_new_node_gets_conditions_and_events(cluster: &Cluster) {
    let node = "made-anew";
    let agent = plan_on(cluster, node).start();
    wait_told(cluster, (node, "KernelUnhealthy"), "False");
    cluster.delete_node(node);
    agent.kmsg().say(OOPS);
    agent.wait_condition("KernelUnhealthy", "True");
    let uid = cluster.create_node(node);
    let patience = Duration::from_secs(60);
    until_within(patience, "the new Node has the condition", || {
        cluster.condition(node, "KernelUnhealthy").filter(|told| told["status"] == "True")
    });
    agent.kmsg().say(STALL);
    let event = wait_events(cluster, node, "RCUStall").remove(0);
    assert_eq!(event["involvedObject"]["uid"], uid.as_str());
}
