//! Clocks that jump: a person sets the wall clock, or the machine was suspended. What is true stays true, deadlines go
//! by the boot clock, and every line is reported once, with the time that people saw.

use jiff::{SignedDuration, Timestamp};
use nodewell_model::view::DaemonState;
use nodewell_tests::{
    agent::Agent,
    clock::Clocks,
    cluster::Cluster,
    suite::{Need, Suite},
    wait::{stable, until, until_within},
};
use serde_json::{Value, json};

use crate::{
    api_conditions::{plan_on, same_second, wait_published},
    lines::{LINE_RULE, QUIET_RULES, TEST_RULES},
    report_api::RAID_RULE,
};

pub(crate) fn list(suite: &mut Suite) {
    let needs = &[Need::ShiftedClock];
    suite
        .behaviour("clock_jumps")
        .case_with(needs, "the_wall_clock_may_go_anywhere", the_wall_clock_may_go_anywhere)
        .case_with(needs, "a_suspend_makes_no_monitor_late", a_suspend_makes_no_monitor_late)
        .case_with(needs, "heartbeats_go_on_after_a_day_back", heartbeats_go_on_after_a_day_back);
}

const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;

fn start(cluster: &Cluster, node: &str, clocks: &Clocks, config: &str) -> Agent {
    let rules = format!("{TEST_RULES}{QUIET_RULES}{LINE_RULE}{RAID_RULE}");
    plan_on(cluster, node).rules(&rules).config(config).wrapped_in(clocks.enter()).start()
}

/// What the agent's wall clock shows.
fn shown(shift_secs: i64) -> Timestamp {
    Timestamp::now() + SignedDuration::from_secs(shift_secs)
}

fn is_near(time: Timestamp, expected: Timestamp) {
    let off = time.duration_since(expected).abs();
    assert!(off < SignedDuration::from_mins(2), "{time} is not {expected}");
}

/// Writes a line under the shifted clock and looks at what became of it.
fn one_line(agent: &Agent, subject: &str, shift: i64) {
    agent.kmsg().write(&format!("test: line {subject}"));
    let event_seen = until("the line is reported", || {
        agent.events("TestLine").into_iter().find(|event| event.subject.as_deref() == Some(subject))
    });
    is_near(event_seen.timestamp, shown(shift));
}

fn the_wall_clock_may_go_anywhere() {
    let (cluster, clocks, node) = (Cluster::double(), Clocks::right(), "jumping");
    let agent = start(&cluster, node, &clocks, "");
    agent.kmsg().write("test: fault on alpha");
    let raised = agent.wait_condition("TestUnhealthy", "True");
    let body = json!([{"source": "raid", "ttl": 600, "conditions":
        [{"type": "RaidProblem", "status": "False", "transition": "2026-11-21T02:00:00Z",
          "reason": "RaidIsHealthy", "message": "fine"}]}]);
    let answer = agent.post("/v1/status", &body.to_string());
    assert!(answer.status.is_success(), "{}", answer.body);
    let jumps = [("one", HOUR), ("two", -HOUR), ("three", DAY), ("four", -DAY), ("five", 0)];
    for (subject, shift) in jumps {
        clocks.shift(shift, 0);
        one_line(&agent, subject, shift);
        // Raised under the new clock, it is over after its second of quiet: not at once, and not never.
        agent.kmsg().write("test: noise");
        agent.wait_condition("TestNoisy", "True");
        agent.wait_condition("TestNoisy", "False");
    }
    let held = agent.wait_condition("TestUnhealthy", "True");
    assert_eq!((held.transition, held.problems[0].count), (raised.transition, 1));
    let raid = agent.view().daemons.into_iter().find(|daemon| daemon.name.starts_with("raid@")).unwrap();
    assert_eq!(raid.state, DaemonState::Running, "ten minutes have not passed: {raid:?}");
    let event_seen: Vec<_> =
        agent.events("TestLine").into_iter().map(|event| (event.subject.unwrap(), event.count)).collect();
    assert_eq!(event_seen, jumps.map(|(subject, _)| (subject.to_owned(), 1)));
    let count = || cluster.events(node, "TestLine").iter().map(|event| event["count"].as_u64().unwrap()).sum::<u64>();
    until("all are in the API", || (count() >= 5).then_some(()));
    assert_eq!(stable("the Events rest", count), 5);
    same_second(&wait_published(&cluster, node, "TestUnhealthy", "True")["lastTransitionTime"], raised.transition);
}

/// Timers stop in suspend; the first thing that happens after it catches up.
fn a_suspend_makes_no_monitor_late() {
    let (cluster, clocks, node) = (Cluster::double(), Clocks::right(), "suspended");
    let agent = start(&cluster, node, &clocks, "");
    for (source, ttl, condition) in [("raid", 600, "RaidProblem"), ("test", 1, "TestUnhealthy")] {
        let report = json!({"type": condition, "status": "False", "transition": "2026-11-21T02:00:00Z",
            "reason": "AllIsWell", "message": "fine"});
        let answer =
            agent.post("/v1/status", &json!({"source": source, "ttl": ttl, "conditions": [report]}).to_string());
        assert!(answer.status.is_success(), "{}", answer.body);
    }
    // An hour asleep: the wall clock has gone on as well.
    clocks.shift(HOUR, HOUR);
    one_line(&agent, "awake", HOUR);
    // No daemon could report meanwhile: each has its ttl once more, and no longer.
    let unknown = agent.wait_condition("TestUnhealthy", "Unknown");
    assert_eq!(unknown.reason.as_str(), "MonitorStale");
    assert_eq!(agent.condition("RaidProblem").unwrap().status.as_str(), "False");
}

fn heartbeats_go_on_after_a_day_back() {
    let (cluster, clocks, node) = (Cluster::double(), Clocks::right(), "beating");
    let agent = start(&cluster, node, &clocks, "[apiserver]\nheartbeat = \"10s\"\n");
    agent.wait_condition("TestUnhealthy", "False");
    wait_published(&cluster, node, "TestUnhealthy", "False");
    for shift in [-DAY, DAY] {
        clocks.shift(shift, 0);
        let beat = |event_seen: &Value| {
            event_seen["lastHeartbeatTime"].as_str().and_then(|time| time.parse::<Timestamp>().ok())
        };
        let is_new = |time: &Timestamp| time.duration_since(shown(shift)).abs() < SignedDuration::from_mins(5);
        let patience = std::time::Duration::from_secs(60);
        until_within(patience, "a heartbeat by the new clock", || {
            cluster.condition(node, "TestUnhealthy").as_ref().and_then(beat).filter(is_new)
        });
    }
}
