//! The Node's conditions in the API: true, ours, and no other writer's.

use std::time::Duration;

use jiff::Timestamp;
use nodewell_tests::{
    agent::{Agent, Plan},
    cluster::{Cluster, Identity},
    suite::Suite,
    wait::{until, until_within},
};
use serde_json::{Value, json};

use crate::lines::{OOPS, QUIET_RULES, TEST_RULES};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("api_conditions")
        .on_double("a_recovery_goes_at_once_and_the_next_is_held", a_recovery_goes_at_once_and_the_next_is_held)
        .on_double("a_heartbeat_confirms_what_was_reported", a_heartbeat_confirms_what_was_reported)
        .api("a_problem_is_reported_at_once", a_problem_is_reported_at_once)
        .api("what_the_rules_drop_is_gone", what_the_rules_drop_is_gone)
        .api("another_writer_is_reported_and_not_fought", another_writer_is_reported_and_not_fought)
        .api("a_writer_that_has_gone_is_taken_over_from", a_writer_that_has_gone_is_taken_over_from)
        .api("a_writer_from_before_is_reported_and_not_fought", a_writer_from_before_is_reported_and_not_fought);
}

/// A plan for an agent of Node `name`, which is made.
pub(crate) fn plan_on(cluster: &Cluster, name: &str) -> Plan {
    cluster.create_node(name);
    let plan = Plan::new(name);
    let kubeconfig = cluster.write_kubeconfig(&Identity::Node(name.to_owned()), plan.folder());
    plan.kubeconfig(kubeconfig)
}

/// Waits until the Node's condition has `status`.
pub(crate) fn wait_published(cluster: &Cluster, node: &str, condition: &str, status: &str) -> Value {
    until(&format!("{condition} of {node} is {status} in the API"), || {
        cluster.condition(node, condition).filter(|condition_seen| condition_seen["status"] == status)
    })
}

/// Kubernetes stores whole seconds.
pub(crate) fn same_second(condition_seen: &Value, time: Timestamp) {
    let condition_seen: Timestamp = condition_seen.as_str().unwrap().parse().unwrap();
    assert_eq!(condition_seen.as_second(), time.as_second());
}

fn oops(agent: &Agent) {
    agent.kmsg().write(OOPS);
    agent.wait_condition("KernelUnhealthy", "True");
}

fn a_problem_is_reported_at_once(cluster: &Cluster) {
    let node = "reported-at-once";
    let agent = plan_on(cluster, node).start();
    let healthy = wait_published(cluster, node, "KernelDeadlock", "False");
    assert_eq!(
        (&healthy["reason"], &healthy["message"]),
        (&json!("KernelHasNoDeadlock"), &json!("kernel has no deadlock"))
    );
    oops(&agent);
    let quickly = Duration::from_secs(5);
    let condition_seen = until_within(quickly, "the oops is reported", || {
        cluster.condition(node, "KernelUnhealthy").filter(|condition_seen| condition_seen["status"] == "True")
    });
    assert_eq!(condition_seen["reason"], "KernelOops");
    same_second(&condition_seen["lastTransitionTime"], agent.condition("KernelUnhealthy").unwrap().transition);
    let apiserver =
        until("the agent is connected", || Some(agent.view().apiserver).filter(|it| it.last_success.is_some()));
    assert_eq!(serde_json::to_value(apiserver.state).unwrap(), "connected");
}

fn what_the_rules_drop_is_gone(cluster: &Cluster) {
    let node = "rules-drop";
    let plan = plan_on(cluster, node).rules(TEST_RULES);
    let more = plan.file("rules/more.toml", QUIET_RULES);
    let agent = plan.start();
    wait_published(cluster, node, "TestNoisy", "False");
    cluster.write_as_peer(node, "kubelet", &json!([{ "type": "Ready", "status": "True" }]));
    std::fs::remove_file(more).unwrap();
    agent.reload();
    until("the condition is gone", || cluster.condition(node, "TestNoisy").is_none().then_some(()));
    wait_published(cluster, node, "TestUnhealthy", "False");
    wait_published(cluster, node, "Ready", "True");
}

fn theirs(message: &str) -> Value {
    json!([{ "type": "KernelDeadlock", "status": "True", "reason": "DockerHung", "message": message }])
}

fn wait_reported(agent: &Agent, manager: &str) {
    until("the agent names the other writer", || agent.view().apiserver.message.contains(manager).then_some(()));
}

fn another_writer_is_reported_and_not_fought(cluster: &Cluster) {
    let node = "two-writers";
    let agent = plan_on(cluster, node).start();
    wait_published(cluster, node, "KernelDeadlock", "False");
    cluster.write_as_peer(node, "node-problem-detector", &theirs("theirs"));
    oops(&agent);
    wait_published(cluster, node, "KernelUnhealthy", "True");
    wait_reported(&agent, "node-problem-detector");
    assert_eq!(cluster.condition(node, "KernelDeadlock").unwrap()["message"], "theirs");
}

/// The server records no manager names until a client applies.
fn a_writer_from_before_is_reported_and_not_fought(cluster: &Cluster) {
    let node = "writer-before";
    let plan = plan_on(cluster, node);
    cluster.write_as_peer(node, "node-problem-detector", &theirs("theirs"));
    let agent = plan.start();
    wait_published(cluster, node, "KernelUnhealthy", "False");
    assert_eq!(wait_published(cluster, node, "KernelDeadlock", "True")["message"], "theirs");
    wait_reported(&agent, "before-first-apply");
    cluster.write_as_peer(node, "node-problem-detector", &theirs("again theirs"));
    oops(&agent);
    wait_published(cluster, node, "KernelUnhealthy", "True");
    assert_eq!(cluster.condition(node, "KernelDeadlock").unwrap()["message"], "again theirs");
}

/// The Event that it is over does not wait either. A flapping disk must not write the Node every second.
fn a_recovery_goes_at_once_and_the_next_is_held(cluster: &Cluster) {
    let node = "held";
    let agent = plan_on(cluster, node).rules(TEST_RULES).start();
    wait_published(cluster, node, "TestUnhealthy", "False");
    recover(cluster, &agent);
    // Less than the hold: two changes of one condition are ten seconds apart.
    wait_false(cluster, node, Duration::from_secs(25));
    let healed = recover(cluster, &agent);
    assert_eq!(cluster.condition(node, "TestUnhealthy").unwrap()["status"], "True", "not yet");
    let condition_seen = wait_false(cluster, node, Duration::from_secs(50));
    same_second(&condition_seen["lastTransitionTime"], healed);
    assert!(Timestamp::now().duration_since(healed).as_secs() >= 29);
}

/// A fault that the Node shows, and its end; since when that is so.
fn recover(cluster: &Cluster, agent: &Agent) -> Timestamp {
    agent.kmsg().write("test: fault on alpha");
    wait_published(cluster, "held", "TestUnhealthy", "True");
    agent.kmsg().write("test: end on alpha");
    agent.wait_condition("TestUnhealthy", "False").transition
}

fn wait_false(cluster: &Cluster, node: &str, within: Duration) -> Value {
    until_within(within, "the recovery is reported", || {
        cluster.condition(node, "TestUnhealthy").filter(|condition_seen| condition_seen["status"] == "False")
    })
}

/// Its heartbeats are signs of life; what it left is not.
fn a_writer_that_has_gone_is_taken_over_from(cluster: &Cluster) {
    let node = "writer-gone";
    let config = "[apiserver]\nheartbeat = \"10s\"\ntake-over = \"1m\"\n";
    let agent = plan_on(cluster, node).config(config).start();
    wait_published(cluster, node, "KernelDeadlock", "False");
    let beat = |at: &str| {
        let mut written = theirs("theirs");
        written[0]["lastHeartbeatTime"] = at.into();
        cluster.write_as_peer(node, "node-problem-detector", &written);
    };
    beat("2026-01-02T03:04:05Z");
    wait_reported(&agent, "node-problem-detector");
    until("an Event names it", || (!cluster.events(node, "ConditionConflict").is_empty()).then_some(()));
    std::thread::sleep(Duration::from_secs(30));
    beat("2026-01-02T03:04:35Z");
    let last = std::time::Instant::now();
    let ours = until_within(Duration::from_secs(120), "it is ours again", || {
        cluster.condition(node, "KernelDeadlock").filter(|condition_seen| condition_seen["status"] == "False")
    });
    assert_eq!(ours["reason"], "KernelHasNoDeadlock");
    assert!(last.elapsed() >= Duration::from_secs(60), "not before it has been silent for a minute");
    until("an Event says so", || (!cluster.events(node, "ConditionTakenOver").is_empty()).then_some(()));
    assert_eq!(agent.view().apiserver.message, "");
}

fn a_heartbeat_confirms_what_was_reported(cluster: &Cluster) {
    let node = "heartbeat";
    let _agent = plan_on(cluster, node).config("[apiserver]\nheartbeat = \"10s\"\n").start();
    let first = wait_published(cluster, node, "KernelDeadlock", "False");
    let next = until("the heartbeat moves", || {
        cluster
            .condition(node, "KernelDeadlock")
            .filter(|condition_seen| condition_seen["lastHeartbeatTime"] != first["lastHeartbeatTime"])
    });
    assert_eq!(next["lastTransitionTime"], first["lastTransitionTime"]);
}
