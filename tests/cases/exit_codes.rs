//! What scripts go by: the exit code of `nodewell status --exit-code`, and that of one look by `nodewell scan`.

use nodewell_tests::{
    agent::{Agent, Plan},
    cli::nodewell,
    suite::Suite,
    wait::until,
};
use serde_json::Value;

use crate::{
    lines::{OOPS, TEST_RULES},
    report_api::RAID_RULE,
};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("exit_codes")
        .case("status_ends_with_the_health", status_ends_with_the_health)
        .case("a_source_that_is_absent_is_not_known", a_source_that_is_absent_is_not_known)
        .case("without_a_socket_no_agent_is_reached", without_a_socket_no_agent_is_reached)
        .case("a_scan_ends_with_what_it_finds", a_scan_ends_with_what_it_finds);
}

fn code(agent: &Agent) -> i32 {
    agent.nodewell(&["status", "--exit-code"]).code
}

fn status_ends_with_the_health() {
    let agent = Plan::default().rules(TEST_RULES).start();
    agent.wait_condition("TestUnhealthy", "False");
    // Other conditions wait for their monitors for a moment longer.
    until("all is known, and well", || (code(&agent) == 0).then_some(()));
    agent.kmsg().write("test: fault on alpha");
    agent.wait_condition("TestUnhealthy", "True");
    assert_eq!(code(&agent), 1);
    assert_eq!(agent.nodewell(&["status"]).code, 0, "nothing was asked for");
    agent.kmsg().write("test: end on alpha");
    agent.wait_condition("TestUnhealthy", "False");
    assert_eq!(code(&agent), 0);
}

fn a_source_that_is_absent_is_not_known() {
    let plan = Plan::default();
    let nowhere = plan.folder().join("no-kmsg");
    let agent = plan.kernel_log(nowhere).rules(&(TEST_RULES.to_owned() + RAID_RULE)).start();
    until("its source is missed", || {
        (agent.condition("TestUnhealthy")?.reason.as_str() == "KmsgMissing").then_some(())
    });
    assert_eq!(code(&agent), 2);
    let problem = ["--condition", "RaidProblem=true", "--reason", "RaidDegraded"];
    let reported = agent.nodewell(&[&["report", "--source", "raid"], &problem[..]].concat());
    assert_eq!(reported.code, 0, "{}", reported.stderr);
    assert_eq!(agent.condition("TestUnhealthy").unwrap().status.as_str(), "Unknown");
    assert_eq!(code(&agent), 1, "a problem is worse than what is not known");
}

fn without_a_socket_no_agent_is_reached() {
    let unreachable = nodewell(["status", "--exit-code", "--socket", "/nonexistent/socket"]);
    assert_eq!((unreachable.code, unreachable.stdout.as_str()), (69, ""), "{}", unreachable.stderr);
    assert!(unreachable.stderr.contains("/nonexistent/socket"), "{}", unreachable.stderr);
}

/// By an agent and check processes of its own. These look at the test machine, whatever they find there.
fn a_scan_ends_with_what_it_finds() {
    let plan = Plan::default().with_fifo().with_check_processes();
    let kmsg = plan.kmsg().path().display().to_string();
    let plan = plan.config(&format!("[kmsg]\npath = {kmsg:?}\n[journal]\nenabled = false\n"));
    plan.kmsg().write(OOPS);
    let [config, socket] = ["nodewell.toml", "socket"].map(|name| plan.folder().join(name).display().to_string());
    let files = ["--config", &config, "--socket", &socket];
    let scan =
        nodewell([&["scan", "-o", "json", "--exit-code", "--settle", "1s", "--timeout", "150s"], &files[..]].concat());
    assert_eq!(scan.code, 1, "{scan:?}");
    let view = scan.json();
    let conditions = view["conditions"].as_array().unwrap();
    let sick = conditions.iter().find(|condition| condition["type"] == "KernelUnhealthy").unwrap();
    let is_planted =
        |problem: &Value| problem["reason"] == "KernelOops" && problem["message"].as_str().unwrap().contains(OOPS);
    let is_found = sick["problems"].as_array().unwrap().iter().any(is_planted);
    assert!(sick["status"] == "True" && is_found, "{sick}");
    let daemons = view["daemons"].as_array().unwrap();
    for source in ["check@", "mounts@", "services@", "disk@"] {
        let is_it = |daemon: &Value| daemon["name"].as_str().unwrap().starts_with(source);
        assert!(daemons.iter().any(is_it), "{source} has reported nothing: {daemons:?}");
    }
}
