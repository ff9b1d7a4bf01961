//! Muting: what is muted is shown and turns nothing, for as long as it was muted and over restarts.

use nodewell_model::{ConditionStatus, EventRecord, Mute, MuteKey, Name, view::ProblemView};

use super::{BOOT, Disk, Ledger, at, clear, disk, ledger, raise, status, wall, watched};
use crate::{Rejection, ledger::Applied};

fn key(subject: Option<&str>) -> MuteKey {
    MuteKey { reason: Name::fixed("IOError"), condition: None, subject: subject.map(str::to_owned) }
}

fn mute(subject: Option<&str>, until: i64) -> Mute {
    Mute { key: key(subject), until: wall(until), why: "on order".to_owned(), by: "root".to_owned(), configured: false }
}

fn configured(subject: Option<&str>, until: i64) -> Mute {
    Mute { configured: true, by: "nodewell.toml:3".to_owned(), ..mute(subject, until) }
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

fn problems(ledger: &mut Ledger) -> Vec<(String, bool)> {
    let shown = |one: ProblemView| (one.subject.unwrap_or_default(), one.muted_until.is_some());
    disk(ledger).problems.into_iter().map(shown).collect()
}

#[test]
fn a_muted_problem_is_shown_and_turns_nothing() {
    let mut ledger = sick(&["sda", "sdb"]);
    assert_eq!(ledger.mute(mute(Some("sda"), 100), at(2)), Ok(1));
    assert_eq!(status(&mut ledger), ConditionStatus::True, "sdb is not muted");
    let view = disk(&mut ledger);
    assert_eq!(view.message, "I/O error, dev sdb; 1 muted", "what is not muted stands for it");
    assert_eq!(problems(&mut ledger), [("sdb".to_owned(), false), ("sda".to_owned(), true)]);
    assert_eq!(ledger.mute(mute(None, 50), at(3)), Ok(2), "all of the reason");
    let view = disk(&mut ledger);
    assert_eq!((view.status, view.reason.as_str()), (ConditionStatus::False, "ProblemsMuted"));
    let until = wall(100);
    assert_eq!(view.message, format!("2 problems are muted; IOError on sda is muted until {until} by root: on order"));
    assert_eq!(view.transition, wall(3), "muting is a transition");
    let seen = events(&mut ledger);
    assert_eq!(seen[0].0, "ProblemMuted");
    assert_eq!(seen[0].1, format!("IOError on sda is muted until {until} by root: on order"));
    ledger.apply(raise("sda", 4), at(4)).unwrap();
    assert_eq!(disk(&mut ledger).problems.iter().map(|one| one.count).sum::<u64>(), 3, "it counts on");
    assert!(ledger.counters().gauges.iter().all(|gauge| gauge.active));
}

#[test]
fn it_ends_by_itself_and_the_problem_counts_again() {
    let mut ledger = sick(&["sda"]);
    ledger.mute(mute(None, 100), at(2)).unwrap();
    events(&mut ledger);
    assert_eq!(ledger.next_deadline(), Some(at(62).boottime), "a clock that was set is noticed within a minute");
    ledger.advance(at(62));
    assert_eq!((status(&mut ledger), events(&mut ledger).len()), (ConditionStatus::False, 0));
    assert_eq!(ledger.next_deadline(), Some(at(100).boottime));
    ledger.advance(at(100));
    assert_eq!(status(&mut ledger), ConditionStatus::True);
    let seen = events(&mut ledger);
    assert_eq!(seen, [("MuteEnded".to_owned(), "the mute of IOError has ended: its time is over".to_owned())]);
    assert_eq!(ledger.mutes(), []);
    ledger.advance(at(100 + 24 * 3600));
    assert_eq!(ledger.next_deadline(), None, "a clock that was wrong would have been set right by then");
}

#[test]
fn it_is_taken_back_by_exactly_its_key() {
    let mut ledger = sick(&["sda"]);
    ledger.mute(mute(Some("sda"), 100), at(2)).unwrap();
    assert_eq!(ledger.unmute(&key(None), "root", at(3)), Ok(None));
    assert_eq!(ledger.unmute(&key(Some("sda")), "alice (root)", at(3)), Ok(Some(1)));
    assert_eq!(status(&mut ledger), ConditionStatus::True);
    let seen = events(&mut ledger);
    assert_eq!(seen[1].1, "the mute of IOError on sda has ended: taken back by alice (root)");
}

#[test]
fn one_that_is_over_is_not_taken_back_a_second_time() {
    let mut ledger = sick(&["sda"]);
    ledger.mute(mute(None, 100), at(2)).unwrap();
    ledger.advance(at(100));
    events(&mut ledger);
    let over = Rejection::MuteIsOver("IOError".to_owned(), wall(100));
    assert_eq!(ledger.unmute(&key(None), "root", at(101)), Err(over));
    assert!(events(&mut ledger).is_empty(), "its end was reported");
    assert_eq!(ledger.unmute(&key(None), "root", at(102)), Ok(None));
}

#[test]
fn behind_one_that_is_over_the_configuration_still_mutes() {
    let mut ledger = sick(&["sda"]).with_mutes(vec![configured(None, 500)], at(2));
    ledger.mute(mute(None, 100), at(3)).unwrap();
    ledger.advance(at(100));
    let by_file = Rejection::MutedByConfiguration("IOError".to_owned(), "nodewell.toml:3".to_owned());
    assert_eq!(ledger.unmute(&key(None), "root", at(101)), Err(by_file));
    assert_eq!(status(&mut ledger), ConditionStatus::False);
}

#[test]
fn a_muted_problem_ends_as_any_other() {
    let mut ledger = sick(&["sda", "sdb"]);
    ledger.mute(mute(None, 100), at(2)).unwrap();
    events(&mut ledger);
    ledger.apply(clear("sda", 3), at(3)).unwrap();
    assert_eq!(events(&mut ledger)[0].0, "ProblemEnded", "sdb is still there, if muted");
    ledger.apply(clear("sdb", 4), at(4)).unwrap();
    assert_eq!(events(&mut ledger)[0].0, "AllIsWell");
    let view = disk(&mut ledger);
    assert_eq!((view.reason.as_str(), view.transition), ("AllIsWell", wall(2)), "it was no transition");
}

#[test]
fn it_outlives_restarts_and_reboots_without_a_turn() {
    let mut ledger = sick(&["sda"]);
    ledger.mute(mute(None, 100), at(2)).unwrap();
    let saved = Disk::of(&ledger);
    for boot in [BOOT, super::OTHER_BOOT] {
        let mut next = saved.restart(boot, at(10));
        next.daemon(super::report("kernel-monitor", nodewell_model::view::DaemonState::Running), at(10)).unwrap();
        assert_eq!(next.mutes().len(), 1);
        let view = disk(&mut next);
        assert_eq!((view.status, view.reason.as_str()), (ConditionStatus::False, "ProblemsMuted"), "{boot}");
        assert_eq!(view.transition, wall(2), "nothing turned");
        assert!(events(&mut next).is_empty(), "it goes on: no news");
        assert_eq!(next.next_deadline(), Some(at(70).boottime));
    }
    let mut late = saved.restart(BOOT, at(200));
    assert_eq!(events(&mut late)[0].0, "MuteEnded", "it ended meanwhile");
    assert_eq!(late.mutes(), []);
    let mut disk_of_late = saved.clone();
    disk_of_late.keep(&mut late);
    assert!(!disk_of_late.0.keys().any(|(_, key)| key.starts_with("mute ")), "and is struck from the store");
}

#[test]
fn the_configuration_mutes_and_is_changed_there_only() {
    let mut ledger = sick(&["sda"]).with_mutes(vec![configured(None, 100)], at(2));
    assert_eq!(status(&mut ledger), ConditionStatus::False);
    assert!(events(&mut ledger).is_empty(), "a start is no news");
    let refused = ledger.unmute(&key(None), "root", at(3)).unwrap_err();
    assert_eq!(refused, Rejection::MutedByConfiguration("IOError".to_owned(), "nodewell.toml:3".to_owned()));
    assert!(!Disk::of(&ledger).0.keys().any(|(_, key)| key.starts_with("mute ")), "it comes from there again");
    let moved = Mute { by: "nodewell.toml:9".to_owned(), ..configured(None, 100) };
    ledger.configure_mutes(vec![moved], at(4));
    assert!(events(&mut ledger).is_empty(), "on another line it is the same");
    ledger.configure_mutes(vec![configured(None, 200)], at(5));
    assert_eq!(events(&mut ledger)[0].0, "ProblemMuted");
    ledger.configure_mutes(vec![], at(6));
    assert_eq!(events(&mut ledger)[0].1, "the mute of IOError has ended: the configuration has it no more");
    assert_eq!(status(&mut ledger), ConditionStatus::True);
}

#[test]
fn a_person_may_mute_what_the_configuration_does_and_keeps_that_mute() {
    let mut ledger = sick(&["sda"]).with_mutes(vec![configured(None, 100)], at(2));
    assert_eq!(ledger.mute(mute(None, 500), at(3)), Ok(1));
    let mut saved = Disk::default();
    saved.keep(&mut ledger);
    ledger.advance(at(100));
    assert_eq!(status(&mut ledger), ConditionStatus::False, "the longer one holds");
    // What the configuration still has is over: a person's mute of the same is not its matter.
    let mut next = saved.restart(BOOT, at(110)).with_mutes(vec![configured(None, 100)], at(110));
    next.configure_mutes(vec![configured(None, 100)], at(111));
    assert_eq!((status(&mut next), next.mutes().len()), (ConditionStatus::False, 1));
    assert_eq!(next.unmute(&key(None), "root", at(112)), Ok(Some(1)));
    assert_eq!(next.unmute(&key(None), "root", at(112)), Ok(None), "nor is it muted by what is over");
}

#[test]
fn what_another_mute_still_covers_does_not_count_again() {
    let mut ledger = sick(&["sda"]).with_mutes(vec![configured(None, 100)], at(2));
    ledger.mute(mute(Some("sda"), 50), at(3)).unwrap();
    assert_eq!(ledger.unmute(&key(Some("sda")), "root", at(4)), Ok(Some(0)));
    assert_eq!(status(&mut ledger), ConditionStatus::False);
}

#[test]
fn two_of_one_in_the_configuration_are_one_and_no_news() {
    let both = || vec![configured(None, 100), configured(None, 200)];
    let mut ledger = sick(&["sda"]).with_mutes(both(), at(2));
    ledger.configure_mutes(both(), at(3));
    assert!(events(&mut ledger).is_empty());
    assert_eq!(ledger.mutes()[0].until, wall(200), "the later one counts");
}

#[test]
fn a_step_of_the_clock_forgets_no_mute() {
    let mut ledger = sick(&["sda"]);
    ledger.mute(mute(None, 1000), at(2)).unwrap();
    let ahead = crate::Now { wall: wall(5_000_000), ..at(62) };
    ledger.advance(ahead);
    assert_eq!(status(&mut ledger), ConditionStatus::True);
    ledger.advance(at(122));
    assert_eq!(
        (status(&mut ledger), ledger.mutes().len()),
        (ConditionStatus::False, 1),
        "set right, it is muted again"
    );
    let saved = Disk::of(&ledger);
    assert!(saved.0.keys().any(|(_, key)| key.starts_with("mute ")));
}

/// A clock that is wrong at the start is set right: what the configuration has is in force then.
#[test]
fn a_clock_that_is_set_back_brings_the_configurations_mutes_back() {
    let mut ledger = sick(&["sda"]).with_mutes(vec![configured(None, 100)], at(500));
    assert_eq!(status(&mut ledger), ConditionStatus::True);
    assert_eq!(ledger.next_deadline(), Some(at(560).boottime));
    let set_back = crate::Now { wall: wall(50), ..at(560) };
    ledger.advance(set_back);
    assert_eq!(status(&mut ledger), ConditionStatus::False);
}

#[test]
fn what_no_monitor_watches_is_shown_all_the_same() {
    let mut ledger = super::ledger();
    ledger.apply(raise("sda", 1), at(1)).unwrap();
    ledger.mute(mute(None, 100), at(2)).unwrap();
    assert_eq!(status(&mut ledger), ConditionStatus::False);
    assert_eq!(problems(&mut ledger), [("sda".to_owned(), true)]);
}

#[test]
fn no_more_than_a_person_can_mean() {
    let mut ledger = watched();
    for n in 0..256 {
        ledger.mute(mute(Some(&format!("sd{n}")), 100), at(1)).unwrap();
    }
    assert_eq!(ledger.mute(mute(None, 100), at(1)), Err(Rejection::TooManyMutes(256)));
    assert_eq!(ledger.mute(mute(Some("sd7"), 200), at(1)), Ok(0), "the same once more");
}

#[test]
fn a_mute_of_a_condition_is_of_that_one_only() {
    let mut ledger = sick(&["sda"]);
    let of = |condition: &'static str| Mute {
        key: MuteKey { condition: Some(Name::fixed(condition)), ..key(None) },
        ..mute(None, 100)
    };
    assert_eq!(ledger.mute(of("KernelDeadlock"), at(2)), Ok(0));
    assert_eq!(status(&mut ledger), ConditionStatus::True);
    assert_eq!(ledger.mute(of("DiskUnhealthy"), at(2)), Ok(1));
    assert_eq!(status(&mut ledger), ConditionStatus::False);
}

#[test]
fn a_condition_that_nothing_watches_yet_is_muted_all_the_same() {
    let mut ledger = ledger();
    let of = |condition: &str| Mute {
        key: MuteKey { condition: Some(condition.parse().unwrap()), ..key(None) },
        ..mute(None, 100)
    };
    assert_eq!(ledger.mute(of("DiskUnhealthy"), at(2)), Ok(0));
    let unknown = "Nonsense".parse().unwrap();
    assert_eq!(ledger.mute(of("Nonsense"), at(2)), Err(Rejection::UnknownCondition(unknown)));
    ledger.apply(raise("sda", 3), at(3)).unwrap();
    assert_eq!(disk(&mut ledger).reason.as_str(), "ProblemsMuted");
}
