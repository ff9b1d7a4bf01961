//! Each way in which an API server refuses has its answer.

use std::time::Duration;

use nodewell_tests::{
    agent::{Agent, Plan},
    cluster::{Cluster, Identity},
    double::Fault,
    suite::Suite,
    wait::{until, until_within},
};

use crate::{
    api_conditions::{plan_on, wait_published},
    api_events::wait_events,
    lines::{OOPS, QUIET_RULES, STALL, TEST_RULES},
};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("api_faults")
        .on_double("a_server_that_hangs_is_asked_again", a_server_that_hangs_is_asked_again)
        .api("new_credentials_are_taken_up", new_credentials_are_taken_up)
        .api_alone("a_refused_condition_does_not_hold_up_the_others", a_refused_condition_does_not_hold_up_the_others)
        .on_double("rejected_events_are_reported_and_block_nothing", rejected_events_are_reported_and_block_nothing)
        .on_double("events_outlive_errors_of_the_server", events_outlive_errors_of_the_server)
        .on_double("forbidden_events_report_what_to_grant", forbidden_events_report_what_to_grant)
        .api("forbidden_reports_what_to_grant", forbidden_reports_what_to_grant)
        .on_double("retry_after_is_respected", retry_after_is_respected)
        .on_double("errors_of_the_server_are_outlived", errors_of_the_server_are_outlived)
        .on_double("a_lost_answer_makes_no_second_event", a_lost_answer_makes_no_second_event);
}

/// An agent whose identity the server does not accept, until it gets a good one.
fn starts_as(cluster: &Cluster, node: &str, identity: &Identity, message: &str) {
    cluster.create_node(node);
    let plan = Plan::new(node);
    let kubeconfig = cluster.write_kubeconfig(identity, plan.folder());
    let agent = plan.kubeconfig(kubeconfig).start();
    until(&format!("the agent reports {message}"), || agent.view().apiserver.message.contains(message).then_some(()));
    assert!(cluster.condition(node, "KernelUnhealthy").is_none());
    cluster.write_kubeconfig(&Identity::Node(node.to_owned()), agent.plan().folder());
    // With nothing to report urgently the agent spreads its next try over a minute.
    let patience = Duration::from_secs(150);
    until_within(patience, "the new identity is used", || cluster.condition(node, "KernelUnhealthy"));
    until("nothing is wrong any more", || agent.view().apiserver.message.is_empty().then_some(()));
}

fn new_credentials_are_taken_up(cluster: &Cluster) {
    starts_as(cluster, "unauthorized", &Identity::Unknown, "401");
}

fn forbidden_reports_what_to_grant(cluster: &Cluster) {
    starts_as(cluster, "forbidden", &Identity::Stranger, "nodes/status");
}

fn retry_after_is_respected(cluster: &Cluster) {
    let plan = plan_on(cluster, "busy");
    cluster.as_double().fail_next(1, Fault::Status { code: 429, retry_after: Some(2) });
    let _agent = plan.start();
    wait_published(cluster, "busy", "KernelUnhealthy", "False");
    // What is published is logged a moment later.
    let answered = || Some(cluster.as_double().requests()).filter(|all| all.iter().any(|request| request.code == 200));
    let requests = until("the answer is logged", answered);
    let (refused, taken) = (&requests[0], requests.iter().find(|request| request.code == 200).unwrap());
    assert_eq!(refused.code, 429);
    assert!(taken.time.duration_since(refused.time).as_millis() >= 1900, "{requests:?}");
}

fn errors_of_the_server_are_outlived(cluster: &Cluster) {
    let plan = plan_on(cluster, "erring");
    for fault in [Fault::status(500), Fault::status(503), Fault::Reset, Fault::status(410), Fault::status(422)] {
        cluster.as_double().fail_next(1, fault);
    }
    let agent = plan.start();
    let patience = Duration::from_secs(60);
    until_within(patience, "it is reported in the end", || cluster.condition("erring", "KernelUnhealthy"));
    agent.kmsg().write(STALL);
    wait_events(cluster, "erring", "RCUStall");
}

/// As an admission policy of the cluster's owner may.
fn a_refused_condition_does_not_hold_up_the_others(cluster: &Cluster) {
    let node = "policed";
    let plan = plan_on(cluster, node).rules(TEST_RULES);
    plan.file("rules/more.toml", QUIET_RULES);
    cluster.refuse_condition("TestNoisy", node);
    let agent = plan.start();
    wait_published(cluster, node, "TestUnhealthy", "False");
    assert!(cluster.condition(node, "TestNoisy").is_none());
    until("it is reported", || agent.view().apiserver.message.contains("refuses it: TestNoisy (").then_some(()));
    agent.kmsg().write("test: fault on alpha");
    wait_published(cluster, node, "TestUnhealthy", "True");
}

/// An agent that has sent its conditions: what goes wrong now goes wrong for its Events.
fn delivered_to(cluster: &Cluster, node: &str) -> Agent {
    let agent = plan_on(cluster, node).start();
    wait_published(cluster, node, "KernelUnhealthy", "False");
    until("nothing waits", || (agent.view().apiserver.undelivered == 0).then_some(()));
    agent
}

fn posts(cluster: &Cluster) -> Vec<u16> {
    let posts = cluster.as_double().requests().into_iter().filter(|request| request.verb == "POST");
    posts.map(|request| request.code).collect()
}

fn rejected_events_are_reported_and_block_nothing(cluster: &Cluster) {
    let agent = delivered_to(cluster, "refused-event");
    cluster.as_double().fail_next(1, Fault::status(422));
    agent.kmsg().write(STALL);
    until("it is reported", || agent.view().apiserver.message.contains("invalid by script").then_some(()));
    assert_eq!(serde_json::to_value(agent.view().apiserver.state).unwrap(), "failing");
    agent.kmsg().write(OOPS);
    wait_events(cluster, "refused-event", "KernelOops");
    until("all is well again", || agent.view().apiserver.message.is_empty().then_some(()));
    assert!(cluster.events("refused-event", "RCUStall").is_empty(), "it was dropped, and counted");
}

fn events_outlive_errors_of_the_server(cluster: &Cluster) {
    let agent = delivered_to(cluster, "erring-events");
    let before = posts(cluster).len();
    for fault in [Fault::status(500), Fault::status(503), Fault::Reset, Fault::status(401)] {
        cluster.as_double().fail_next(1, fault);
    }
    agent.kmsg().write(STALL);
    let patience = Duration::from_secs(60);
    until_within(patience, "it is there in the end", || cluster.events("erring-events", "RCUStall").first().cloned());
    assert_eq!(posts(cluster)[before..], [500, 503, 0, 401, 201]);
}

fn forbidden_events_report_what_to_grant(cluster: &Cluster) {
    let agent = delivered_to(cluster, "forbidden-events");
    cluster.as_double().fail_next(1, Fault::status(403));
    agent.kmsg().write(STALL);
    let grant = "grant `create` and `patch` on `events` in namespace \"default\"";
    until("it is reported", || agent.view().apiserver.message.contains(grant).then_some(()));
    agent.kmsg().write(OOPS);
    wait_published(cluster, "forbidden-events", "KernelUnhealthy", "True");
}

fn a_server_that_hangs_is_asked_again(cluster: &Cluster) {
    let plan = plan_on(cluster, "hanging");
    cluster.as_double().fail_next(1, Fault::Hang);
    let agent = plan.start();
    let patience = Duration::from_secs(30);
    until_within(patience, "it is reported in the end", || cluster.condition("hanging", "KernelUnhealthy"));
    agent.kmsg().write(STALL);
    wait_events(cluster, "hanging", "RCUStall");
}

fn a_lost_answer_makes_no_second_event(cluster: &Cluster) {
    let node = "lost-answer";
    let agent = plan_on(cluster, node).start();
    wait_published(cluster, node, "KernelUnhealthy", "False");
    cluster.as_double().fail_next(1, Fault::LostAnswer);
    agent.kmsg().write(STALL);
    until("the event is delivered, as far as the agent knows", || {
        let posts = cluster.as_double().requests().into_iter().filter(|request| request.verb == "POST");
        posts.map(|request| request.code).any(|code| code == 409).then_some(())
    });
    until("nothing waits any more", || (agent.view().apiserver.undelivered == 0).then_some(()));
    let events = cluster.events(node, "RCUStall");
    assert_eq!((events.len(), &events[0]["count"]), (1, &1.into()));
}
