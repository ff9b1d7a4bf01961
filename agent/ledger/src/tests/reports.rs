//! External daemons by example: what a report does, and what silence and last reports do.

use nodewell_model::{Condition, Event, Status};

use super::*;
use crate::{Limits, OnStale, Rejection};

pub(super) fn condition(subject: Option<&str>, status: ConditionStatus, secs: i64) -> Condition {
    Condition {
        condition: Name::fixed("DiskUnhealthy"),
        status,
        transition: wall(secs),
        reason: Name::fixed("RaidDegraded"),
        message: "md0 lost a disk".to_owned(),
        subject: subject.map(str::to_owned),
        severity: None,
        action: None,
    }
}

pub(super) fn broken(subject: &str, secs: i64) -> Condition {
    condition(Some(subject), ConditionStatus::True, secs)
}

pub(super) fn raid(conditions: Vec<Condition>) -> Status {
    Status { source: "raid".to_owned(), conditions, ttl_secs: Some(30), ..Status::default() }
}

pub(super) fn take(ledger: &mut Ledger, status: Status, secs: i64) {
    ledger.report(vec![status], &root(OnStale::Keep), at(secs)).unwrap();
}

pub(super) fn subjects(ledger: &mut Ledger) -> Vec<String> {
    let views = ledger.conditions();
    let problems = views.iter().flat_map(|view| &view.problems);
    let mut subjects: Vec<_> = problems.filter_map(|problem| problem.subject.clone()).collect();
    subjects.sort();
    subjects
}

pub(super) fn everything_of_disks() -> crate::ClearRequest {
    crate::ClearRequest {
        condition: Name::fixed("DiskUnhealthy"),
        reason: None,
        subject: None,
        id: None,
        evidence: None,
        if_unchanged_since: None,
        peer: None,
    }
}

#[test]
fn a_problem_starts_by_its_transition_and_ends_with_the_daemons_message() {
    let mut ledger = ledger();
    take(&mut ledger, raid(vec![broken("md0", 5)]), 9);
    let view = disk(&mut ledger);
    assert_eq!((view.status, view.transition, view.reason.as_str()), (ConditionStatus::True, wall(5), "RaidDegraded"));
    let problem = &view.problems[0];
    assert_eq!((problem.source.as_str(), problem.count, problem.last_seen), ("raid@root", 1, wall(9)));
    let fine = Condition { message: "rebuilt".to_owned(), ..condition(Some("md0"), ConditionStatus::False, 20) };
    take(&mut ledger, raid(vec![fine]), 21);
    let view = disk(&mut ledger);
    assert_eq!((view.status, view.transition), (ConditionStatus::False, wall(20)));
    let events = ledger.take_events();
    assert_eq!((events.len(), events[1].message.as_str()), (2, "RaidDegraded on md0 is over: rebuilt"));
}

#[test]
fn a_transition_is_never_in_the_future_nor_before_what_it_ends() {
    let mut ledger = ledger();
    take(&mut ledger, raid(vec![broken("md0", 500)]), 9);
    assert_eq!(disk(&mut ledger).transition, wall(9));
    take(&mut ledger, raid(vec![condition(Some("md0"), ConditionStatus::False, 1)]), 12);
    assert_eq!((status(&mut ledger), disk(&mut ledger).transition), (ConditionStatus::False, wall(9)));
}

#[test]
fn the_same_again_only_confirms_and_a_new_transition_counts() {
    let mut ledger = ledger();
    take(&mut ledger, raid(vec![broken("md0", 5)]), 6);
    let (version, events) = (ledger.version(), ledger.take_events().len());
    take(&mut ledger, raid(vec![broken("md0", 5)]), 7);
    assert_eq!((ledger.version(), events), (version, 1));
    take(&mut ledger, raid(vec![broken("md0", 5)]), 20);
    let problem = disk(&mut ledger).problems.remove(0);
    assert_eq!((problem.count, problem.last_seen), (1, wall(20)), "seen again, not happened again");
    take(&mut ledger, raid(vec![broken("md0", 15)]), 21);
    let problem = disk(&mut ledger).problems.remove(0);
    assert_eq!((problem.count, problem.since), (2, wall(5)));
    assert!(ledger.take_events().is_empty());
}

#[test]
fn a_daemon_may_report_a_lower_severity() {
    let mut ledger = ledger();
    let bad = Condition { severity: Some(Severity::Critical), ..broken("md0", 5) };
    take(&mut ledger, raid(vec![bad]), 6);
    take(&mut ledger, raid(vec![broken("md0", 5)]), 7);
    assert_eq!(disk(&mut ledger).problems[0].severity, Severity::Warn);
}

#[test]
fn another_reason_replaces_the_first() {
    let mut ledger = ledger();
    take(&mut ledger, raid(vec![broken("md0", 5)]), 6);
    let failed = Condition { reason: Name::fixed("RaidFailed"), ..broken("md0", 7) };
    take(&mut ledger, raid(vec![failed]), 8);
    let view = disk(&mut ledger);
    assert_eq!((view.problems.len(), view.reason.as_str(), view.transition), (1, "RaidFailed", wall(5)));
    assert_eq!(ledger.take_events().len(), 3, "a start, a start, an end");
}

#[test]
fn false_without_a_subject_ends_those_that_are_not_named() {
    let mut ledger = ledger();
    take(&mut ledger, raid(vec![broken("md0", 5), broken("md1", 5), condition(None, ConditionStatus::True, 5)]), 6);
    take(&mut ledger, raid(vec![broken("md1", 5), condition(None, ConditionStatus::False, 9)]), 10);
    assert_eq!(subjects(&mut ledger), ["md1"]);
    assert_eq!(disk(&mut ledger).problems.len(), 1);
}

#[test]
fn unknown_keeps_problems_unconfirmed_and_turns_what_is_well_unknown() {
    let mut ledger = ledger();
    take(&mut ledger, raid(vec![broken("md0", 5)]), 6);
    let unsure = Condition {
        reason: Name::fixed("MdadmHangs"),
        message: "mdadm does not answer".to_owned(),
        ..condition(None, ConditionStatus::Unknown, 9)
    };
    take(&mut ledger, raid(vec![unsure]), 10);
    let view = disk(&mut ledger);
    assert_eq!((view.status, view.problems[0].unconfirmed_since), (ConditionStatus::True, Some(wall(9))));
    take(&mut ledger, raid(vec![condition(Some("md0"), ConditionStatus::False, 11)]), 11);
    let view = disk(&mut ledger);
    assert_eq!((view.status, view.reason.as_str()), (ConditionStatus::Unknown, "MdadmHangs"));
    assert_eq!(view.message, "raid@root: mdadm does not answer");
    assert_eq!(ledger.daemons()[0].state, DaemonState::Running);
    take(&mut ledger, raid(vec![condition(None, ConditionStatus::False, 12)]), 12);
    assert_eq!(status(&mut ledger), ConditionStatus::False);
}

#[test]
fn a_full_report_is_all_there_is() {
    let mut ledger = ledger();
    let other = Condition { condition: Name::fixed("KernelDeadlock"), ..condition(None, ConditionStatus::False, 5) };
    take(&mut ledger, raid(vec![broken("md0", 5), broken("md1", 5), other]), 6);
    assert_eq!(ledger.conditions().len(), 2);
    take(&mut ledger, Status { full: true, ..raid(vec![broken("md1", 5)]) }, 7);
    assert_eq!(subjects(&mut ledger), ["md1"]);
    assert_eq!(ledger.conditions().len(), 1, "it does not watch the other one any more");
}

#[test]
fn the_last_report_leaves_nothing_and_may_come_twice() {
    let mut ledger = ledger();
    take(&mut ledger, raid(vec![broken("md0", 5)]), 6);
    let last_report = Status { last: true, id: Some("bye".to_owned()), ..raid(Vec::new()) };
    take(&mut ledger, last_report.clone(), 7);
    assert!(ledger.conditions().is_empty() && ledger.daemons().is_empty());
    assert_eq!(ledger.next_deadline(), None);
    let events = ledger.take_events().len();
    take(&mut ledger, last_report, 8);
    assert!(ledger.daemons().is_empty() && ledger.take_events().is_empty() && events == 2);
}

#[test]
fn a_service_that_is_restarted_leaves_its_conditions_with_their_times() {
    let mut ledger = ledger();
    take(&mut ledger, raid(vec![condition(None, ConditionStatus::False, 5)]), 6);
    let before = disk(&mut ledger);
    let stop = Status { last: true, linger_secs: Some(60), id: Some("bye".to_owned()), ..raid(Vec::new()) };
    take(&mut ledger, stop.clone(), 100);
    ledger.advance(at(159));
    assert_eq!(disk(&mut ledger), before);
    assert_eq!(ledger.daemons()[0].message, "stopped; its conditions go in 1m unless it starts again");
    take(&mut ledger, raid(vec![condition(None, ConditionStatus::False, 150)]), 159);
    ledger.advance(at(180));
    assert_eq!((disk(&mut ledger), ledger.daemons()[0].message.as_str()), (before, ""), "as if it had never stopped");
    take(&mut ledger, Status { id: None, ..stop.clone() }, 181);
    ledger.advance(at(241));
    assert!(ledger.conditions().is_empty() && ledger.daemons().is_empty(), "it did not start again");
    take(&mut ledger, stop, 242);
    assert!(ledger.daemons().is_empty(), "the first stop, once more");
}

#[test]
fn of_what_a_stopped_service_reported_as_wrong_or_unknown_nothing_stays() {
    let stop = Status { last: true, linger_secs: Some(60), ..raid(Vec::new()) };
    let other = Condition { condition: Name::fixed("KernelDeadlock"), ..condition(None, ConditionStatus::False, 5) };
    for wrong in [broken("md0", 5), condition(Some("md0"), ConditionStatus::Unknown, 5)] {
        let mut ledger = ledger();
        take(&mut ledger, raid(vec![wrong.clone(), other.clone()]), 6);
        ledger.take_events();
        take(&mut ledger, stop.clone(), 7);
        let left: Vec<_> = ledger.conditions().iter().map(|view| view.condition.to_string()).collect();
        assert_eq!(left, ["KernelDeadlock"]);
        let events = ledger.take_events();
        assert!(
            events.iter().all(|event| event.reason.as_str() == "ProblemEnded"),
            "nothing is reported to be healthy"
        );
        let mut alone = super::ledger();
        take(&mut alone, raid(vec![wrong]), 6);
        take(&mut alone, stop.clone(), 7);
        assert!(alone.conditions().is_empty() && alone.daemons().is_empty());
    }
}

#[test]
fn a_machine_that_slept_prolongs_no_linger() {
    let mut ledger = ledger();
    take(&mut ledger, raid(vec![condition(None, ConditionStatus::False, 5)]), 6);
    let stop = Status { last: true, linger_secs: Some(20), ttl_secs: Some(80_000), ..raid(Vec::new()) };
    take(&mut ledger, stop, 7);
    ledger.slept(at(20));
    ledger.advance(at(27));
    assert!(ledger.conditions().is_empty());
}

#[test]
fn silence_makes_stale_and_a_day_of_it_forgotten() {
    let mut ledger = ledger();
    take(&mut ledger, raid(vec![broken("md0", 5)]), 6);
    take(&mut ledger, Status { source: "idle".to_owned(), ..raid(vec![]) }, 6);
    ledger.advance(at(36));
    assert!(ledger.daemons().iter().all(|daemon| daemon.state == DaemonState::Stale));
    assert_eq!(disk(&mut ledger).problems[0].unconfirmed_since, Some(wall(36)));
    ledger.advance(at(36 + 86_400));
    let names: Vec<_> = ledger.daemons().into_iter().map(|daemon| daemon.name).collect();
    assert_eq!(names, ["raid@root"], "one that claims something stays");
    take(&mut ledger, raid(vec![broken("md0", 5)]), 90_000);
    assert_eq!(disk(&mut ledger).problems[0].unconfirmed_since, None);
}

#[test]
fn a_daemon_with_a_ttl_of_zero_is_never_stale() {
    let mut ledger = ledger();
    let by_hand = |conditions| Status { source: "hand".to_owned(), ttl_secs: Some(0), ..raid(conditions) };
    take(&mut ledger, by_hand(vec![broken("md0", 5)]), 6);
    ledger.advance(at(90_000));
    assert_eq!(disk(&mut ledger).problems[0].unconfirmed_since, None);
    take(&mut ledger, by_hand(vec![condition(Some("md0"), ConditionStatus::False, 90_001)]), 90_002);
    ledger.advance(at(300_000));
    assert_eq!(disk(&mut ledger).status, ConditionStatus::False, "what it reported holds");
    assert_eq!(ledger.daemons().len(), 1);
    take(&mut ledger, Status { source: "passer-by".to_owned(), ..by_hand(vec![]) }, 300_001);
    assert_eq!(ledger.daemons().len(), 1, "a source that has reported nothing that lasts is no daemon");
}

#[test]
fn a_ttl_of_zero_leaves_the_earlier_one() {
    let mut ledger = ledger();
    take(&mut ledger, raid(vec![]), 6);
    take(&mut ledger, Status { ttl_secs: Some(0), ..raid(vec![]) }, 20);
    ledger.advance(at(49));
    assert_eq!(ledger.daemons()[0].state, DaemonState::Running, "any report is a sign of life");
    ledger.advance(at(51));
    assert_eq!(ledger.daemons()[0].state, DaemonState::Stale);
}

#[test]
fn a_grant_may_end_problems_with_the_silence() {
    let mut ledger = ledger();
    ledger.report(vec![raid(vec![broken("md0", 5)])], &root(OnStale::Clear), at(6)).unwrap();
    ledger.advance(at(40));
    let view = disk(&mut ledger);
    assert_eq!((view.status, view.problems.len()), (ConditionStatus::Unknown, 0));
}

#[test]
fn a_subject_in_doubt_stays_so_after_a_fault_of_its_type_that_ended_by_silence() {
    let mut ledger = ledger();
    take(&mut ledger, raid(vec![condition(Some("md0"), ConditionStatus::Unknown, 5)]), 6);
    take(&mut ledger, raid(vec![condition(None, ConditionStatus::Unknown, 7)]), 7);
    let fault = raid(vec![condition(None, ConditionStatus::True, 8)]);
    ledger.report(vec![fault], &root(OnStale::Clear), at(8)).unwrap();
    ledger.advance(at(40));
    assert_eq!((status(&mut ledger), disk(&mut ledger).problems.len()), (ConditionStatus::Unknown, 0));
    take(&mut ledger, raid(vec![]), 41);
    assert_eq!(status(&mut ledger), ConditionStatus::Unknown, "the daemon has reported nothing of md0 since");
}

#[test]
fn a_fault_without_a_subject_leaves_the_subjects_in_doubt_that_an_unknown_stood_for() {
    let everything = || condition(None, ConditionStatus::Unknown, 6);
    let named = [
        vec![raid(vec![condition(Some("md0"), ConditionStatus::Unknown, 5)]), raid(vec![everything()])],
        vec![raid(vec![condition(Some("md1"), ConditionStatus::False, 5), everything()])],
        vec![raid(vec![everything()])],
    ];
    let expected = [ConditionStatus::Unknown, ConditionStatus::Unknown, ConditionStatus::False];
    for (reports, expected) in named.into_iter().zip(expected) {
        let mut ledger = ledger();
        reports.into_iter().for_each(|report| take(&mut ledger, report, 6));
        take(&mut ledger, raid(vec![condition(None, ConditionStatus::True, 7)]), 7);
        assert_eq!(disk(&mut ledger).problems[0].unconfirmed_since, None);
        let mut ledger = Disk::of(&ledger).restart(BOOT, at(8));
        ledger.clear(&everything_of_disks(), at(8));
        assert_eq!(status(&mut ledger), expected, "only of a daemon that has subjects");
        take(&mut ledger, raid(vec![condition(None, ConditionStatus::True, 9)]), 9);
        take(&mut ledger, raid(vec![condition(None, ConditionStatus::Unknown, 10)]), 10);
        assert_eq!(disk(&mut ledger).problems[0].unconfirmed_since, Some(wall(10)));
        take(&mut ledger, raid(vec![condition(None, ConditionStatus::False, 11)]), 11);
        assert_eq!(status(&mut ledger), ConditionStatus::False);
    }
}

#[test]
fn a_full_report_with_a_fault_of_the_type_takes_back_what_was_in_doubt_before() {
    let mut ledger = ledger();
    let fault = || condition(None, ConditionStatus::True, 7);
    take(&mut ledger, raid(vec![broken("md0", 5)]), 5);
    take(&mut ledger, raid(vec![condition(None, ConditionStatus::Unknown, 6)]), 6);
    take(&mut ledger, raid(vec![fault()]), 7);
    assert_eq!(subjects(&mut ledger), ["md0"]);
    take(&mut ledger, Status { full: true, ..raid(vec![fault()]) }, 8);
    assert_eq!((subjects(&mut ledger).len(), disk(&mut ledger).problems.len()), (0, 1));
    ledger.clear(&everything_of_disks(), at(9));
    assert_eq!(status(&mut ledger), ConditionStatus::False);
}

#[test]
fn a_heartbeat_and_a_repeated_id_are_no_change() {
    let mut ledger = ledger();
    let first = Status {
        id: Some("1".to_owned()),
        events: vec![Event {
            severity: Severity::Info,
            timestamp: wall(5),
            reason: Name::fixed("RaidSeen"),
            message: "m".to_owned(),
            subject: None,
            seen_by: None,
        }],
        ..raid(vec![broken("md0", 5)])
    };
    take(&mut ledger, first.clone(), 6);
    let version = ledger.version();
    take(&mut ledger, first, 20);
    assert_eq!((ledger.version(), ledger.next_deadline()), (version, Some(at(36).boottime)));
    take(&mut ledger, raid(Vec::new()), 21);
    assert_eq!((ledger.version(), ledger.next_deadline()), (version, Some(at(51).boottime)));
}

#[test]
fn a_batch_with_a_stranger_in_it_changes_nothing() {
    let mut ledger = ledger();
    let stranger = Condition { condition: Name::fixed("Nope"), ..broken("md0", 5) };
    let batch = vec![raid(vec![broken("md0", 5)]), raid(vec![broken("md1", 5), stranger])];
    let refused = ledger.report(batch, &root(OnStale::Keep), at(6)).unwrap_err();
    assert_eq!((refused.report, refused.condition), (1, Some(1)));
    assert!(ledger.daemons().is_empty() && ledger.conditions().is_empty());
}

#[test]
fn subjects_of_one_daemon_are_bounded_and_may_be_exchanged() {
    let mut ledger = ledger().with_limits(Limits { reported_subjects: 2, ..Limits::default() });
    take(&mut ledger, raid(vec![broken("md0", 5), broken("md1", 5)]), 6);
    let slow = Condition { reason: Name::fixed("RaidSlow"), ..broken("md0", 5) };
    for more in [raid(vec![broken("md2", 5)]), raid(vec![broken("md0", 5), slow])] {
        let refused = ledger.report(vec![more], &root(OnStale::Keep), at(6)).unwrap_err();
        assert_eq!(refused.why, Rejection::TooManySubjects("raid@root".into(), 2));
    }
    take(&mut ledger, Status { full: true, ..raid(vec![broken("md2", 5), broken("md3", 5)]) }, 7);
    assert_eq!(subjects(&mut ledger), ["md2", "md3"]);
}

#[test]
fn a_silent_daemon_makes_room_and_our_own_are_never_shut_out() {
    let limits = Limits { external_daemons: 2, daemons_of_one: 2, ..Limits::default() };
    let mut ledger = ledger().with_limits(limits);
    let named = |name: &str| Status { source: name.to_owned(), ..raid(Vec::new()) };
    take(&mut ledger, named("a"), 0);
    take(&mut ledger, named("b"), 5);
    let refused = ledger.report(vec![named("c")], &root(OnStale::Keep), at(6)).unwrap_err();
    assert_eq!(refused.why, Rejection::TooManyDaemons("c@root".into()));
    ledger.daemon(report("kernel-monitor", DaemonState::Running), at(7)).unwrap();
    ledger.advance(at(31));
    take(&mut ledger, named("c"), 32);
    let names: Vec<_> = ledger.daemons().into_iter().map(|daemon| daemon.name).collect();
    assert_eq!(names, ["b@root", "c@root", "kernel-monitor"]);
}

#[test]
fn what_a_person_clears_comes_back_when_it_is_reported_again() {
    let mut ledger = ledger();
    take(&mut ledger, raid(vec![broken("md0", 5)]), 6);
    assert_eq!(ledger.clear(&everything_of_disks(), at(7)), 1);
    take(&mut ledger, raid(vec![broken("md0", 5)]), 8);
    assert_eq!(subjects(&mut ledger), ["md0"]);
}
