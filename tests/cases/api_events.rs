//! Events in the API: one for each thing that happened, with the right Node, and counted.

use nodewell_tests::{cluster::Cluster, suite::Suite, wait::until};
use serde_json::Value;

use crate::{
    api_conditions::{plan_on, same_second},
    lines::{OOPS, STALL},
};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("api_events")
        .api("an_event_is_about_the_real_node", an_event_is_about_the_real_node)
        .api("repetitions_become_a_count", repetitions_become_a_count)
        .api("a_restart_makes_no_second_event", a_restart_makes_no_second_event);
}

/// Waits until there is an event with this reason; gives all.
pub(crate) fn wait_events(cluster: &Cluster, node: &str, reason: &str) -> Vec<Value> {
    until(&format!("an event {reason} about {node}"), || {
        Some(cluster.events(node, reason)).filter(|events| !events.is_empty())
    })
}

fn an_event_is_about_the_real_node(cluster: &Cluster) {
    let node = "about-a-node";
    let plan = plan_on(cluster, node);
    let agent = plan.start();
    agent.kmsg().write(OOPS);
    let event = wait_events(cluster, node, "KernelOops").remove(0);
    let involved = &event["involvedObject"];
    assert_eq!((&involved["kind"], &involved["name"]), (&"Node".into(), &node.into()));
    let uid = cluster.node_uid(node);
    assert_eq!(involved["uid"], uid.as_str(), "so that kubectl describe shows it");
    assert_eq!((&event["type"], &event["source"]["host"]), (&"Warning".into(), &node.into()));
    assert!(event["message"].as_str().unwrap().contains(OOPS));
    same_second(&event["firstTimestamp"], agent.wait_event("KernelOops").timestamp);
}

fn repetitions_become_a_count(cluster: &Cluster) {
    let node = "counted-events";
    let agent = plan_on(cluster, node).start();
    agent.kmsg().write(STALL);
    wait_events(cluster, node, "RCUStall");
    (0..4).for_each(|_| agent.kmsg().write(STALL));
    let total = |events: &[Value]| events.iter().map(|event| event["count"].as_u64().unwrap()).sum::<u64>();
    until("five are counted", || (total(&cluster.events(node, "RCUStall")) == 5).then_some(()));
    assert_eq!(cluster.events(node, "RCUStall").len(), 1);
}

fn a_restart_makes_no_second_event(cluster: &Cluster) {
    let node = "restarted";
    let mut agent = plan_on(cluster, node).start();
    agent.kmsg().write(OOPS);
    let first = wait_events(cluster, node, "KernelOops");
    agent.restart();
    agent.wait_condition("KernelUnhealthy", "True");
    agent.kmsg().write(STALL);
    wait_events(cluster, node, "RCUStall");
    let after = cluster.events(node, "KernelOops");
    assert_eq!((after.len(), &after[0]["count"]), (1, &first[0]["count"]), "{after:?}");
}
