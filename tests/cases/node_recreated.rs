//! The Node is deleted and created again, as autoscalers do: conditions return, events are about the new one.

use std::time::{Duration, Instant};

use nodewell_tests::{cluster::Cluster, suite::Suite, wait::until_within};

use crate::{
    api_conditions::{plan_on, wait_published},
    api_events::wait_events,
    lines::{OOPS, STALL},
};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("node_recreated")
        .api("a_new_node_gets_conditions_and_events", a_new_node_gets_conditions_and_events)
        .long(
            "a_quiet_node_made_again_is_written_at_the_next_event",
            a_quiet_node_made_again_is_written_at_the_next_event,
        );
}

/// The heartbeat is minutes away; only an event, which changes no condition, makes the agent look.
fn a_quiet_node_made_again_is_written_at_the_next_event(cluster: &Cluster) {
    let node = "quiet-again";
    let agent = plan_on(cluster, node).start();
    wait_published(cluster, node, "KernelUnhealthy", "False");
    cluster.delete_node(node);
    cluster.create_node(node);
    let reported = Instant::now();
    until_within(Duration::from_secs(90), "a minute has passed since the last word about the Node", || {
        (reported.elapsed() > Duration::from_secs(62)).then_some(())
    });
    assert!(cluster.condition(node, "KernelUnhealthy").is_none(), "the agent does not know of it");
    agent.kmsg().write(STALL);
    wait_published(cluster, node, "KernelUnhealthy", "False");
}

fn a_new_node_gets_conditions_and_events(cluster: &Cluster) {
    let node = "made-again";
    let agent = plan_on(cluster, node).start();
    wait_published(cluster, node, "KernelUnhealthy", "False");
    cluster.delete_node(node);
    agent.kmsg().write(OOPS);
    agent.wait_condition("KernelUnhealthy", "True");
    let uid = cluster.create_node(node);
    let patience = Duration::from_secs(60);
    until_within(patience, "the new Node has the condition", || {
        cluster.condition(node, "KernelUnhealthy").filter(|reported| reported["status"] == "True")
    });
    // The server's answer that names the new UID may reach the agent after the condition has reached us.
    until_within(patience, "the agent knows the new Node", || agent.log().contains(&uid).then_some(()));
    agent.kmsg().write(STALL);
    let event = wait_events(cluster, node, "RCUStall").remove(0);
    assert_eq!(event["involvedObject"]["uid"], uid.as_str());
}
