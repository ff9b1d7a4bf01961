//! What a detector concludes.

mod decode;
mod property;
mod start;

use std::time::Duration;

use nodewell_model::{BootId, FindingKind, RequiredProof};

use super::*;
use crate::{
    rule::{Inhibition, Proof},
    testing::*,
};

fn one(message: &str) -> Vec<String> {
    vec![message.to_owned()]
}

fn none() -> Vec<String> {
    Vec::new()
}

#[test]
fn npd_case_1_a_match_ends_at_the_end_of_the_newest_line() {
    for (pattern, expected) in
        [("a1", none()), ("b2", one("b2")), (r"\w{2}", one("b2")), (r"a1\nb2", one("a1\nb2")), ("a1b2", none())]
    {
        assert_eq!(messages(vec![npd("R", pattern, 4)], &["a1", "b2"])[1], expected, "{pattern}");
    }
}

#[test]
fn npd_case_2_lines_leave_the_buffer() {
    for (pattern, expected) in [("(?s)a1.+", none()), (r"[a-z]\d\n[a-z]\d", one("d4\ne5")), (r"[a-z]\d", one("e5"))] {
        let found = messages(vec![npd("R", pattern, 4)], &["a1", "b2", "c3", "d4", "e5"]);
        assert_eq!(found[4], expected, "{pattern}");
    }
}

#[test]
fn npd_case_3_an_alternation_never_reports_an_old_line_again() {
    let texts = ["kernel: oom-kill:constraint=CONSTRAINT_NONE", "kubelet: node ready", "Out of memory"];
    let found = messages(vec![npd("R", "oom-kill.*|Out of memory", 2)], &texts);
    assert_eq!(found, [one(texts[0]), none(), one(texts[2])]);
}

#[test]
fn npd_case_4_the_time_is_that_of_the_first_matched_line() {
    let rules = vec![lasting(npd("Test", "test message 1\ntest message 2", 10), "CondA")];
    let found = push_all(&mut detector(rules), &["test message 1", "test message 2"]);
    assert!(found[0].is_empty());
    let finding = &found[1][0];
    assert_eq!((finding.time.as_second(), finding.last_time.as_second()), (1000, 1001));
    assert_eq!(finding.message, "test message 1\ntest message 2");
    assert_eq!(finding.condition.as_ref().map(|name| name.as_str()), Some("CondA"));
}

#[test]
fn npd_case_5_the_suffix_follows_the_matched_lines() {
    let mut rule = npd("R", "First log message\nSecond log message", 10);
    rule.message_suffix = Some("refer www.foo.com/docs for playbook on how to fix the issue".to_owned());
    let found = messages(vec![rule.clone()], &["First log message", "Second log message"]);
    let expected = "First log message\nSecond log message; refer www.foo.com/docs for playbook on how to fix the issue";
    assert_eq!(found[1], one(expected));
    rule.patterns = vec!["x+".to_owned()];
    let long = &messages(vec![rule], &[&"x".repeat(5000)])[0][0];
    assert!(long.len() == 1024 && long.ends_with("the issue"));
}

#[test]
fn a_native_multi_line_rule_may_begin_at_any_record_of_its_window() {
    let mut rule = rule("R", r"^Zebra (?P<subject>\d)\n(?:.*\n)?Quail$");
    rule.lines = 3;
    let found = messages(vec![rule], &["x", "Zebra 1", "Quail", "Zebra 2", "y", "Quail", "Quail"]);
    let expected = [none(), none(), one("Zebra 1\nQuail"), none(), none(), one("Zebra 2\ny\nQuail"), none()];
    assert_eq!(found, expected);
}

#[test]
fn the_first_listed_rule_wins_for_one_reason_and_condition() {
    let rules = vec![
        rule("Disk", "^disk fire"),
        lasting(rule("Disk", "^disk"), "DiskUnhealthy"),
        rule("Disk", "^disk"),
        rule("Other", "disk"),
    ];
    let mut rules = rules;
    rules[0].severity = nodewell_model::Severity::Critical;
    let found = push_all(&mut detector(rules), &["disk fire", "disk"]);
    let found_at =
        |at: usize| found[at].iter().map(|f| (f.reason.to_string(), f.severity.as_str())).collect::<Vec<_>>();
    assert_eq!(found_at(0), [("Disk".into(), "critical"), ("Disk".into(), "warn"), ("Other".into(), "warn")]);
    assert_eq!(found_at(1), [("Disk".into(), "warn"), ("Disk".into(), "warn"), ("Other".into(), "warn")]);
}

#[test]
fn a_lasting_count_is_reached_within_its_time_and_says_when_it_ends() {
    let rules = vec![lasting(counting(rule("Storm", r"^storm (?P<subject>\w+)"), 3, 10, &["^calm"]), "Weather")];
    let mut detector = detector(rules);
    let mut at = |secs: i64, text: &str| {
        let mut out = Vec::new();
        detector.push(&record(text.as_bytes(), secs), &mut out);
        out.pop().map(|finding| (finding.subject.unwrap(), finding.count, finding.ends_after_quiet.unwrap().as_secs()))
    };
    assert_eq!(at(0, "storm a"), None);
    assert_eq!(at(1, "storm b"), None);
    assert_eq!(at(2, "storm a"), None);
    assert_eq!(at(5, "storm a"), Some(("a".into(), 3, 5)));
    assert_eq!(at(6, "storm a"), Some(("a".into(), 1, 6)));
    assert_eq!(at(30, "storm a"), None);
    assert_eq!(at(31, "storm a"), None);
    assert_eq!(at(31, "calm"), None);
    assert_eq!(at(32, "storm a"), None);
    assert_eq!(at(33, "storm a"), Some(("a".into(), 3, 7)));
}

#[test]
fn a_counting_event_is_one_for_each_threshold() {
    let found = messages(vec![counting(rule("Storm", "^storm"), 3, 60, &[])], &["storm"; 7]);
    let fired: Vec<usize> = found.iter().map(Vec::len).collect();
    assert_eq!(fired, [0, 0, 1, 0, 0, 1, 0]);
}

#[test]
fn a_clock_that_jumps_neither_fires_a_count_nor_wedges_it() {
    let mut detector = detector(vec![counting(rule("Storm", "^storm"), 3, 60, &[])]);
    let mut fired = Vec::new();
    for secs in [1_000_000, 1_000_001, 500, 501, 502, 253_000_000_000, -300_000_000_000, 400, 399, 398] {
        let mut out = Vec::new();
        detector.push(&record(b"storm", secs), &mut out);
        fired.push(out.len());
    }
    assert_eq!(fired, [0, 0, 0, 0, 1, 0, 0, 0, 0, 1]);
}

#[test]
fn a_count_goes_by_the_clock_since_boot_where_both_records_have_one() {
    let mut detector = detector(vec![counting(rule("Storm", "^storm"), 2, 60, &[])]);
    let mut push = |secs: i64, since_boot: u64| {
        let mut out = Vec::new();
        let since_boot = Some(Duration::from_secs(since_boot));
        detector.push(&Record { since_boot, ..record(b"storm", secs) }, &mut out);
        out.len()
    };
    assert_eq!([push(1_000, 10), push(900_000, 20), push(900_001, 500)], [0, 1, 0]);
}

#[test]
fn hostile_subjects_are_bounded() {
    let mut detector = detector(vec![counting(rule("Storm", r"^storm (?P<subject>\d+)"), 2, 6000, &[])]);
    let mut out = Vec::new();
    for n in 0..3000 {
        detector.push(&record(format!("storm {n}").as_bytes(), 1), &mut out);
    }
    detector.push(&record(b"storm 0", 1), &mut out);
    assert!(out.is_empty(), "the first subject was forgotten");
    detector.push(&record(b"storm 2999", 1), &mut out);
    assert_eq!(out.len(), 1);
}

fn inhibited() -> Rule {
    let patterns = |all: [&str; 2]| all.map(str::to_owned).to_vec();
    let inhibition = Inhibition {
        patterns: patterns(["^Stopping ", "^Stopped target "]),
        until: patterns(["^Starting ", "^Reached target "]),
        field: "UNIT".to_owned(),
        all: vec!["multi-user.target".to_owned()],
        window: Duration::from_secs(60),
    };
    Rule { inhibition: Some(inhibition), ..rule("Failed", r"^(?P<subject>\w): failed$") }
}

#[test]
fn what_is_being_stopped_may_fail() {
    let mut detector = detector(vec![inhibited()]);
    let mut fires = |secs: i64, unit: &str, text: &str| {
        let fields = vec![("UNIT".to_owned(), unit.as_bytes().to_vec())];
        let mut out = Vec::new();
        detector.push(&Record { fields: &fields, ..record(text.as_bytes(), secs) }, &mut out);
        out.len() == 1
    };
    assert!(fires(0, "a", "a: failed"));
    assert!(!fires(1, "a", "Stopping A"));
    assert!(!fires(2, "a", "a: failed"));
    assert!(fires(2, "b", "b: failed"), "it is another");
    assert!(!fires(3, "a", "Starting A"));
    assert!(fires(4, "a", "a: failed"), "it was started again");
    assert!(!fires(10, "a", "Stopping A") && !fires(69, "a", "a: failed"));
    assert!(fires(70, "a", "a: failed"), "no stop takes so long");
    assert!(!fires(100, "multi-user.target", "Stopped target X") && !fires(101, "b", "b: failed"));
    assert!(!fires(102, "multi-user.target", "Reached target X"));
    assert!(fires(103, "b", "b: failed"), "the system goes on");
    assert!(!fires(200, "", "Stopping A"));
    assert!(fires(201, "a", "a: failed"), "a line that names nothing shows nothing");
}

#[test]
fn a_stop_is_of_one_boot_and_no_test_is_inhibited() {
    let mut detector = detector(vec![inhibited()]);
    let fields = vec![("UNIT".to_owned(), b"a".to_vec())];
    let mut fires = |boot: &str, text: &str, test: bool| {
        let boot_id = BootId::parse(&boot.repeat(32));
        assert!(boot_id.is_some());
        let mut out = Vec::new();
        detector.push(&Record { fields: &fields, boot_id, test, ..record(text.as_bytes(), 1) }, &mut out);
        out.len() == 1
    };
    assert!(!fires("1", "Stopping A", false));
    assert!(fires("1", "a: failed", true));
    assert!(!fires("1", "a: failed", false));
    assert!(fires("2", "a: failed", false));
}

#[test]
fn an_injected_record_fires_at_once_without_guard_or_count() {
    let mut counted = lasting(counting(rule("Hung", r"task \S+:(?P<pid>\d+)"), 5, 60, &[]), "KernelDeadlock");
    counted.proof = Proof::NodePlumbing;
    let mut detector = detector(vec![counted]);
    let mut out = Vec::new();
    detector.push(&Record { test: true, ..record(b"task a:1", 1) }, &mut out);
    assert!(matches!(out.as_slice(), [finding] if finding.required_proof == RequiredProof::None && finding.test));
}

#[test]
fn a_guard_names_what_has_to_be_proven() {
    let mut hung = lasting(rule("Hung", r"^task \S+?(?::(?P<pid>\d+))? hung"), "KernelDeadlock");
    hung.proof = Proof::NodePlumbing;
    let mut ext4 = lasting(rule("Ext4", r"^EXT4-fs \((?P<subject>[^)]*)\)"), "DiskUnhealthy");
    ext4.proof = Proof::Filesystem;
    let texts = ["task a:12 hung", "task a:99999999999 hung", "task a hung", "EXT4-fs (sda1)", "EXT4-fs ()"];
    let found = push_all(&mut detector(vec![hung, ext4]), &texts);
    let required_proofs: Vec<_> = found.iter().map(|f| f.first().map(|f| f.required_proof.clone())).collect();
    let device = RequiredProof::Filesystem { device: "sda1".to_owned() };
    assert_eq!(
        required_proofs,
        [Some(RequiredProof::NodePlumbing { pid: 12 }), None, None, Some(device), Some(RequiredProof::None)]
    );
}

#[test]
fn a_recovery_clears_its_subject_once() {
    let mut up = lasting(rule("LinkDown", r"^(?P<subject>\w+): link down"), "NetworkUnhealthy");
    up.clears.patterns = vec![r"^(?P<subject>\w+): link up".to_owned(), "link up$".to_owned()];
    let found = push_all(&mut detector(vec![up]), &["eth0: link down", "eth0: link up", "up"]);
    assert_eq!(found[0][0].kind, FindingKind::Raise);
    let clears: Vec<_> = found[1].iter().map(|f| (f.kind, f.subject.as_deref())).collect();
    assert_eq!(clears, [(FindingKind::Clear, Some("eth0")), (FindingKind::Clear, None)]);
    assert!(found[2].is_empty());
}

#[test]
fn fields_are_asked_for_and_refused() {
    let mut started = rule("KubeletStart", "^Started");
    started.fields.require = vec![("_PID".into(), vec!["1".into()]), ("UNIT".into(), vec!["a".into(), "b".into()])];
    started.fields.without = vec!["CONTAINER_ID".into()];
    let mut detector = detector(vec![started]);
    let mut fires = |fields: &[(&str, &str)]| {
        let fields: Vec<_> = fields.iter().map(|(k, v)| ((*k).to_owned(), v.as_bytes().to_vec())).collect();
        let mut out = Vec::new();
        detector.push(&Record { fields: &fields, ..record(b"Started kubelet", 1) }, &mut out);
        out.len() == 1
    };
    assert!(fires(&[("_PID", "1"), ("UNIT", "b")]));
    assert!(!fires(&[("_PID", "2"), ("UNIT", "b")]));
    assert!(!fires(&[("_PID", "1")]));
    assert!(!fires(&[("_PID", "1"), ("UNIT", "b"), ("CONTAINER_ID", "x")]));
}

#[test]
fn every_bad_pattern_is_told_at_once() {
    let mut bad = rule("A", "(");
    bad.clears.patterns = vec!["[".to_owned()];
    let diagnostics = Detector::new(set_of(vec![bad, rule("B", "*")]), 0).err().unwrap();
    assert_eq!(diagnostics.len(), 3);
    assert!(diagnostics[0].to_string().starts_with("test.toml:1: pattern of A: "), "{}", diagnostics[0]);
}

#[test]
fn patterns_without_a_literal_are_named() {
    let detector = detector(vec![rule("A", r"\w+"), rule("B", "Zebra"), npd("C", r"Zebra\n.*", 5)]);
    let slow: Vec<_> = detector.slow_lane().map(|slow| (slow.rule, slow.pattern)).collect();
    assert_eq!(slow, [(0, r"\w+"), (2, r"Zebra\n.*")]);
}

#[test]
fn rules_of_other_readers_do_not_listen() {
    let rules = vec![Rule { reader: 1, ..rule("A", "Zebra") }];
    assert_eq!(messages(rules, &["Zebra"]), [none()]);
}
