//! A problem ends by evidence: its recovery line, quiet, or a person's command.

use nodewell_tests::{agent::Plan, suite::Suite, wait::until};

use crate::lines::{OOPS, QUIET_RULES, TEST_RULES};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("recovery")
        .case("a_recovery_line_ends_its_own_subject_only", a_recovery_line_ends_its_own_subject_only)
        .case("quiet_ends_rules_that_allow_it", quiet_ends_rules_that_allow_it)
        .case("clear_ends_what_nothing_else_would", clear_ends_what_nothing_else_would);
}

fn a_recovery_line_ends_its_own_subject_only() {
    let agent = Plan::default().rules(TEST_RULES).start();
    agent.kmsg().write("test: fault on alpha");
    agent.kmsg().write("test: fault on beta");
    let subjects = || {
        let problems = agent.condition("TestUnhealthy").unwrap().problems;
        let mut subjects: Vec<String> = problems.into_iter().filter_map(|problem| problem.subject).collect();
        subjects.sort();
        subjects
    };
    until("both are broken", || (subjects() == ["alpha", "beta"]).then_some(()));
    agent.kmsg().write("test: end on alpha");
    until("beta is left", || (subjects() == ["beta"]).then_some(()));
    assert_eq!(agent.condition("TestUnhealthy").unwrap().status.as_str(), "True");
    agent.kmsg().write("test: end on beta");
    let healthy = agent.wait_condition("TestUnhealthy", "False");
    assert_eq!(healthy.reason.as_str(), "TestIsHealthy");
}

fn quiet_ends_rules_that_allow_it() {
    let agent = Plan::default().rules(QUIET_RULES).start();
    agent.kmsg().write("test: noise");
    agent.wait_condition("TestNoisy", "True");
    agent.wait_condition("TestNoisy", "False");
}

fn clear_ends_what_nothing_else_would() {
    let agent = Plan::default().start();
    agent.kmsg().write(OOPS);
    agent.wait_condition("KernelUnhealthy", "True");
    let outcome = agent.nodewell(&["clear", "KernelUnhealthy"]);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    agent.wait_condition("KernelUnhealthy", "False");
}
