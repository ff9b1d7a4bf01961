//! The API server is killed and comes back: no condition and no event is lost.

use nodewell_tests::{cluster::Cluster, suite::Suite, wait::until};

use crate::{
    api_conditions::{plan_on, same_second, wait_told},
    api_events::wait_events,
    lines::{OOPS, STALL},
};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("api_down")
        .api_alone("what_happened_meanwhile_arrives_in_order", what_happened_meanwhile_arrives_in_order)
        .api_alone("an_agent_that_starts_first_waits", an_agent_that_starts_first_waits);
}

fn what_happened_meanwhile_arrives_in_order(cluster: &Cluster) {
    let node = "server-down";
    let agent = plan_on(cluster, node).start();
    wait_told(cluster, (node, "KernelUnhealthy"), "False");
    cluster.stop();
    agent.kmsg().say(OOPS);
    let since = agent.wait_condition("KernelUnhealthy", "True").since;
    agent.kmsg().say(STALL);
    let stalled = agent.wait_event("RCUStall").timestamp;
    until("the agent knows that it speaks to nobody", || {
        let apiserver = agent.view().apiserver;
        (serde_json::to_value(apiserver.state).unwrap() == "failing" && apiserver.undelivered >= 2).then_some(())
    });
    cluster.start_again();
    let told = wait_told(cluster, (node, "KernelUnhealthy"), "True");
    same_second(&told["lastTransitionTime"], since);
    let (stall, oops) = (wait_events(cluster, node, "RCUStall"), wait_events(cluster, node, "KernelOops"));
    assert_eq!((stall.len(), oops.len()), (1, 1));
    same_second(&oops[0]["firstTimestamp"], since);
    same_second(&stall[0]["firstTimestamp"], stalled);
    let version =
        |event: &serde_json::Value| event["metadata"]["resourceVersion"].as_str().unwrap().parse::<u64>().unwrap();
    assert!(version(&oops[0]) < version(&stall[0]), "oldest first");
    until("nothing waits any more", || (agent.view().apiserver.undelivered == 0).then_some(()));
}

fn an_agent_that_starts_first_waits(cluster: &Cluster) {
    let node = "agent-first";
    let plan = plan_on(cluster, node);
    cluster.stop();
    let agent = plan.start();
    agent.kmsg().say(OOPS);
    agent.wait_condition("KernelUnhealthy", "True");
    cluster.start_again();
    wait_told(cluster, (node, "KernelUnhealthy"), "True");
    wait_events(cluster, node, "KernelOops");
}
