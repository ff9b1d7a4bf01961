//! `[kmsg] lookback`: which lines from before its start the agent reports. What lasts is read however old it is.

use std::{
    process,
    time::{Duration, Instant},
};

use nodewell_tests::{
    agent::{Agent, Plan},
    kmsg::RealKmsg,
    suite::{Need, Suite},
    wait::until,
};

use crate::lines::{LINE_RULE, TEST_RULES};

/// The kernel's log has a clock that NTP does not steer: after days it is a second off, in either direction.
const CLOCKS_APART: Duration = Duration::from_secs(3);

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("kmsg_lookback")
        .case_with(&[Need::KernelLog], "none_is_no_event_from_before", none_is_no_event_from_before)
        .case_with(&[Need::KernelLog], "five_minutes_are_the_events_of_these", five_minutes_are_the_events_of_these);
}

/// Both ways to write it, the second as Node Problem Detector does.
fn none_is_no_event_from_before() {
    for (n, lookback) in ["0", "0s"].into_iter().enumerate() {
        assert!(!reports_events_from_before(&format!("none{n}"), lookback), "{lookback:?}");
    }
}

fn five_minutes_are_the_events_of_these() {
    assert!(reports_events_from_before("some", "5m"));
}

/// Whether an event from before its first start is reported. What was written while it was away is news in any case.
fn reports_events_from_before(name: &str, lookback: &str) -> bool {
    let kmsg = RealKmsg::take();
    // The log has what earlier runs wrote.
    let called = |when: &str| format!("{name}{when}{}", process::id());
    let write = |what: &str, when: &str| _ = kmsg.write_numbered(&format!("test: {what} {}", called(when)));
    let config = format!("[kmsg]\nfacilities = [0, 1]\nlookback = {lookback:?}\n");
    write("line", "before");
    write("fault on", "before");
    pass();
    let rules = TEST_RULES.to_owned() + LINE_RULE;
    let mut agent = Plan::default().kernel_log("/dev/kmsg").config(&config).rules(&rules).start();
    pass();
    let mut reported = Vec::new();
    for (before, after) in [("before", "up"), ("down", "again")] {
        wait_held(&agent, &called(before));
        write("line", after);
        // Lines are judged in their order: what is reported of those before it has been by now.
        until(&format!("the line {after} is an event"), || has_event(&agent, &called(after)).then_some(()));
        reported.push(has_event(&agent, &called(before)));
        if before == "before" {
            agent.stop();
            write("line", "down");
            write("fault on", "down");
            agent.restart();
        }
    }
    assert!(reported[1], "what was written while it was away is news: {reported:?}");
    reported[0]
}

fn pass() {
    let begun = Instant::now();
    until("what follows is later by either clock", || (begun.elapsed() > CLOCKS_APART).then_some(()));
}

fn wait_held(agent: &Agent, subject: &str) {
    until(&format!("{subject} holds the condition"), || {
        let problems = agent.condition("TestUnhealthy")?.problems;
        problems.iter().any(|problem| problem.subject.as_deref() == Some(subject)).then_some(())
    });
}

fn has_event(agent: &Agent, subject: &str) -> bool {
    agent.events("TestLine").iter().any(|event| event.subject.as_deref() == Some(subject))
}
