//! Prometheus sees what Node Problem Detector's dashboards ask for.

use nodewell_tests::{agent::Plan, suite::Suite, wait::until};

use crate::lines::OOPS;

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("metrics")
        .case("problems_are_counted_and_gauged_as_npd_does", problems_are_counted_and_gauged_as_npd_does);
}

fn problems_are_counted_and_gauged_as_npd_does() {
    let agent = Plan::default().start();
    agent.kmsg().write(OOPS);
    agent.kmsg().write(OOPS);
    agent.wait_condition("KernelUnhealthy", "True");
    until("two are counted", || agent.metrics().contains("problem_counter{reason=\"KernelOops\"} 2\n").then_some(()));
    let metrics = agent.metrics();
    let has = |line: &str| assert!(metrics.lines().any(|one| one == line), "no {line} in:\n{metrics}");
    has("problem_gauge{reason=\"KernelOops\",type=\"KernelUnhealthy\"} 1");
    has("nodewell_records_total{monitor=\"kernel-monitor\"} 2");
    assert_eq!(agent.nodewell(&["clear", "KernelUnhealthy"]).code, 0);
    let gone = "problem_gauge{reason=\"KernelOops\",type=\"KernelUnhealthy\"} 0\n";
    until("the gauge falls", || agent.metrics().contains(gone).then_some(()));
}
