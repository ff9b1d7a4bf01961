//! Ten thousand things happen in one second: each is counted once on the server, and another kind is not held up.

use std::{fmt::Write as _, time::Duration};

use nodewell_tests::{
    cluster::Cluster,
    suite::Suite,
    wait::{until, until_within},
};
use serde_json::Value;

use crate::{
    api_conditions::plan_on,
    api_events::wait_events,
    lines::{STALL, TEST_RULES},
};

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("events_10000").on_double("in_a_second_are_counted_exactly", in_a_second_are_counted_exactly);
}

const LINES: u64 = 10_000;
const SUBJECTS: u64 = 10;
/// The limits on Events let one subject write once a minute after its first five.
const COUNTING: Duration = Duration::from_secs(100);

const RULES: &str = r#"
[[rule]]
reason = "TestStorm"
type = "temporary"
source = "kmsg"
severity = "warn"
pattern = '^test: storm on (?P<subject>\w+)'
matches = [{ text = "test: storm on a", subject = "a" }]
ignores = ["a test: storm on a"]

[[rule]]
reason = "RCUStall"
type = "temporary"
source = "kmsg"
severity = "warn"
pattern = '^rcu: INFO: rcu_\w+ self-detected stall on CPU'
matches = ["rcu: INFO: rcu_preempt self-detected stall on CPU"]
ignores = ["rcu: INFO"]
"#;

/// By subject.
fn counts(events: &[Value]) -> Vec<u64> {
    let mut counts = vec![0; usize::try_from(SUBJECTS).unwrap()];
    for event in events {
        let message = event["message"].as_str().unwrap();
        let subject = message.rsplit("unit").next().and_then(|digits| digits.trim().parse::<usize>().ok()).unwrap();
        counts[subject] += event["count"].as_u64().unwrap();
    }
    counts
}

fn in_a_second_are_counted_exactly(cluster: &Cluster) {
    let node = "stormy";
    let agent = plan_on(cluster, node).rules(&format!("{TEST_RULES}{RULES}")).start();
    // One write: the agent finds all at once.
    let mut storm = String::new();
    for number in 1..=LINES {
        let time = 1_000_000 + number * 100;
        writeln!(storm, "3,{number},{time},-;test: storm on unit{}", number % SUBJECTS).unwrap();
    }
    agent.kmsg().raw(storm.as_bytes());
    agent.kmsg().lose(LINES);
    agent.kmsg().write(STALL);
    wait_events(cluster, node, "RCUStall");
    let total = || counts(&cluster.events(node, "TestStorm")).iter().sum::<u64>();
    until("the agent counted them", || {
        let sum: u64 = agent.events("TestStorm").iter().map(|event| event.count).sum();
        (sum == LINES).then_some(())
    });
    until_within(COUNTING, "all are counted on the server", || (total() >= LINES).then_some(()));
    let each = usize::try_from(SUBJECTS).unwrap();
    assert_eq!(counts(&cluster.events(node, "TestStorm")), vec![LINES / SUBJECTS; each]);
    assert!(agent.events("RecordsLost").is_empty());
}
