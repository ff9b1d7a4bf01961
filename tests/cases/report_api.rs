//! External daemons and `POST /v1/status`: what they report is what is shown, and silence, last reports and errors are
//! reported.

use nodewell_model::view::{DaemonState, DaemonView};
use nodewell_tests::{
    agent::{Agent, Plan},
    suite::Suite,
    wait::until,
};
use serde_json::{Value, json};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("report_api")
        .case("a_report_turns_a_condition_and_another_ends_it", a_report_turns_a_condition_and_another_ends_it)
        .case(
            "a_silent_daemon_is_stale_and_its_problem_unconfirmed",
            a_silent_daemon_is_stale_and_its_problem_unconfirmed,
        )
        .case("a_repeated_id_changes_nothing", a_repeated_id_changes_nothing)
        .case("a_full_report_replaces_and_the_last_withdraws", a_full_report_replaces_and_the_last_withdraws)
        .case("a_batch_is_taken_whole_or_not_at_all", a_batch_is_taken_whole_or_not_at_all)
        .case("a_daemon_that_does_not_know_makes_unknown", a_daemon_that_does_not_know_makes_unknown)
        .case("what_is_too_much_is_refused", what_is_too_much_is_refused);
}

pub(crate) const RAID_RULE: &str = r#"
[[condition]]
type = "RaidProblem"
healthy-reason = "RaidIsHealthy"
healthy-message = "every array is whole"
"#;

/// An agent that knows the type, and has no rate limit on reports.
pub(crate) fn agent() -> Agent {
    plan("[socket]\nrate = 10000\n").start()
}

pub(crate) fn plan(config: &str) -> Plan {
    let plan = Plan::default().config(config);
    plan.file("rules.d/raid.toml", RAID_RULE);
    plan
}

pub(crate) fn raid(status: &str, subject: &str) -> Value {
    json!({
        "type": "RaidProblem", "status": status, "transition": "2026-11-21T02:00:00Z", "reason": "RaidDegraded",
        "message": format!("{subject} lost a disk"), "subject": subject, "severity": "error",
    })
}

fn report(fields: Value) -> Value {
    let mut report = json!({"source": "raid-monitor"});
    report.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    report
}

fn post(agent: &Agent, body: &Value) -> (u16, Value) {
    let answer = agent.post("/v1/status", &body.to_string());
    (answer.code(), answer.json())
}

fn take(agent: &Agent, fields: Value) -> Value {
    let (code, answer) = post(agent, &report(fields));
    assert_eq!(code, 200, "{answer}");
    answer
}

/// Its name ends with the user that runs the tests.
fn daemon(agent: &Agent) -> Option<DaemonView> {
    agent.view().daemons.into_iter().find(|daemon| daemon.name.starts_with("raid-monitor@"))
}

fn a_report_turns_a_condition_and_another_ends_it() {
    let agent = agent();
    assert!(agent.condition("RaidProblem").is_none(), "no daemon watches it yet");
    let answer = take(&agent, json!({"conditions": [raid("True", "md0")]}));
    assert_eq!(answer["durable"], true);
    // What was answered is shown: no waiting.
    let view = agent.condition("RaidProblem").unwrap();
    assert_eq!((view.status.as_str(), view.problems.len()), ("True", 1));
    assert_eq!(view.transition.to_string(), "2026-11-21T02:00:00Z");
    assert!(view.problems[0].source.starts_with("raid-monitor@"));
    take(&agent, json!({"conditions": [raid("False", "md0")]}));
    assert_eq!(agent.condition("RaidProblem").unwrap().status.as_str(), "False");
    assert_eq!((agent.events("RaidDegraded").len(), agent.events("RaidIsHealthy").len()), (1, 1));
}

fn a_silent_daemon_is_stale_and_its_problem_unconfirmed() {
    let agent = agent();
    take(&agent, json!({"ttl": 1, "conditions": [raid("True", "md0")]}));
    take(&agent, json!({"ttl": 1}));
    assert_eq!(daemon(&agent).unwrap().state, DaemonState::Running);
    let stale = until("the daemon is stale", || daemon(&agent).filter(|daemon| daemon.state == DaemonState::Stale));
    assert!(stale.silent_since.is_some() && stale.ttl_secs == Some(1));
    let view = agent.condition("RaidProblem").unwrap();
    assert_eq!(view.status.as_str(), "True");
    assert!(view.problems[0].unconfirmed_since.is_some());
    let shown = agent.nodewell(&["status"]).stdout;
    assert!(shown.contains("unconfirmed for") && shown.contains("Daemons that report over the socket:"), "{shown}");
    take(&agent, json!({"ttl": 60, "conditions": [raid("False", "md0")]}));
    assert_eq!(agent.condition("RaidProblem").unwrap().status.as_str(), "False");
    take(&agent, json!({"ttl": 1}));
    assert_eq!(agent.wait_condition("RaidProblem", "Unknown").reason.as_str(), "MonitorStale");
}

fn a_repeated_id_changes_nothing() {
    let agent = agent();
    let event = json!({"severity": "info", "timestamp": "2026-11-21T02:00:00Z", "reason": "RaidSeen", "message": "m"});
    let first = json!({"id": "one", "events": [event], "conditions": [raid("True", "md0")]});
    take(&agent, first.clone());
    take(&agent, json!({"conditions": [raid("False", "md0")]}));
    take(&agent, first);
    assert_eq!(agent.condition("RaidProblem").unwrap().status.as_str(), "False");
    assert_eq!(agent.events("RaidSeen").len(), 1);
}

fn a_full_report_replaces_and_the_last_withdraws() {
    let agent = agent();
    take(&agent, json!({"conditions": [raid("True", "md0"), raid("True", "md1")]}));
    take(&agent, json!({"full": true, "conditions": [raid("True", "md1")]}));
    let view = agent.condition("RaidProblem").unwrap();
    assert_eq!(view.problems.iter().map(|problem| problem.subject.as_deref()).collect::<Vec<_>>(), [Some("md1")]);
    take(&agent, json!({"last": true}));
    assert!(agent.condition("RaidProblem").is_none() && daemon(&agent).is_none());
}

fn a_batch_is_taken_whole_or_not_at_all() {
    let agent = agent();
    let good = report(json!({"conditions": [raid("True", "md0")]}));
    let other_type = json!({"type": "Nope"});
    let mut bad = good.clone();
    bad["conditions"][0].as_object_mut().unwrap().extend(other_type.as_object().unwrap().clone());
    let (code, answer) = post(&agent, &json!([good, good, bad]));
    let error = answer["error"].as_str().unwrap();
    assert_eq!(code, 400);
    assert!(error.starts_with("field `[2].conditions[0].type`: condition Nope is not in the catalogue"), "{error}");
    assert!(daemon(&agent).is_none());
    assert_eq!(post(&agent, &json!([good, report(json!({}))])).0, 200);
    assert_eq!(post(&agent, &json!([])).0, 200, "an empty batch is no error");
}

fn a_daemon_that_does_not_know_makes_unknown() {
    let agent = agent();
    take(&agent, json!({"conditions": [raid("Unknown", "md0")]}));
    let view = agent.condition("RaidProblem").unwrap();
    assert_eq!((view.status.as_str(), view.reason.as_str()), ("Unknown", "RaidDegraded"));
    assert!(view.message.contains("md0 lost a disk"), "{}", view.message);
}

fn what_is_too_much_is_refused() {
    let agent = agent();
    let event = json!({"severity": "info", "timestamp": "2026-11-21T02:00:00Z", "reason": "RaidSeen", "message": "m"});
    let of_event = |count: usize| report(json!({"events": vec![event.clone(); count]}));
    let subjects = |range: std::ops::Range<usize>| {
        let conditions: Vec<Value> = range.map(|n| raid("True", &format!("md{n}"))).collect();
        report(json!({"conditions": conditions}))
    };
    assert_eq!(post(&agent, &of_event(64)).0, 200);
    assert_eq!(post(&agent, &subjects(0..200)).0, 200);
    for (body, code, words) in [
        (of_event(65), 413, "field `events` has 65 entries; send at most 64"),
        (json!(vec![report(json!({})); 65]), 413, "65 reports in one batch"),
        (json!("x".repeat(70_000)), 413, "longer than 65536 bytes"),
        (subjects(200..300), 409, "field `conditions`: raid-monitor@"),
        (json!({"source": "a b"}), 400, "field `source` takes 1 to 64 letters"),
        (json!({"source": "a", "ttl": 100_000}), 400, "field `ttl` takes 0 to 86400 seconds"),
        (json!({"source": "a", "full": "yes"}), 400, "field `full`: invalid type"),
        (json!({"source": "a", "colour": 1}), 400, "field `colour`: unknown field"),
    ] {
        let (got, answer) = post(&agent, &body);
        let error = answer["error"].as_str().unwrap();
        assert!(got == code && error.contains(words), "{code} {words}: {got} {error}");
    }
    assert_eq!(agent.condition("RaidProblem").unwrap().problems.len(), 200);
}
