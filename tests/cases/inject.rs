//! `nodewell inject` goes the real way through this machine's kernel log, and no other writer can.

use nodewell_tests::{
    agent::{Agent, Plan},
    kmsg::RealKmsg,
    suite::{Need, Suite},
};

use crate::lines::OOPS;

pub(crate) fn list(suite: &mut Suite) {
    let needs = &[Need::KernelLog];
    suite
        .behaviour("inject")
        .case_with(needs, "a_test_problem_goes_the_whole_way", a_test_problem_goes_the_whole_way)
        .case_with(needs, "the_same_again_is_counted", the_same_again_is_counted)
        .case_with(needs, "a_forged_record_is_nothing", a_forged_record_is_nothing);
}

fn on_the_real_log() -> Agent {
    let agent = Plan::default().kernel_log("/dev/kmsg").start();
    agent.wait_condition("KernelUnhealthy", "False");
    agent
}

fn a_test_problem_goes_the_whole_way() {
    let _turn = RealKmsg::take();
    let agent = on_the_real_log();
    let outcome = agent.nodewell(&["inject", "KernelOops"]);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert!(outcome.stdout.contains("/dev/kmsg") && outcome.stdout.contains("KernelUnhealthy"), "{outcome:?}");
    let condition = agent.wait_condition("KernelUnhealthy", "True");
    assert!(condition.problems.iter().all(|problem| problem.test), "{condition:?}");
    assert!(agent.wait_event("KernelOops").test);
}

/// The problem stands for a minute: the second record is counted, and makes no event.
fn the_same_again_is_counted() {
    let _turn = RealKmsg::take();
    let agent = on_the_real_log();
    for _ in 0..2 {
        let outcome = agent.nodewell(&["inject", "KernelOops"]);
        assert_eq!(outcome.code, 0, "{outcome:?}");
    }
    let condition = agent.wait_condition("KernelUnhealthy", "True");
    assert_eq!(condition.problems.iter().map(|problem| problem.count).collect::<Vec<_>>(), [2]);
    assert_eq!(agent.events("KernelOops").len(), 1);
}

fn a_forged_record_is_nothing() {
    let kmsg = RealKmsg::take();
    let agent = on_the_real_log();
    kmsg.write(OOPS);
    kmsg.write(&format!("nodewell-inject 0123456789abcdef: {OOPS}"));
    // Behind them, something that is believed: then both were read.
    let outcome = agent.nodewell(&["inject", "RCUStall", "--no-wait"]);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    agent.wait_event("RCUStall");
    assert_eq!(agent.condition("KernelUnhealthy").unwrap().status.as_str(), "False");
    assert!(agent.events("KernelOops").is_empty());
}
