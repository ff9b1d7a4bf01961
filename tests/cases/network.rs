//! A card that loses its carrier is a problem, and none any more once it is back. The machine is a tree of files like /sys
//! and /proc.

use std::{fs, path::Path};

use nodewell_tests::{
    agent::{Agent, Plan},
    check_process::CheckProcess,
    suite::Suite,
    wait::until,
};

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("network").case("a_carrier_that_is_lost_and_comes_back", a_carrier_that_is_lost_and_comes_back);
}

const ROUTES: &str = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth7\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0
";

/// A machine with one card's interface, by which its default route goes.
fn machine() -> Plan {
    let plan = Plan::default().config("[network]\nfor = \"1s\"\nnames = []\n");
    fs::create_dir_all(plan.folder().join("sys/class/net/eth7/device")).unwrap();
    for (file, content) in [("flags", "0x1003"), ("carrier", "1"), ("carrier_down_count", "1"), ("speed", "25000")] {
        plan.file(&format!("sys/class/net/eth7/{file}"), &format!("{content}\n"));
    }
    plan.file("proc/1/net/route", ROUTES);
    plan
}

/// Looks twice a second.
fn started(plan: &Plan) -> CheckProcess {
    let path = |name: &str| plan.folder().join(name);
    let (sys, proc) = (path("sys"), path("proc"));
    CheckProcess::of(plan, "check", &[("--sys", &sys), ("--proc", &proc), ("--interval", Path::new("500ms"))])
}

/// The reasons and subjects of the condition's problems.
fn problems(agent: &Agent) -> Vec<(String, String)> {
    let problems = agent.condition("NetworkUnhealthy").map(|condition| condition.problems).unwrap_or_default();
    let words =
        |problem: nodewell_model::view::ProblemView| (problem.reason.to_string(), problem.subject.unwrap_or_default());
    problems.into_iter().map(words).collect()
}

fn wait_for(agent: &Agent, wanted: &[(&str, &str)]) {
    let is_wanted = |found: &[(String, String)]| {
        found.iter().map(|(reason, subject)| (&**reason, &**subject)).eq(wanted.iter().copied())
    };
    until(&format!("NetworkUnhealthy is {wanted:?}"), || is_wanted(&problems(agent)).then_some(()));
}

fn a_carrier_that_is_lost_and_comes_back() {
    let agent = machine().start();
    let _check_process = started(agent.plan());
    let is_counted = || agent.view().hardware.iter().any(|one| one.class == "network interfaces" && one.total == 1);
    until("the interface is counted", || is_counted().then_some(()));
    assert_eq!(problems(&agent), []);
    agent.plan().file("sys/class/net/eth7/carrier", "0\n");
    wait_for(&agent, &[("InterfaceDown", "eth7")]);
    agent.plan().file("sys/class/net/eth7/carrier", "1\n");
    wait_for(&agent, &[]);
    agent.plan().file("proc/1/net/route", ROUTES.lines().next().unwrap());
    wait_for(&agent, &[("DefaultRouteLost", "default-route")]);
    agent.plan().file("proc/1/net/route", ROUTES);
    wait_for(&agent, &[]);
}
