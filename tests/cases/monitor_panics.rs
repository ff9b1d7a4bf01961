//! A monitor that panics: its conditions are Unknown until it is back, and no line is lost in silence or reported
//! twice.

use nodewell_model::view::DaemonState;
use nodewell_tests::{
    agent::{Agent, Plan},
    suite::Suite,
    wait::until,
};

use crate::lines::{LINE_RULE, TEST_RULES};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("monitor_panics")
        .case("its_conditions_are_unknown_and_come_back", its_conditions_are_unknown_and_come_back)
        .case("nothing_is_lost_in_silence_or_reported_twice", nothing_is_lost_in_silence_or_reported_twice);
}

/// Panics at the points in `orders`: see `runtime/panics.rs` of the agent.
fn start(orders: &str) -> Agent {
    let wrapper = ["env".into(), format!("NODEWELL_PANIC_AT={orders}").into()];
    Plan::default().rules(&format!("{TEST_RULES}{LINE_RULE}")).wrapped_in(wrapper.to_vec()).start()
}

fn reported(agent: &Agent) -> Vec<(String, u64)> {
    let events = agent.events("TestLine").into_iter();
    events.map(|event| (event.subject.unwrap_or_default(), event.count)).collect()
}

/// It fails to start again twice, so that for seven seconds no monitor looks.
fn its_conditions_are_unknown_and_come_back() {
    let agent = start("monitor.judge:2,monitor.start:2-3");
    agent.kmsg().write("test: fault on alpha");
    let raised = agent.wait_condition("TestUnhealthy", "True");
    agent.kmsg().write("test: end on alpha");
    until("its death is seen", || agent.daemon("kernel-monitor").filter(|daemon| daemon.state == DaemonState::Dead));
    // Its claim stands, unconfirmed: the line that would have ended it made it panic.
    let held = agent.wait_condition("TestUnhealthy", "True");
    assert_eq!(held.transition, raised.transition);
    assert!(held.problems[0].unconfirmed_since.is_some(), "{held:?}");
    until("it is back", || agent.daemon("kernel-monitor").filter(|daemon| daemon.state == DaemonState::Running));
    agent.kmsg().write("test: end on alpha");
    agent.wait_condition("TestUnhealthy", "False");
}

fn nothing_is_lost_in_silence_or_reported_twice() {
    let agent = start("monitor.judge:3,monitor.start:2-3");
    let healthy = agent.wait_condition("TestUnhealthy", "False");
    ["a", "b", "c", "d"].iter().for_each(|line| agent.kmsg().write(&format!("test: line {line}")));
    let unknown = agent.wait_condition("TestUnhealthy", "Unknown");
    assert_eq!(unknown.reason.as_str(), "MonitorDied");
    agent.kmsg().write("test: line e");
    let back = agent.wait_condition("TestUnhealthy", "False");
    assert_eq!(back.reason, healthy.reason);
    let last = || reported(&agent).iter().any(|(subject, _)| subject == "e");
    until("the last line is reported", || last().then_some(()));
    let expected = ["a", "b", "d", "e"].map(|line| (line.to_owned(), 1));
    assert_eq!(reported(&agent), expected);
    let lost = agent.events("RecordsLost");
    assert_eq!((lost.len(), lost[0].count, lost[0].source.as_str()), (1, 1, "kernel-monitor"));
    assert!(lost[0].message.contains("panicked on a record"), "{lost:?}");
}
