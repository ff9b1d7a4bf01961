//! False positives: what a person called one is shown and turns nothing until it ends; what begins after that does.

use nodewell_model::{Ack, Condition, EventRecord, MuteKey, view::ProblemView};
use proptest::prelude::*;

use super::{
    reports::{condition, raid},
    steps::{apply, histories, timed},
    *,
};
use crate::{Rejection, ledger::Applied};

fn key(subject: Option<&str>) -> MuteKey {
    MuteKey { reason: Name::fixed("IOError"), condition: None, subject: subject.map(str::to_owned) }
}

fn by(who: &str, secs: i64) -> Ack {
    Ack { at: wall(secs), by: who.to_owned(), why: "the cable was pulled".to_owned() }
}

fn sick(subjects: &[&str]) -> Ledger {
    let mut ledger = watched();
    for subject in subjects {
        assert_eq!(ledger.apply(raise(subject, 1), at(1)), Ok(Applied::Started));
    }
    ledger.take_events();
    ledger
}

fn events(ledger: &mut Ledger) -> Vec<(String, String)> {
    let shown = |event: EventRecord| (event.reason.to_string(), event.message);
    ledger.take_events().into_iter().map(shown).collect()
}

fn problems(ledger: &mut Ledger) -> Vec<(String, Option<String>)> {
    let shown = |one: ProblemView| (one.subject.unwrap_or_default(), one.false_positive.map(|ack| ack.by));
    disk(ledger).problems.into_iter().map(shown).collect()
}

/// How many problems, and how many conditions, were false.
fn counted(ledger: &Ledger) -> (u64, u64) {
    let counters = ledger.counters();
    (counters.false_positives.values().sum(), counters.false_conditions.values().sum())
}

#[test]
fn a_false_positive_is_shown_and_turns_nothing() {
    let mut ledger = sick(&["sda", "sdb"]);
    assert_eq!(ledger.ack(&key(Some("sda")), &by("root", 2), at(2)), Ok(1));
    let view = disk(&mut ledger);
    assert_eq!(view.status, ConditionStatus::True, "sdb is real");
    assert_eq!(view.message, "I/O error, dev sdb; 1 false positive");
    assert_eq!(problems(&mut ledger), [("sdb".to_owned(), None), ("sda".to_owned(), Some("root".to_owned()))]);
    assert_eq!(counted(&ledger), (1, 0), "the condition was rightly True");
    assert_eq!(ledger.ack(&key(None), &by("alice (root)", 3), at(3)), Ok(1), "the one that is left");
    let view = disk(&mut ledger);
    assert_eq!((view.status, view.reason.as_str()), (ConditionStatus::False, "FalsePositives"));
    let text = format!("IOError on sdb is a false positive, by alice (root) at {}: the cable was pulled", wall(3));
    assert_eq!(view.message, format!("2 problems are false positives; {text}"));
    assert_eq!(view.transition, wall(3), "it is a transition");
    assert_eq!(counted(&ledger), (2, 1));
    let seen = events(&mut ledger);
    assert_eq!(seen[0].1, "IOError on sda is a false positive, by root: the cable was pulled");
    assert_eq!((seen[1].0.as_str(), seen.len()), ("FalsePositive", 2));
    ledger.apply(raise("sda", 4), at(4)).unwrap();
    assert_eq!(status(&mut ledger), ConditionStatus::False, "the same problem, once more");
    assert_eq!(disk(&mut ledger).problems.iter().map(|one| one.count).sum::<u64>(), 3, "it counts on");
    assert!(ledger.counters().gauges.iter().all(|gauge| gauge.active));
}

#[test]
fn the_next_problem_turns_its_condition_again() {
    let mut ledger = sick(&["sda"]);
    ledger.ack(&key(None), &by("root", 2), at(2)).unwrap();
    ledger.apply(clear("sda", 3), at(3)).unwrap();
    let view = disk(&mut ledger);
    assert_eq!((view.reason.as_str(), view.transition), ("AllIsWell", wall(2)), "the end is no transition");
    ledger.apply(raise("sda", 4), at(4)).unwrap();
    assert_eq!(status(&mut ledger), ConditionStatus::True);
    assert_eq!(problems(&mut ledger), [("sda".to_owned(), None)]);
    ledger.apply(raise("sdb", 5), at(5)).unwrap();
    assert_eq!(ledger.ack(&key(None), &by("root", 6), at(6)), Ok(2));
    assert_eq!(counted(&ledger), (3, 2), "each occurrence is counted");
}

#[test]
fn what_gets_worse_is_not_what_the_person_saw() {
    let mut ledger = sick(&["sda"]);
    ledger.ack(&key(None), &by("root", 2), at(2)).unwrap();
    events(&mut ledger);
    let milder = Finding { severity: Severity::Warn, ..raise("sda", 3) };
    ledger.apply(milder, at(3)).unwrap();
    assert_eq!(status(&mut ledger), ConditionStatus::False);
    ledger.apply(Finding { severity: Severity::Critical, ..raise("sda", 4) }, at(4)).unwrap();
    let view = disk(&mut ledger);
    assert_eq!((view.status, view.transition), (ConditionStatus::True, wall(4)));
    let seen = events(&mut ledger);
    let text = "IOError on sda is no false positive any more: its severity is critical now";
    assert_eq!(seen, [("FalsePositiveRevoked".to_owned(), text.to_owned())]);
}

fn smartd(finding: Finding) -> Finding {
    Finding { source: Arc::from("smartd"), severity: Severity::Critical, ..finding }
}

/// What a peer reports wrongly, and is called so, hides nothing that the kernel says of the same disk.
#[test]
fn what_another_source_reports_is_not_what_the_person_saw() {
    let mut ledger = watched();
    ledger.apply(smartd(raise("sda", 1)), at(1)).unwrap();
    ledger.ack(&key(None), &by("root", 2), at(2)).unwrap();
    events(&mut ledger);
    ledger.apply(smartd(raise("sda", 3)), at(3)).unwrap();
    ledger.apply(Finding { test: true, ..raise("sda", 3) }, at(3)).unwrap();
    assert_eq!(status(&mut ledger), ConditionStatus::False, "the same again, and a test");
    events(&mut ledger);
    ledger.apply(raise("sda", 4), at(4)).unwrap();
    assert_eq!(status(&mut ledger), ConditionStatus::True, "milder, and another's");
    let text = "IOError on sda is no false positive any more: kernel-monitor reports it now, which it did not then";
    assert_eq!(events(&mut ledger), [("FalsePositiveRevoked".to_owned(), text.to_owned())]);
}

/// One that never ends does not keep the others from beginning again.
#[test]
fn a_source_that_ended_and_begins_again_turns_its_condition() {
    let mut ledger = sick(&["sda"]);
    ledger.apply(smartd(raise("sda", 2)), at(2)).unwrap();
    assert_eq!(ledger.ack(&key(None), &by("root", 3), at(3)), Ok(1));
    ledger.apply(clear("sda", 4), at(4)).unwrap();
    assert_eq!(status(&mut ledger), ConditionStatus::False, "smartd's is left, and was seen");
    let mut next = Disk::of(&ledger).restart(BOOT, at(5));
    assert_eq!(problems(&mut next), [("sda".to_owned(), Some("root".to_owned()))]);
    next.apply(raise("sda", 6), at(6)).unwrap();
    assert_eq!(status(&mut next), ConditionStatus::True);
}

#[test]
fn what_is_left_of_it_may_not_get_as_bad_as_what_ended() {
    let mut ledger = sick(&["sda"]);
    ledger.apply(smartd(raise("sda", 2)), at(2)).unwrap();
    ledger.ack(&key(None), &by("root", 3), at(3)).unwrap();
    ledger.apply(smartd(clear("sda", 4)), at(4)).unwrap();
    ledger.apply(raise("sda", 5), at(5)).unwrap();
    assert_eq!(status(&mut ledger), ConditionStatus::False);
    ledger.apply(Finding { severity: Severity::Critical, ..raise("sda", 6) }, at(6)).unwrap();
    assert_eq!(status(&mut ledger), ConditionStatus::True);
}

#[test]
fn a_daemon_that_reports_it_worse_turns_it_too() {
    let mut ledger = ledger();
    let reported = |severity, secs| {
        let fault = Condition { severity: Some(severity), ..condition(Some("md0"), ConditionStatus::True, secs) };
        raid(vec![fault])
    };
    ledger.report(vec![reported(Severity::Warn, 1)], &root(OnStale::Keep), at(1)).unwrap();
    let reason = disk(&mut ledger).problems[0].reason.clone();
    let key = MuteKey { reason, condition: None, subject: None };
    assert_eq!(ledger.ack(&key, &by("root", 2), at(2)), Ok(1));
    ledger.report(vec![reported(Severity::Warn, 1)], &root(OnStale::Keep), at(20)).unwrap();
    assert_eq!(status(&mut ledger), ConditionStatus::False, "the same report again");
    ledger.report(vec![reported(Severity::Critical, 1)], &root(OnStale::Keep), at(30)).unwrap();
    assert_eq!(status(&mut ledger), ConditionStatus::True);
}

#[test]
fn it_is_taken_back_and_stays_counted() {
    let mut ledger = sick(&["sda", "sdb"]);
    ledger.ack(&key(None), &by("root", 2), at(2)).unwrap();
    assert_eq!(ledger.unack(&key(Some("sda")), "alice (root)", at(3)), Ok(1));
    assert_eq!(status(&mut ledger), ConditionStatus::True);
    let seen = events(&mut ledger);
    assert_eq!(seen[0].1, "2 problems: IOError is a false positive, by root: the cable was pulled");
    assert_eq!(seen[1].1, "IOError on sda is no false positive any more: taken back by alice (root)");
    assert_eq!(counted(&ledger), (2, 1));
    assert_eq!(ledger.unack(&key(Some("sda")), "root", at(4)), Err(Rejection::NotAcked("IOError on sda".to_owned())));
}

#[test]
fn what_is_muted_as_well_stays_muted() {
    let mut ledger = sick(&["sda", "sdb"]);
    let until = wall(100);
    let (why, by_root) = ("on order".to_owned(), "root".to_owned());
    let mute = nodewell_model::Mute { key: key(Some("sda")), until, why, by: by_root, configured: false };
    ledger.mute(mute, at(2)).unwrap();
    assert_eq!(ledger.ack(&key(None), &by("root", 3), at(3)), Ok(2));
    let view = disk(&mut ledger);
    assert_eq!(view.reason.as_str(), "ProblemsMuted");
    assert!(view.message.ends_with(": on order; 1 false positive"), "{}", view.message);
    assert_eq!(ledger.unack(&key(Some("sda")), "root", at(4)), Ok(0), "the mute is in force");
    assert_eq!(status(&mut ledger), ConditionStatus::False);
    ledger.advance(at(100));
    assert_eq!(status(&mut ledger), ConditionStatus::True);
}

#[test]
fn only_what_is_there_and_real_is_called_so() {
    let mut ledger = watched();
    let absent = Rejection::NoSuchProblem("IOError on sda".to_owned());
    assert_eq!(ledger.ack(&key(Some("sda")), &by("root", 1), at(1)), Err(absent));
    ledger.apply(Finding { test: true, ..raise("sda", 1) }, at(1)).unwrap();
    let test = Rejection::OnlyTests("IOError on sda".to_owned());
    assert_eq!(ledger.ack(&key(Some("sda")), &by("root", 1), at(1)), Err(test));
    assert_eq!(status(&mut ledger), ConditionStatus::True);
    ledger.apply(raise("sda", 2), at(2)).unwrap();
    assert_eq!(ledger.ack(&key(Some("sda")), &by("root", 3), at(3)), Ok(1));
    let again = Rejection::AckedAlready("IOError on sda".to_owned());
    assert_eq!(ledger.ack(&key(Some("sda")), &by("bob", 4), at(4)), Err(again));
    let other = MuteKey { condition: Some(Name::fixed("KernelDeadlock")), ..key(None) };
    assert!(matches!(ledger.ack(&other, &by("root", 4), at(4)), Err(Rejection::NoSuchProblem(_))));
    assert_eq!(counted(&ledger), (1, 1));
}

/// The real problem is over; what stands is a test, and what comes next is another occurrence.
#[test]
fn a_test_that_outlasts_the_problem_inherits_nothing() {
    let mut ledger = sick(&["sda"]);
    ledger.apply(Finding { test: true, ..raise("sda", 2) }, at(2)).unwrap();
    ledger.ack(&key(None), &by("root", 3), at(3)).unwrap();
    assert_eq!(status(&mut ledger), ConditionStatus::False);
    ledger.apply(clear("sda", 4), at(4)).unwrap();
    assert_eq!(status(&mut ledger), ConditionStatus::True, "the test");
    ledger.apply(raise("sda", 5), at(5)).unwrap();
    assert_eq!(problems(&mut ledger), [("sda".to_owned(), None)]);
}

#[test]
fn it_outlives_restarts_and_reboots_without_a_turn() {
    let mut ledger = sick(&["sda"]);
    let mut saved = Disk::default();
    saved.keep(&mut ledger);
    ledger.ack(&key(None), &by("root", 2), at(2)).unwrap();
    saved.keep(&mut ledger);
    for boot in [BOOT, OTHER_BOOT] {
        let mut next = saved.restart(boot, at(10));
        next.daemon(report("kernel-monitor", DaemonState::Running), at(10)).unwrap();
        let view = disk(&mut next);
        assert_eq!((view.status, view.reason.as_str()), (ConditionStatus::False, "FalsePositives"), "{boot}");
        assert_eq!((view.transition, counted(&next)), (wall(2), (1, 1)), "nothing turned");
        assert!(events(&mut next).is_empty(), "no news");
    }
    let mut next = saved.restart(BOOT, at(10));
    next.apply(clear("sda", 11), at(11)).unwrap();
    saved.keep(&mut next);
    assert!(!saved.0.keys().any(|(_, key)| key.starts_with("ack ")), "it is struck from the store with its problem");
    let mut third = saved.restart(BOOT, at(12));
    third.apply(raise("sda", 13), at(13)).unwrap();
    assert_eq!((status(&mut third), counted(&third)), (ConditionStatus::True, (1, 1)));
}

#[test]
fn a_problem_that_ended_with_its_boot_takes_what_was_said_of_it_along() {
    let mut ledger = watched();
    ledger.apply(Finding { ends_at_boot: true, ..raise("sda", 1) }, at(1)).unwrap();
    ledger.ack(&key(None), &by("root", 2), at(2)).unwrap();
    let mut saved = Disk::of(&ledger);
    let mut next = saved.restart(OTHER_BOOT, at(10));
    saved.keep(&mut next);
    assert!(!saved.0.keys().any(|(_, key)| key.starts_with("ack ")));
    next.apply(raise("sda", 11), at(11)).unwrap();
    assert_eq!(status(&mut next), ConditionStatus::True);
}

/// Rows that come late: what was counted meanwhile is added to them.
#[test]
fn what_a_late_disk_has_is_added_up() {
    let mut before = sick(&["sda"]);
    before.ack(&key(None), &by("root", 2), at(2)).unwrap();
    let mut saved = Disk::of(&before);
    let mut late = sick(&["sdb"]);
    late.ack(&key(None), &by("bob", 3), at(3)).unwrap();
    late.skip_rows();
    assert_eq!(late.load(saved.rows(), at(4)).unreadable, 0);
    assert_eq!(problems(&mut late).len(), 2);
    assert_eq!((status(&mut late), counted(&late)), (ConditionStatus::False, (2, 2)));
    saved.keep(&mut late);
    assert_eq!(counted(&saved.restart(BOOT, at(5))), (2, 2));
}

/// What was reported before they came, the person has not seen.
#[test]
fn what_got_worse_before_a_late_disk_came_turns() {
    let mut before = sick(&["sda"]);
    before.ack(&key(None), &by("root", 2), at(2)).unwrap();
    let mut saved = Disk::of(&before);
    let mut late = watched();
    late.apply(Finding { severity: Severity::Critical, ..raise("sda", 3) }, at(3)).unwrap();
    late.skip_rows();
    assert_eq!(late.load(saved.rows(), at(4)).unreadable, 0);
    assert_eq!(status(&mut late), ConditionStatus::True);
    assert_eq!(problems(&mut late), [("sda".to_owned(), None)]);
    assert_eq!(events(&mut late).last().unwrap().0, "FalsePositiveRevoked");
    saved.keep(&mut late);
    assert!(!saved.0.keys().any(|(_, key)| key.starts_with("ack ")), "nor is it so after the next start");
}

#[test]
fn what_was_said_before_and_after_a_late_disk_came_holds_together() {
    let mut before = sick(&["sda"]);
    before.apply(smartd(raise("sda", 2)), at(2)).unwrap();
    before.ack(&key(None), &by("root", 3), at(3)).unwrap();
    let mut saved = Disk::of(&before);
    let mut late = sick(&["sda"]);
    late.ack(&key(None), &by("bob", 4), at(4)).unwrap();
    late.skip_rows();
    assert_eq!(late.load(saved.rows(), at(5)).unreadable, 0);
    assert_eq!(status(&mut late), ConditionStatus::False);
    saved.keep(&mut late);
    let mut next = saved.restart(BOOT, at(6));
    assert_eq!(problems(&mut next), [("sda".to_owned(), Some("bob".to_owned()))]);
    next.apply(smartd(raise("sda", 7)), at(7)).unwrap();
    assert_eq!(problems(&mut next), [("sda".to_owned(), Some("bob".to_owned()))], "root saw smartd's");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    /// Whatever happens, what is said is of real problems that are there, and what is saved is what there is.
    #[test]
    fn what_turns_is_what_is_left(steps in histories(), calls in prop::collection::vec(0_u8..4, 50)) {
        let (mut ledger, mut saved) = (ledger(), Disk::default());
        for (n, (deed, now)) in timed(&steps).into_iter().enumerate() {
            apply(&mut ledger, &[(deed, now)]);
            match calls.get(n) {
                Some(1) => _ = ledger.ack(&key(None), &by("root", 0), now),
                Some(2) => _ = ledger.unack(&key(None), "root", now),
                _ => {}
            }
            saved.keep(&mut ledger);
            for state in ledger.states.values() {
                let turning = state.problems.keys().filter(|key| state.turns(key)).count();
                prop_assert_eq!(turning, state.turning);
                prop_assert!(state.acks.keys().all(|key| state.is_real(key)));
                prop_assert!(state.acks.keys().all(|key| state.outgrown(key).is_none()));
                let is_true = state.transition.status == Some(ConditionStatus::True);
                prop_assert_eq!(is_true, turning > 0);
            }
            prop_assert_eq!(&saved, &Disk::of(&ledger));
        }
        let shown = |ledger: &mut Ledger| {
            let all = ledger.conditions().into_iter();
            let problems = all.flat_map(|view| view.problems).map(|problem| (problem.id, problem.false_positive));
            problems.collect::<Vec<_>>()
        };
        let mut next = saved.restart(BOOT, timed(&steps).last().map_or(at(0), |(_, now)| *now));
        let live: Vec<_> = shown(&mut next).into_iter().filter(|(_, ack)| ack.is_some()).collect();
        let before: Vec<_> = shown(&mut ledger).into_iter().filter(|(_, ack)| ack.is_some()).collect();
        prop_assert_eq!(live, before);
    }
}
