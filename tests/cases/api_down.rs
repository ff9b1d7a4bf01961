//! The API server is killed and comes back: no condition and no event is lost.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use nodewell_model::ConditionStatus;
use nodewell_tests::{
    cluster::Cluster,
    suite::Suite,
    wait::{until, until_within},
};

use crate::{
    api_conditions::{plan_on, same_second, wait_published},
    api_events::wait_events,
    lines::{OOPS, STALL},
};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("api_down")
        .api_alone("what_happened_meanwhile_arrives_in_order", what_happened_meanwhile_arrives_in_order)
        .api_alone("an_agent_that_starts_first_waits", an_agent_that_starts_first_waits)
        .api_alone("what_waits_is_delivered_soon_after_the_return", what_waits_is_delivered_soon_after_the_return)
        .long("a_minute_of_outage_loses_nothing", a_minute_of_outage_loses_nothing);
}

/// How many tasks hang while the server is away, each an Event of its own.
const HUNG: usize = 40;

fn a_minute_of_outage_loses_nothing(cluster: &Cluster) {
    let node = "minute-down";
    let agent = plan_on(cluster, node).start();
    wait_published(cluster, node, "KernelUnhealthy", "False");
    cluster.stop();
    let stopped = Instant::now();
    agent.kmsg().write(OOPS);
    for task in 0..HUNG {
        agent.kmsg().write(&format!("INFO: task worker{task}:{} blocked for more than 120 seconds.", 1000 + task));
    }
    until_within(Duration::from_secs(90), "a minute has passed, and the agent still works", || {
        let alive = agent.condition("KernelUnhealthy").is_some_and(|c| c.status == ConditionStatus::True);
        (alive && stopped.elapsed() > Duration::from_secs(60)).then_some(())
    });
    cluster.start_again();
    wait_published(cluster, node, "KernelUnhealthy", "True");
    let subjects = until("all that hung is reported", || {
        let reported = cluster.events(node, "TaskHung");
        let messages: BTreeSet<String> = reported.iter().map(|event| event["message"].to_string()).collect();
        (messages.len() == HUNG).then_some(reported.len())
    });
    assert_eq!(subjects, HUNG, "none is reported twice");
    assert_eq!(cluster.events(node, "KernelOops").len(), 1);
}

fn what_happened_meanwhile_arrives_in_order(cluster: &Cluster) {
    let node = "server-down";
    let agent = plan_on(cluster, node).start();
    wait_published(cluster, node, "KernelUnhealthy", "False");
    cluster.stop();
    agent.kmsg().write(OOPS);
    let since = agent.wait_condition("KernelUnhealthy", "True").transition;
    agent.kmsg().write(STALL);
    let stalled = agent.wait_event("RCUStall").timestamp;
    until("the agent knows that no server answers", || {
        let apiserver = agent.view().apiserver;
        (serde_json::to_value(apiserver.state).unwrap() == "failing" && apiserver.undelivered >= 2).then_some(())
    });
    cluster.start_again();
    let reported = wait_published(cluster, node, "KernelUnhealthy", "True");
    same_second(&reported["lastTransitionTime"], since);
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
    agent.kmsg().write(OOPS);
    agent.wait_condition("KernelUnhealthy", "True");
    cluster.start_again();
    wait_published(cluster, node, "KernelUnhealthy", "True");
    wait_events(cluster, node, "KernelOops");
}

/// Twice what is promised from the moment that the server is ready, for machines that are busy; an idle node may take
/// a minute.
const SOON: Duration = Duration::from_secs(4);

fn what_waits_is_delivered_soon_after_the_return(cluster: &Cluster) {
    let node = "soon-back";
    let agent = plan_on(cluster, node).start();
    wait_published(cluster, node, "KernelUnhealthy", "False");
    cluster.stop();
    agent.kmsg().write(OOPS);
    let stopped = Instant::now();
    until("the back-off is at its longest", || (stopped.elapsed() > Duration::from_secs(8)).then_some(()));
    cluster.start_again();
    let ready = Instant::now();
    until_within(SOON, "the condition and the event are reported", || {
        let reported = cluster.condition(node, "KernelUnhealthy").is_some_and(|reported| reported["status"] == "True");
        (reported && cluster.events(node, "KernelOops").len() == 1).then_some(())
    });
    eprintln!("delivered {:?} after the server was ready", ready.elapsed());
}
