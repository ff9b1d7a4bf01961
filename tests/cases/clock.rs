//! The clock: one that nothing synchronizes any more, one that a person sets. The check process goes by clocks of its
//! own.

use std::path::Path;

use nodewell_tests::{
    agent::{Agent, Plan},
    check_process::CheckProcess,
    clock::Clocks,
    suite::{Need, Suite},
};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("clock")
        .case("on_this_machine_nothing_is_wrong", on_this_machine_nothing_is_wrong)
        .case_with(
            &[Need::ShiftedClock],
            "one_that_was_saved_is_missed_and_comes_back",
            one_that_was_saved_is_missed_and_comes_back,
        )
        .case_with(
            &[Need::ShiftedClock],
            "a_step_is_reported_and_a_suspend_is_none",
            a_step_is_reported_and_a_suspend_is_none,
        );
}

/// The kernel's maximum error of a clock that nothing synchronizes.
const UNKEPT_MICROS: i64 = 16_000_000;

fn started(agent: &Agent, clocks: &Clocks) -> CheckProcess {
    let run = agent.plan().folder().join("run");
    let flags = [("--interval", Path::new("500ms")), ("--run", run.as_path())];
    CheckProcess::wrapped(clocks.enter(), agent.plan(), "check", &flags)
}

fn on_this_machine_nothing_is_wrong() {
    let agent = Plan::default().start();
    let _check_process = CheckProcess::of(agent.plan(), "check", &[("--interval", Path::new("500ms"))]);
    agent.wait_condition("ClockUnhealthy", "False");
    assert_eq!(agent.events("ClockStepped"), []);
}

fn one_that_was_saved_is_missed_and_comes_back() {
    let clocks = Clocks::right();
    clocks.may_be_off(UNKEPT_MICROS);
    let agent = Plan::default().config("[clock]\nunsynchronised-after = \"1s\"\n").start();
    let _check_process = started(&agent, &clocks);
    agent.wait_condition("ClockUnhealthy", "False");
    // A time daemon that never finds a server.
    agent.plan().file("run/systemd/timesync/x", "");
    let lost = agent.wait_condition("ClockUnhealthy", "True");
    assert_eq!(lost.reason.as_str(), "ClockNotSynchronised");
    assert!(lost.message.contains("systemd-timesyncd runs, but has found no time source"), "{}", lost.message);
    clocks.may_be_off(1000);
    agent.wait_condition("ClockUnhealthy", "False");
    clocks.may_be_off(UNKEPT_MICROS);
    let lost = agent.wait_condition("ClockUnhealthy", "True");
    assert!(lost.message.contains("has lost its time sources"), "{}", lost.message);
    clocks.may_be_off(1000);
    agent.wait_condition("ClockUnhealthy", "False");
}

fn a_step_is_reported_and_a_suspend_is_none() {
    let clocks = Clocks::right();
    // An hour after the start of the machine.
    clocks.shift(0, 3600);
    let agent = Plan::default().start();
    let _check_process = started(&agent, &clocks);
    agent.wait_condition("ClockUnhealthy", "False");
    clocks.shift(7200, 3600 + 7200);
    clocks.shift(3600, 3600 + 7200);
    let stepped = agent.wait_event("ClockStepped");
    assert!(stepped.message.contains("the wall clock stepped 3600.0 s back"), "{}", stepped.message);
    assert_eq!(agent.events("ClockStepped").len(), 1);
}
