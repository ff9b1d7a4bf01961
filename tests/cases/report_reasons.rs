//! Several faults of one thing: each is a problem of its own, through restarts of the agent and of the daemon.

use std::time::Duration;

use jiff::Timestamp;
use nodewell_client::{Client, Reporter, ReporterSettings};
use nodewell_model::{Condition, ConditionStatus, Name, Severity};
use nodewell_tests::{
    agent::Agent,
    cluster::Cluster,
    runtime::block_on,
    suite::Suite,
    wait::{PATIENCE, until},
};
use serde_json::{Value, json};

use crate::{
    api_conditions::plan_on,
    report_api::{RAID_RULE, agent, raid},
};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("report_reasons")
        .case("two_faults_of_one_array_begin_and_end_apart", two_faults_of_one_array_begin_and_end_apart)
        .case("a_report_that_contradicts_itself_is_refused", a_report_that_contradicts_itself_is_refused)
        .case("a_killed_agent_knows_every_reason_again", a_killed_agent_knows_every_reason_again)
        .case("other_figures_are_shown_and_cost_no_write", other_figures_are_shown_and_cost_no_write)
        .on_double("other_figures_do_not_write_the_node", other_figures_do_not_write_the_node)
        .case("what_is_forgotten_is_not_published", what_is_forgotten_is_not_published)
        .case("a_daemon_that_restarts_takes_nothing_back", a_daemon_that_restarts_takes_nothing_back);
}

fn fault(reason: &str, message: &str) -> Value {
    let mut fault = raid("True", "md0");
    (fault["reason"], fault["message"]) = (json!(reason), json!(message));
    fault
}

fn post(agent: &Agent, conditions: &[Value]) -> (u16, Value) {
    let body = json!({"source": "raid-monitor", "conditions": conditions});
    let answer = agent.post("/v1/status", &body.to_string());
    (answer.code(), answer.json())
}

fn report(agent: &Agent, conditions: &[Value]) {
    let (code, answer) = post(agent, conditions);
    assert_eq!(code, 200, "{answer}");
}

/// Reason and count of each problem, worst and oldest first.
fn problems(agent: &Agent) -> Vec<(String, u64)> {
    let view = agent.condition("RaidProblem");
    let problems = view.map(|view| view.problems).unwrap_or_default();
    problems.into_iter().map(|problem| (problem.reason.to_string(), problem.count)).collect()
}

fn two_faults_of_one_array_begin_and_end_apart() {
    let agent = agent();
    let slow = fault("RaidSlow", "md0 resyncs");
    report(&agent, &[fault("RaidDegraded", "md0 lost a disk"), slow.clone()]);
    assert_eq!(problems(&agent), [("RaidDegraded".to_owned(), 1), ("RaidSlow".to_owned(), 1)]);
    let view = agent.condition("RaidProblem").unwrap();
    assert_eq!(view.message, "md0 lost a disk; also RaidSlow md0");
    let ids: Vec<String> = view.problems.into_iter().map(|problem| problem.id).collect();
    assert_ne!(ids[0], ids[1]);
    report(&agent, std::slice::from_ref(&slow));
    assert_eq!(problems(&agent), [("RaidSlow".to_owned(), 1)]);
    let ended = agent.wait_event("ProblemEnded");
    assert_eq!(ended.message, "RaidDegraded on md0 is over: its daemon no longer reports it");
    report(&agent, &[raid("False", "md0")]);
    assert_eq!(agent.condition("RaidProblem").unwrap().status.as_str(), "False");
    let starts = [agent.events("RaidDegraded").len(), agent.events("RaidSlow").len()];
    assert_eq!((starts, agent.events("RaidIsHealthy").len()), ([1, 1], 1));
}

fn a_report_that_contradicts_itself_is_refused() {
    let agent = agent();
    let first = fault("RaidDegraded", "m");
    for (second, words) in [
        (fault("RaidDegraded", "n"), "`conditions[0]` and the same reason; send each reason once"),
        (raid("False", "md0"), "send one status for each, or several that are True"),
        (raid("Unknown", "md0"), "send one status for each, or several that are True"),
    ] {
        let (code, answer) = post(&agent, &[first.clone(), second]);
        let error = answer["error"].as_str().unwrap();
        assert!(code == 400 && error.starts_with("field `conditions[1]`") && error.contains(words), "{code} {error}");
    }
    assert!(agent.condition("RaidProblem").is_none());
}

fn a_killed_agent_knows_every_reason_again() {
    let mut agent = agent();
    let (degraded, slow) = (fault("RaidDegraded", "md0 lost a disk"), fault("RaidSlow", "md0 resyncs"));
    report(&agent, &[degraded.clone(), slow.clone()]);
    agent.restart();
    let both = [("RaidDegraded".to_owned(), 1), ("RaidSlow".to_owned(), 1)];
    assert_eq!(problems(&agent), both);
    report(&agent, &[degraded, slow.clone()]);
    assert_eq!(problems(&agent), both, "known again, not claimed again");
    report(&agent, &[slow]);
    assert_eq!(problems(&agent), both[1..]);
}

/// What the store has written in all.
fn rows_written(agent: &Agent) -> String {
    let metrics = agent.metrics();
    metrics.lines().find(|line| line.starts_with("nodewell_store_rows_total ")).unwrap().to_owned()
}

fn other_figures_are_shown_and_cost_no_write() {
    let agent = agent();
    let hot = |celsius: u32| fault("RaidHot", &format!("{celsius} degrees"));
    let message = || agent.condition("RaidProblem").unwrap().message;
    report(&agent, &[hot(80)]);
    let before = rows_written(&agent);
    for celsius in 0..50 {
        report(&agent, &[hot(celsius)]);
        assert_eq!(message(), format!("md0: {celsius} degrees"));
    }
    assert_eq!(rows_written(&agent), before);
    report(&agent, &[fault("RaidHot", "on fire")]);
    assert_ne!(rows_written(&agent), before, "other words are saved: answered 200");
}

/// Writes of the Node's status so far.
fn node_writes(agent: &Agent) -> u64 {
    let metrics = agent.metrics();
    let written = "nodewell_apiserver_requests_total{request=\"patch-node-status\",code=\"200\"} ";
    metrics.lines().find_map(|line| line.strip_prefix(written)).unwrap().parse().unwrap()
}

fn other_figures_do_not_write_the_node(cluster: &Cluster) {
    let node = "figures";
    let plan = plan_on(cluster, node).config("[socket]\nrate = 10000\n");
    plan.file("rules.d/raid.toml", RAID_RULE);
    let agent = plan.start();
    let published = |message: &str| {
        let condition = || cluster.condition(node, "RaidProblem").filter(|reported| reported["message"] == message);
        until(&format!("the Node shows {message:?}"), condition)
    };
    let hot = |celsius: u32| fault("RaidHot", &format!("{celsius} degrees"));
    report(&agent, &[hot(80)]);
    published("md0: 80 degrees");
    // Events are delivered behind the write, whose answer is counted then.
    let event = json!({"severity": "info", "timestamp": Timestamp::now(), "reason": "RaidFirst", "message": "m"});
    let body = json!({"source": "raid-monitor", "events": [event]}).to_string();
    assert_eq!(agent.post("/v1/status", &body).code(), 200);
    until("the first event is delivered", || (!cluster.events(node, "RaidFirst").is_empty()).then_some(()));
    let before = node_writes(&agent);
    for celsius in 81..100 {
        report(&agent, &[hot(celsius)]);
        let event = json!({"severity": "info", "timestamp": Timestamp::now(), "reason": "RaidSeen", "message": "m"});
        assert_eq!(
            agent.post("/v1/status", &json!({"source": "raid-monitor", "events": [event]}).to_string()).status,
            200
        );
    }
    // Events are delivered behind them.
    until("an event is delivered", || (!cluster.events(node, "RaidSeen").is_empty()).then_some(()));
    report(&agent, &[fault("RaidHot", "on fire")]);
    published("md0: on fire");
    // The server has it before its answer is counted.
    let counted = || Some(node_writes(&agent)).filter(|writes| *writes > before);
    assert_eq!(until("the write is counted", counted), before + 1);
}

fn settings() -> ReporterSettings {
    ReporterSettings { batch_for: Duration::from_millis(1), ..ReporterSettings::new("raid-monitor") }
}

fn start(agent: &Agent, settings: ReporterSettings) -> Reporter {
    let client = Client::new(agent.socket());
    block_on(async { Reporter::start(client, settings, |lost| panic!("{lost:?}")) })
}

fn wait_answered(reporter: &Reporter) {
    block_on(async { tokio::time::timeout(PATIENCE, reporter.flushed()).await.expect("answered in time") });
}

fn broken(reason: &'static str) -> Condition {
    Condition {
        condition: Name::fixed("RaidProblem"),
        status: ConditionStatus::True,
        transition: "2026-11-21T02:00:00Z".parse().unwrap(),
        reason: Name::fixed(reason),
        message: "md0 is not well".to_owned(),
        subject: Some("md0".to_owned()),
        severity: Some(Severity::Error),
        action: None,
    }
}

fn set_all(reporter: &Reporter, reasons: &[&'static str]) {
    let faults = reasons.iter().map(|reason| broken(reason)).collect();
    reporter.set_all(Name::fixed("RaidProblem"), Some("md0".to_owned()), faults);
    wait_answered(reporter);
}

fn what_is_forgotten_is_not_published() {
    let agent = agent();
    let reporter = start(&agent, settings());
    set_all(&reporter, &["RaidDegraded", "RaidSlow"]);
    assert_eq!(problems(&agent).len(), 2);
    let healthy =
        Condition { status: ConditionStatus::False, subject: Some("md1".to_owned()), ..broken("RaidIsHealthy") };
    reporter.set(healthy);
    reporter.forget(Name::fixed("RaidProblem"), Some("md0".to_owned()));
    wait_answered(&reporter);
    assert_eq!(agent.condition("RaidProblem").unwrap().status.as_str(), "False", "md1 is still looked after");
    reporter.forget(Name::fixed("RaidProblem"), Some("md1".to_owned()));
    wait_answered(&reporter);
    assert!(agent.condition("RaidProblem").is_none(), "arrays that are not there are not well, either");
    assert!(agent.view().daemons.iter().any(|daemon| daemon.name.starts_with("raid-monitor@")));
}

fn a_daemon_that_restarts_takes_nothing_back() {
    let agent = agent();
    let first = start(&agent, settings());
    set_all(&first, &["RaidDegraded", "RaidSlow"]);
    drop(first);
    let second = start(&agent, ReporterSettings { first_report_is_complete: false, ..settings() });
    // A report of its own first: a report of the second one has been taken.
    second.hardware(vec![]);
    wait_answered(&second);
    assert_eq!(problems(&agent).len(), 2, "it has not looked yet");
    set_all(&second, &["RaidSlow"]);
    assert_eq!(problems(&agent), [("RaidSlow".to_owned(), 1)]);
    second.forget(Name::fixed("RaidProblem"), Some("md0".to_owned()));
    second.all_reported();
    wait_answered(&second);
    until("nothing of the first one is left", || agent.condition("RaidProblem").is_none().then_some(()));
}
