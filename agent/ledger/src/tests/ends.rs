//! The ways a problem ends by itself, by hand, by a reload.

use nodewell_model::{api::ProblemVersion, view::ProblemView};

use super::*;
use crate::{Applied, ClearRequest};

fn quiet(subject: &str, secs: i64, quiet_secs: u64) -> Finding {
    Finding { ends_after_quiet: Some(Duration::from_secs(quiet_secs)), ..raise(subject, secs) }
}

#[test]
fn quiet_is_counted_from_the_record_on_the_clock_of_arrival() {
    let mut ledger = watched();
    ledger.apply(quiet("sda", 0, 60), at(10)).unwrap();
    assert_eq!(ledger.next_deadline(), Some(at(60).boottime));
    ledger.apply(quiet("sda", 30, 60), at(30)).unwrap();
    ledger.advance(at(60));
    assert_eq!(status(&mut ledger), ConditionStatus::True);
    ledger.advance(at(95));
    let view = disk(&mut ledger);
    assert_eq!((view.status, view.transition), (ConditionStatus::False, wall(90)));
    let ended = ledger.take_events().pop().unwrap();
    assert_eq!((ended.message.as_str(), ended.time), ("IOError on sda is over: not seen again for 1m", wall(90)));
    assert!(matches!(ended.origin, Origin::Ended { .. }));
}

#[test]
fn a_problem_that_was_over_before_it_was_read_is_not_raised() {
    let mut ledger = watched();
    assert_eq!(ledger.apply(quiet("sda", -60, 60), at(0)), Ok(Applied::Over));
    assert_eq!(status(&mut ledger), ConditionStatus::False);
    assert!(ledger.take_events().is_empty());
    ledger.apply(quiet("sda", 1, 60), at(1)).unwrap();
    assert_eq!(ledger.apply(quiet("sda", -60, 60), at(2)), Ok(Applied::Over));
    assert_eq!(disk(&mut ledger).problems[0].count, 1);
}

#[test]
fn a_wall_clock_that_jumps_back_does_not_shorten_the_quiet_time() {
    let mut ledger = watched();
    ledger.apply(quiet("sda", 0, 60), at(0)).unwrap();
    let jumped = Now { wall: wall(-3_000), ..at(50) };
    ledger.apply(quiet("sda", -3_000, 60), jumped).unwrap();
    assert_eq!(ledger.next_deadline(), Some(at(110).boottime));
}

#[test]
fn what_another_boot_showed_is_not_raised_if_it_ends_at_boot() {
    let mut ledger = watched();
    let old = Finding { ends_at_boot: true, boot_id: boot(OTHER_BOOT), ..raise("sda", 1) };
    assert_eq!(ledger.apply(old.clone(), at(1)), Ok(Applied::OtherBoot));
    assert_eq!(ledger.apply(Finding { ends_at_boot: false, ..old.clone() }, at(1)), Ok(Applied::Started));
    assert_eq!(ledger.apply(Finding { boot_id: None, ..old }, at(1)), Ok(Applied::Repeated));
}

#[test]
fn a_test_ends_after_a_minute_and_touches_nothing_real() {
    let mut ledger = watched();
    let test = |subject, secs| Finding { test: true, ..raise(subject, secs) };
    ledger.apply(raise("sda", 0), at(0)).unwrap();
    assert_eq!(ledger.apply(test("sda", 1), at(1)), Ok(Applied::Started));
    assert_eq!(ledger.apply(test("sdb", 1), at(1)), Ok(Applied::Started));
    assert_eq!(disk(&mut ledger).problems.iter().map(|p| p.test).collect::<Vec<_>>(), [false, true]);
    ledger.apply(Finding { test: true, ..clear("sda", 2) }, at(2)).unwrap();
    assert_eq!(disk(&mut ledger).problems.len(), 2);
    ledger.apply(Finding { subject: None, ..clear("", 3) }, at(3)).unwrap();
    assert_eq!(disk(&mut ledger).problems[0].subject.as_deref(), Some("sdb"));
    ledger.advance(at(61));
    assert_eq!(status(&mut ledger), ConditionStatus::False);
    let ended = ledger.take_events().pop().unwrap();
    assert_eq!((ended.test, ended.message.as_str()), (true, "IOError on sdb is over: the test is over"));
}

#[test]
fn a_test_of_a_real_problem_shows_in_its_event_only() {
    let mut ledger = watched();
    ledger.apply(raise("sda", 0), at(0)).unwrap();
    ledger.take_events();
    let before = disk(&mut ledger);
    ledger.apply(Finding { test: true, severity: Severity::Critical, ..raise("sda", 1) }, at(1)).unwrap();
    assert_eq!(disk(&mut ledger), before);
    assert!(ledger.take_events()[0].test);
    ledger.advance(at(61));
    assert_eq!(disk(&mut ledger), before);
    assert!(ledger.take_events().is_empty());
}

#[test]
fn a_person_clears_the_claims_of_everyone() {
    let mut ledger = watched();
    ledger.apply(quiet("sda", 1, 600), at(1)).unwrap();
    ledger.apply(Finding { source: "smartd".into(), ..raise("sda", 1) }, at(1)).unwrap();
    ledger.apply(raise("sdb", 1), at(1)).unwrap();
    let condition = Name::fixed("DiskUnhealthy");
    let one = ClearRequest {
        condition,
        reason: None,
        subject: Some("sda".to_owned()),
        id: None,
        evidence: None,
        if_unchanged_since: None,
        peer: None,
    };
    assert_eq!(ledger.clear(&one, at(2)), 1);
    assert_eq!((ledger.clear(&one, at(2)), ledger.next_deadline()), (0, None));
    assert_eq!(ledger.clear(&ClearRequest { subject: None, ..one }, at(3)), 1);
    assert_eq!(disk(&mut ledger).transition, wall(3));
    assert_eq!(ledger.take_events().pop().unwrap().source, "nodewell");
}

#[test]
fn what_was_claimed_again_since_it_was_looked_at_stays() {
    let mut ledger = watched();
    ledger.apply(raise("sda", 1), at(1)).unwrap();
    ledger.apply(raise("sdb", 1), at(1)).unwrap();
    let condition = Name::fixed("DiskUnhealthy");
    let by = |looked: &ProblemView| ClearRequest {
        condition: condition.clone(),
        reason: None,
        subject: None,
        id: Some(looked.id.clone()),
        evidence: Some("it takes writes again".to_owned()),
        if_unchanged_since: Some(ProblemVersion { count: looked.count, last_seen: looked.last_seen }),
        peer: None,
    };
    let sda = |ledger: &mut Ledger| disk(ledger).problems.into_iter().find(|one| one.subject.as_deref() == Some("sda"));
    let looked = sda(&mut ledger).unwrap();
    // The wall clock stepped back: only the count shows that it is newer.
    ledger.apply(raise("sda", 0), at(2)).unwrap();
    assert_eq!(ledger.clear(&by(&looked), at(3)), 0);
    let again = sda(&mut ledger).unwrap();
    assert_eq!(ledger.clear(&by(&again), at(4)), 1);
    assert_eq!(disk(&mut ledger).problems[0].subject.as_deref(), Some("sdb"), "no other one");
    assert!(ledger.take_events().pop().unwrap().message.ends_with("is over: it takes writes again"));
    ledger.apply(Finding { count: 2, ..raise("sda", 5) }, at(5)).unwrap();
    assert_eq!(ledger.clear(&by(&again), at(6)), 0, "another problem, seen as often");
}

#[test]
fn a_reload_keeps_what_stays_and_ends_what_goes() {
    let mut ledger = watched();
    ledger.apply(raise("sda", 1), at(1)).unwrap();
    let deadlock = Finding { condition: Some(Name::fixed("KernelDeadlock")), ..quiet("init", 1, 60) };
    ledger.apply(deadlock, at(1)).unwrap();
    ledger.set_catalogue(vec![spec("DiskUnhealthy"), spec("CpuUnhealthy")], at(5));
    assert_eq!(ledger.next_deadline(), None);
    assert_eq!(disk(&mut ledger).transition, wall(1));
    let types: Vec<_> = ledger.conditions().into_iter().map(|view| view.condition).collect();
    assert_eq!(types, [Name::fixed("DiskUnhealthy")]);
    let cpu = Finding { condition: Some(Name::fixed("CpuUnhealthy")), ..raise("cpu0", 6) };
    assert_eq!(ledger.apply(cpu, at(6)), Ok(Applied::Started));
}
