//! A line of the kernel log becomes a condition and an event, for people and for scripts.

use nodewell_tests::{agent::Plan, kmsg::USER_INFO, suite::Suite, wait::until};
use serde_json::Value;

use crate::lines::{OOPS, STALL};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("kmsg_line_turns_condition")
        .case("a_healthy_node_has_npds_messages", a_healthy_node_has_npds_messages)
        .case("an_oops_turns_a_condition_and_makes_an_event", an_oops_turns_a_condition_and_makes_an_event)
        .case("status_json_has_what_scripts_rely_on", status_json_has_what_scripts_rely_on)
        .case("a_fifo_is_read_like_a_file", a_fifo_is_read_like_a_file)
        .case("repetitions_are_counted", repetitions_are_counted)
        .case("user_space_is_not_believed", user_space_is_not_believed);
}

fn a_healthy_node_has_npds_messages() {
    let agent = Plan::default().start();
    let healthy = agent.wait_condition("KernelDeadlock", "False");
    assert_eq!((healthy.reason.as_str(), healthy.message.as_str()), ("KernelHasNoDeadlock", "kernel has no deadlock"));
    assert_eq!(agent.wait_condition("ReadonlyFilesystem", "False").reason.as_str(), "FilesystemIsNotReadOnly");
}

fn an_oops_turns_a_condition_and_makes_an_event() {
    let agent = Plan::default().start();
    agent.wait_condition("KernelUnhealthy", "False");
    agent.kmsg().write(OOPS);
    let condition = agent.wait_condition("KernelUnhealthy", "True");
    assert_eq!(condition.reason.as_str(), "KernelOops");
    assert!(condition.message.contains(OOPS), "{}", condition.message);
    let event = agent.wait_event("KernelOops");
    assert_eq!((event.message.as_str(), event.count), (OOPS, 1));
    assert_eq!(event.condition.unwrap().as_str(), "KernelUnhealthy");
    assert_eq!(event.timestamp, condition.transition, "both have the record's time");
    let answer = agent.get("/v1/conditions").unwrap().json();
    let listed = answer.as_array().unwrap().iter().find(|listed| listed["type"] == "KernelUnhealthy").unwrap();
    assert_eq!((&listed["status"], &listed["reason"]), (&"True".into(), &"KernelOops".into()));
    assert!(listed["transition"].is_string() && listed["message"].is_string(), "{listed}");
}

fn status_json_has_what_scripts_rely_on() {
    let agent = Plan::new("worker-7").start();
    agent.kmsg().write(OOPS);
    agent.wait_condition("KernelUnhealthy", "True");
    let outcome = agent.nodewell(&["status", "--json"]);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let status = outcome.json();
    assert_eq!(status["node"], "worker-7");
    let has = |value: &Value, fields: &[&str]| {
        for field in fields {
            assert!(value.get(field).is_some(), "{field} is missing in {value}");
        }
    };
    let list = status["conditions"].as_array().unwrap();
    let condition = list.iter().find(|condition| condition["type"] == "KernelUnhealthy").unwrap();
    has(condition, &["type", "status", "reason", "message", "transition", "problems"]);
    let problem = &condition["problems"][0];
    has(problem, &["reason", "severity", "since", "last_seen", "count", "message", "source", "action"]);
    assert_eq!((&condition["status"], &problem["source"]), (&"True".into(), &"kernel-monitor".into()));
    has(&status["daemons"][0], &["name", "state"]);
    has(&status["apiserver"], &["state", "last_success"]);
    assert_eq!(status["apiserver"]["state"], "disabled");
}

fn a_fifo_is_read_like_a_file() {
    let agent = Plan::default().with_fifo().start();
    agent.kmsg().write(OOPS);
    agent.wait_condition("KernelUnhealthy", "True");
}

fn repetitions_are_counted() {
    let agent = Plan::default().start();
    (0..5).for_each(|_| agent.kmsg().write(OOPS));
    let problem = until("five are counted", || {
        agent.condition("KernelUnhealthy")?.problems.into_iter().find(|problem| problem.count == 5)
    });
    assert!(problem.last_seen >= problem.since);
    assert_eq!(agent.events("KernelOops").len(), 1, "a problem starts once");
}

fn user_space_is_not_believed() {
    let agent = Plan::default().start();
    agent.kmsg().record(USER_INFO, OOPS.as_bytes());
    agent.kmsg().record(USER_INFO, format!("nodewell-inject 00112233: {OOPS}").as_bytes());
    agent.kmsg().write(STALL);
    agent.wait_event("RCUStall");
    assert_eq!(agent.condition("KernelUnhealthy").unwrap().status.as_str(), "False");
}
