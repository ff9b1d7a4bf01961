//! Raises, clears, and what a condition shows.

use super::*;
use crate::{Applied, Rejection};

/// What it is called may be another thing when the record is read again.
#[test]
fn an_event_of_a_pod_has_the_uid_that_the_record_names() {
    let mut ledger = watched();
    let required_proof = RequiredProof::Pod { uid: "u-1".to_owned() };
    let kill = Finding { condition: None, required_proof, ..raise("default/web-0", 1) };
    ledger.apply(kill, at(1)).unwrap();
    ledger.apply(Finding { condition: None, ..raise("sda", 2) }, at(2)).unwrap();
    let events = ledger.take_events();
    assert_eq!(events.iter().map(|event| event.subject_key().unwrap()).collect::<Vec<_>>(), ["u-1", "sda"]);
    assert_eq!(events[0].subject.as_deref(), Some("default/web-0"));
}

#[test]
fn a_problem_turns_its_condition_and_is_reported_once() {
    let mut ledger = watched();
    assert_eq!(ledger.apply(raise("sda", 5), at(6)), Ok(Applied::Started));
    assert_eq!(ledger.apply(raise("sda", 7), at(8)), Ok(Applied::Repeated));
    let view = disk(&mut ledger);
    assert_eq!((view.status, view.reason.as_str(), view.transition), (ConditionStatus::True, "IOError", wall(5)));
    let problem = &view.problems[0];
    assert_eq!((problem.count, problem.since, problem.last_seen), (2, wall(5), wall(7)));
    let events = ledger.take_events();
    assert_eq!(events.len(), 1);
    assert_eq!((events[0].id, events[0].time, events[0].severity), (1, wall(5), Severity::Error));
    assert_eq!(events[0].condition.as_ref().unwrap().as_str(), "DiskUnhealthy");
    assert_eq!(events[0].origin, Origin::Line { number: 7 });
}

#[test]
fn a_temporary_finding_is_an_event_only() {
    let mut ledger = watched();
    let finding = Finding { condition: None, count: 40, last_time: wall(9), ..raise("sda", 5) };
    assert_eq!(ledger.apply(finding, at(9)), Ok(Applied::Event));
    let events = ledger.take_events();
    assert_eq!((events[0].count, events[0].time, events[0].last_time), (40, wall(5), wall(9)));
    assert_eq!(status(&mut ledger), ConditionStatus::False);
    assert_eq!(ledger.counters().raised[&Name::fixed("IOError")], 40);
}

#[test]
fn clearing_one_problem_never_hides_another() {
    let mut ledger = watched();
    ledger.apply(raise("sda", 1), at(1)).unwrap();
    ledger.apply(raise("sdb", 2), at(2)).unwrap();
    assert_eq!(ledger.apply(clear("sda", 3), at(3)), Ok(Applied::Cleared(1)));
    let view = disk(&mut ledger);
    assert_eq!((view.status, view.transition, view.problems.len()), (ConditionStatus::True, wall(1), 1));
    let ended = ledger.take_events().pop().unwrap();
    assert_eq!(
        (ended.reason.as_str(), ended.message.as_str()),
        ("ProblemEnded", "IOError on sda is over: sda is back")
    );
}

#[test]
fn a_source_withdraws_only_its_own_claim() {
    let mut ledger = watched();
    ledger.apply(raise("sda", 1), at(1)).unwrap();
    ledger.apply(Finding { source: "smartd".into(), ..raise("sda", 2) }, at(2)).unwrap();
    assert_eq!(disk(&mut ledger).problems[0].source, "kernel-monitor, smartd");
    assert_eq!(ledger.apply(clear("sda", 3), at(3)), Ok(Applied::Cleared(0)));
    assert_eq!(disk(&mut ledger).problems[0].source, "smartd");
    ledger.apply(Finding { source: "smartd".into(), ..clear("sda", 4) }, at(4)).unwrap();
    assert_eq!(status(&mut ledger), ConditionStatus::False);
}

#[test]
fn a_clear_without_a_subject_takes_every_subject_of_its_reason() {
    let mut ledger = watched();
    for subject in ["sda", "sdb"] {
        ledger.apply(raise(subject, 1), at(1)).unwrap();
    }
    ledger.apply(Finding { reason: Name::fixed("IOErrorToo"), ..raise("sdc", 1) }, at(1)).unwrap();
    let all = Finding { subject: None, ..clear("", 3) };
    assert_eq!(ledger.apply(all, at(3)), Ok(Applied::Cleared(2)));
    assert_eq!(disk(&mut ledger).problems[0].reason.as_str(), "IOErrorToo");
}

#[test]
fn a_healthy_condition_says_when_and_why() {
    let mut ledger = watched();
    ledger.apply(raise("sda", 1), at(1)).unwrap();
    ledger.apply(clear("sda", 30), at(31)).unwrap();
    let view = disk(&mut ledger);
    assert_eq!(
        (view.status, view.transition, view.message.as_str()),
        (ConditionStatus::False, wall(30), "nothing is wrong")
    );
    let ended = ledger.take_events().pop().unwrap();
    assert_eq!((ended.reason.as_str(), ended.severity, ended.time), ("AllIsWell", Severity::Info, wall(30)));
}

#[test]
fn the_worst_speaks_then_the_oldest_and_names_the_others() {
    let mut ledger = watched();
    ledger.apply(raise("sdb", 3), at(3)).unwrap();
    ledger.apply(raise("sda", 2), at(3)).unwrap();
    ledger.apply(Finding { severity: Severity::Warn, ..raise("sdc", 1) }, at(3)).unwrap();
    let other = Finding { reason: Name::fixed("NVMeTimeout"), severity: Severity::Warn, ..raise("nvme0", 2) };
    ledger.apply(other, at(3)).unwrap();
    assert_eq!(disk(&mut ledger).message, "I/O error, dev sda; also sdb, sdc, NVMeTimeout nvme0");
}

#[test]
fn a_conditions_message_is_one_line_and_its_problems_keeps_its_lines() {
    let mut ledger = watched();
    let oops = Finding { message: "BUG: lab oops\n  Call Trace:\r\n\t<TASK>".to_owned(), ..raise("sda", 1) };
    ledger.apply(oops, at(1)).unwrap();
    ledger.apply(raise("sdb", 2), at(2)).unwrap();
    let condition = disk(&mut ledger);
    assert_eq!(condition.message, "sda: BUG: lab oops Call Trace: <TASK>; also sdb");
    assert!(condition.problems[0].message.contains('\n'));
}

#[test]
fn a_message_stays_bounded_whatever_else_is_broken() {
    let mut ledger = watched();
    for n in 0..500 {
        let finding = Finding { message: "x".repeat(1024), ..raise(&format!("{n:0>200}"), 1) };
        ledger.apply(finding, at(1)).unwrap();
    }
    let message = disk(&mut ledger).message;
    assert!(message.len() <= 1024 && message.ends_with(" more"), "{message}");
}

#[test]
fn a_condition_outside_the_catalogue_is_refused() {
    let mut ledger = watched();
    let name = Name::fixed("MadeUp");
    for kind in [FindingKind::Raise, FindingKind::Clear] {
        let finding = Finding { kind, condition: Some(name.clone()), ..raise("sda", 1) };
        assert_eq!(ledger.apply(finding, at(1)), Err(Rejection::UnknownCondition(name.clone())));
    }
    assert!(ledger.take_events().is_empty() && ledger.counters().raised.is_empty());
}

#[test]
fn a_wall_clock_that_jumps_back_never_dates_an_end_before_its_start() {
    let mut ledger = watched();
    ledger.apply(raise("sda", 100), at(100)).unwrap();
    let jumped = Now { wall: wall(-900), ..at(101) };
    ledger.apply(clear("sda", -900), jumped).unwrap();
    assert_eq!(disk(&mut ledger).transition, wall(100));
    ledger.apply(raise("sda", -890), Now { wall: wall(-890), ..at(111) }).unwrap();
    assert_eq!(disk(&mut ledger).transition, wall(100));
}

#[test]
fn a_record_from_the_future_happened_on_arrival() {
    let mut ledger = watched();
    ledger.apply(raise("sda", 86_400), at(3)).unwrap();
    let view = disk(&mut ledger);
    assert_eq!((view.transition, view.problems[0].last_seen), (wall(3), wall(3)));
}

#[test]
fn a_record_older_than_the_agent_dates_the_condition() {
    let mut ledger = watched();
    ledger.apply(raise("sda", -3_000), at(1)).unwrap();
    assert_eq!(disk(&mut ledger).transition, wall(-3_000));
}

#[test]
fn a_milder_repetition_does_not_make_a_problem_milder() {
    let mut ledger = watched();
    ledger.apply(raise("sda", 1), at(1)).unwrap();
    ledger.apply(Finding { severity: Severity::Info, ..raise("sda", 2) }, at(2)).unwrap();
    assert_eq!(disk(&mut ledger).problems[0].severity, Severity::Error);
}

#[test]
fn gauges_fall_to_zero_and_are_forgotten_on_reload() {
    let mut ledger = watched();
    ledger.apply(raise("sda", 1), at(1)).unwrap();
    assert!(ledger.counters().gauges[0].active);
    ledger.apply(clear("sda", 2), at(2)).unwrap();
    assert!(!ledger.counters().gauges[0].active);
    ledger.set_catalogue(vec![spec("DiskUnhealthy")], at(3));
    assert!(ledger.counters().gauges.is_empty());
}
