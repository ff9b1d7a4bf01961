//! SIGHUP takes new rules as a whole or not at all.

use nodewell_tests::{agent::Plan, suite::Suite, wait::until};

use crate::lines::{QUIET_RULES, TEST_RULES};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("sighup_reload")
        .case("good_rules_are_taken_and_problems_stay", good_rules_are_taken_and_problems_stay)
        .case("errors_leave_the_old_rules_in_force", errors_leave_the_old_rules_in_force);
}

fn good_rules_are_taken_and_problems_stay() {
    let agent = Plan::default().rules(TEST_RULES).start();
    agent.kmsg().write("test: fault on alpha");
    let before = agent.wait_condition("TestUnhealthy", "True");
    agent.plan().file("rules/more.toml", QUIET_RULES);
    agent.reload();
    agent.wait_condition("TestNoisy", "False");
    agent.kmsg().write("test: noise");
    agent.wait_condition("TestNoisy", "True");
    assert_eq!(agent.wait_condition("TestUnhealthy", "True").transition, before.transition);
}

fn errors_leave_the_old_rules_in_force() {
    let agent = Plan::default().rules(TEST_RULES).start();
    let file = agent.plan().file("rules/more.toml", &QUIET_RULES.replace("warn", "loud"));
    agent.reload();
    let place = format!("{}:", file.display());
    until("the error is reported with its line", || agent.log().contains(&place).then_some(()));
    agent.kmsg().write("test: fault on alpha");
    agent.wait_condition("TestUnhealthy", "True");
    assert!(agent.condition("TestNoisy").is_none());
}
