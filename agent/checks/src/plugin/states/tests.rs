//! The state machine against Node Problem Detector's cases, and where ours is the fixed one.

use crate::probe::{Fault, State};
use nodewell_model::Severity;
use nodewell_rules::load_text;

use super::*;
use crate::plugin::result::{RunEnd, judge};

/// The monitors of a native file.
fn native(plugins: &str) -> PluginStates {
    let text = format!("[[condition]]\ntype = 'Sick'\nhealthy-reason = 'Well'\nhealthy-message = 'fine'\n{plugins}");
    let loaded = load_text(std::path::Path::new("a.toml"), &text);
    assert_eq!(loaded.diagnostics, []);
    PluginStates::new(&loaded.set.plugins)
}

/// Node Problem Detector's file with these rules: type, reason.
fn npd(config: &str, rules: &[(&str, &str)]) -> PluginStates {
    let rule = |(kind, reason): &(&str, &str)| {
        format!("{{\"type\": \"{kind}\", \"condition\": \"Sick\", \"reason\": \"{reason}\", \"path\": \"/x\"}}")
    };
    let rules: Vec<String> = rules.iter().map(rule).collect();
    let text = format!(
        "{{\"plugin\": \"custom\", \"source\": \"s\", \"pluginConfig\": {{{config}}}, \"conditions\": [{{\"type\": \"Sick\", \
         \"reason\": \"Well\", \"message\": \"fine\"}}], \"rules\": [{}]}}",
        rules.join(",")
    );
    let loaded = load_text(std::path::Path::new("a.json"), &text);
    assert_eq!(loaded.diagnostics, []);
    PluginStates::new(&loaded.set.plugins)
}

fn now(secs: u64) -> Now {
    Now { since_start: Duration::from_secs(secs), wall: Timestamp::from_second(secs.cast_signed()).unwrap() }
}

fn plugin(name: &str, reason: &str, more: &str) -> String {
    format!("[[plugin]]\nname = '{name}'\ncommand = '/x'\nreason = '{reason}'\n{more}\n")
}

impl PluginStates {
    fn exit(&mut self, task: usize, status: i32, output: &str, secs: u64) -> RunReport {
        let protocol = nodewell_rules::plugin::Protocol::Npd;
        let result = judge(protocol, &RunEnd::Exited(status), output.as_bytes(), 80);
        self.observe(task, result, now(secs)).unwrap()
    }

    /// What is reported of the one condition after a run.
    fn result(&mut self, task: usize, status: i32, output: &str) -> String {
        self.exit(task, status, output, 0).verdict.map_or("nothing".to_owned(), |(_, verdict)| shown(&verdict.state))
    }

    /// The events of a run.
    fn reported(&mut self, status: i32, output: &str, secs: u64) -> Vec<String> {
        self.exit(0, status, output, secs)
            .events
            .iter()
            .map(|event| format!("{} {}: {}", event.severity.as_str(), event.reason, event.message))
            .collect()
    }
}

fn shown(state: &State) -> String {
    let fault = |fault: &Fault| format!("{} {}", fault.reason, fault.message);
    match state {
        State::Healthy { .. } => "healthy".to_owned(),
        State::Unknown { reason, message } => format!("unknown {reason} {message}"),
        State::Faulty(faults) => faults.iter().map(fault).collect::<Vec<_>>().join(" + "),
    }
}

#[test]
fn npd_case_12_a_permanent_rule_becomes_true_healthy_and_unknown() {
    let mut states = npd("", &[("permanent", "R")]);
    assert_eq!(states.result(0, 1, "boom"), "R boom");
    assert_eq!(states.result(0, 0, "all right"), "healthy");
    assert_eq!(
        states.result(0, 2, "cannot exec"),
        "unknown PluginSaysUnknown plug-in R: exit status 2, output: cannot exec; run it by hand with env -i PATH=$PATH"
    );
}

#[test]
fn a_problem_that_cannot_be_confirmed_is_still_claimed() {
    let mut states = npd("", &[("permanent", "R"), ("permanent", "S")]);
    states.exit(0, 1, "boom", 0);
    states.exit(1, 0, "", 0);
    assert!(states.result(0, 2, "?").starts_with("unknown PluginSaysUnknown"), "the ledger keeps what was claimed");
    assert_eq!(
        states.result(1, 1, "bang"),
        "R boom (unconfirmed: plug-in R: exit status 2, output: ?; run it by hand with env -i PATH=$PATH) + S bang"
    );
    assert_eq!(states.result(0, 0, "fine"), "S bang");
}

#[test]
fn two_rules_on_one_condition_are_two_problems() {
    let mut states = npd("", &[("permanent", "A"), ("permanent", "B")]);
    assert_eq!(states.result(0, 1, "a"), "A a");
    assert_eq!(states.result(1, 1, "b"), "A a + B b");
    assert_eq!(states.result(0, 0, "fine"), "B b");
    assert_eq!(states.result(1, 0, "also"), "healthy");
}

#[test]
fn healthy_is_reported_when_all_have_looked() {
    let mut states = npd("", &[("permanent", "A"), ("permanent", "B")]);
    assert_eq!(states.result(0, 0, "a"), "nothing");
    let report = states.exit(1, 0, "b", 0);
    assert!(report.all_reported);
    assert_eq!(shown(&report.verdict.unwrap().1.state), "healthy");
}

#[test]
fn skip_initial_status_reports_nothing_before_something_was_wrong() {
    let mut states = npd("\"skip_initial_status\": true", &[("permanent", "R")]);
    assert_eq!(states.result(0, 0, "a"), "nothing");
    assert_eq!(states.result(0, 1, "b"), "R b");
    assert_eq!(states.result(0, 0, "c"), "healthy");
}

#[test]
fn a_message_that_changes_is_shown_only_if_asked_for() {
    let flag = "\"enable_message_change_based_condition_update\": true";
    for (config, second) in [("", "R one"), (flag, "R two")] {
        let mut states = npd(config, &[("permanent", "R")]);
        assert_eq!(states.result(0, 1, "one"), "R one");
        assert_eq!(states.result(0, 1, "two"), second);
    }
}

#[test]
fn npd_case_13_a_temporary_rule_reports_edges() {
    let mut states = npd("", &[("temporary", "R")]);
    assert_eq!(states.reported(0, "fine", 0), [""; 0]);
    assert_eq!(states.reported(1, "boom", 30), ["warn R: boom"]);
    assert_eq!(states.reported(1, "boom", 60), [""; 0], "the same again is no news");
    assert_eq!(states.reported(0, "fine", 90), [""; 0]);
    assert_eq!(states.reported(1, "bang", 120), ["warn R: bang"]);
    assert_eq!(
        states.reported(2, "?", 150),
        ["warn PluginSaysUnknown: plug-in R: exit status 2, output: ?; run it by hand with env -i PATH=$PATH"],
        "not R"
    );
    assert!(states.exit(0, 0, "", 0).verdict.is_none(), "no condition moves");
}

#[test]
fn what_stays_bad_is_reported_once_an_hour() {
    let mut states = npd("", &[("temporary", "R")]);
    let reported: Vec<String> = (0..=240).flat_map(|n| states.reported(1, "boom", n * 30)).collect();
    assert_eq!(
        reported,
        ["warn R: boom", "warn R: boom (120 times more within 60 min)", "warn R: boom (120 times more within 60 min)"]
    );
}

#[test]
fn so_many_in_a_row_begin_and_end_a_problem() {
    let mut states = native(&plugin("a", "R", "condition = 'Sick'\nfailures = 3\nsuccesses = 2"));
    assert_eq!(states.result(0, 0, "fine"), "healthy");
    assert_eq!(states.result(0, 1, "1"), "healthy");
    assert_eq!(states.result(0, 0, "fine"), "healthy");
    for (status, output, result) in [
        (1, "1", "healthy"),
        (2, "?", "healthy"),
        (1, "2", "healthy"),
        (1, "3", "R 3"),
        (0, "x", "R 3"),
        (1, "4", "R 3"),
        (0, "x", "R 3"),
        (0, "y", "healthy"),
    ] {
        assert_eq!(states.result(0, status, output), result, "{status} {output}");
    }
}

#[test]
fn a_fault_before_the_count_is_reached_is_not_healthy_either() {
    let mut states = native(&plugin("a", "R", "condition = 'Sick'\nfailures = 2"));
    let report = states.exit(0, 1, "1", 0);
    assert!(report.verdict.is_none() && !report.all_reported);
    assert_eq!(states.result(0, 1, "2"), "R 2");
}

#[test]
fn a_warning_is_no_more_than_that() {
    let mut states = native(&plugin("a", "R", "condition = 'Sick'\nseverity = 'critical'\nprotocol = 'nagios'"));
    let mut severity = |status: i32| {
        let result = judge(nodewell_rules::plugin::Protocol::Nagios, &RunEnd::Exited(status), b"x", 80);
        let report = states.observe(0, result, now(0)).unwrap();
        let State::Faulty(faults) = report.verdict.unwrap().1.state else { panic!() };
        faults[0].severity
    };
    assert_eq!([severity(1), severity(2), severity(1)], [Severity::Warn, Severity::Critical, Severity::Warn]);
}

#[test]
fn subjects_are_looked_at_by_themselves() {
    let more = |subject: &str| format!("condition = 'Sick'\nsubject = '{subject}'");
    let mut states = native(&(plugin("a", "R", &more("md0")) + &plugin("b", "R", &more("md1"))));
    let mut result = |task: usize, status: i32| {
        let (number, verdict) = states.exit(task, status, "x", 0).verdict.unwrap();
        (number, verdict.subject, shown(&verdict.state))
    };
    assert_eq!(result(0, 1), (0, "md0".to_owned(), "R x".to_owned()));
    assert_eq!(result(1, 0), (1, "md1".to_owned(), "healthy".to_owned()));
}
