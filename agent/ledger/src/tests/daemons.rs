//! Which daemons watch, which went silent, and what that does to a condition.

use nodewell_model::{Condition, Event, Status};

use super::{
    reports::{broken, condition, everything_of_disks, raid, take},
    *,
};
use crate::{Gap, Rejection};

fn with_ttl(state: DaemonState, secs: u64) -> DaemonReport {
    DaemonReport { ttl: Some(Duration::from_secs(secs)), ..report("kernel-monitor", state) }
}

#[test]
fn a_condition_no_daemon_watches_is_not_listed() {
    let mut ledger = ledger();
    assert!(ledger.conditions().is_empty());
    ledger.apply(raise("sda", 1), at(1)).unwrap();
    assert_eq!(ledger.conditions().len(), 1);
    ledger.apply(clear("sda", 2), at(2)).unwrap();
    assert!(ledger.conditions().is_empty());
}

#[test]
fn a_condition_is_unknown_until_its_monitor_runs() {
    let mut ledger = ledger();
    ledger.daemon(report("kernel-monitor", DaemonState::Starting), at(1)).unwrap();
    let view = disk(&mut ledger);
    assert_eq!(
        (view.status, view.reason.as_str(), view.transition),
        (ConditionStatus::Unknown, "MonitorStarting", wall(1))
    );
    ledger.daemon(report("kernel-monitor", DaemonState::Running), at(2)).unwrap();
    let view = disk(&mut ledger);
    assert_eq!((view.status, view.reason.as_str(), view.transition), (ConditionStatus::False, "AllIsWell", wall(2)));
}

#[test]
fn one_blind_monitor_of_two_makes_it_unknown_and_says_why() {
    let mut ledger = watched();
    let blind = DaemonReport {
        reason: Some(Name::fixed("PermissionDenied")),
        message: "cannot open /dev/kmsg".to_owned(),
        ..report("disk-monitor", DaemonState::Blind)
    };
    ledger.daemon(blind, at(5)).unwrap();
    let view = disk(&mut ledger);
    assert_eq!((view.status, view.reason.as_str()), (ConditionStatus::Unknown, "PermissionDenied"));
    assert_eq!((view.message.as_str(), view.transition), ("disk-monitor: cannot open /dev/kmsg", wall(5)));
    assert_eq!(ledger.daemons()[0].reason, "PermissionDenied");
}

#[test]
fn of_several_that_do_not_see_the_worst_is_named() {
    let mut ledger = watched();
    ledger.daemon(report("a", DaemonState::Starting), at(1)).unwrap();
    ledger.daemon(report("b", DaemonState::Dead), at(1)).unwrap();
    ledger.daemon(report("c", DaemonState::Blind), at(1)).unwrap();
    let view = disk(&mut ledger);
    assert_eq!((view.reason.as_str(), view.message.as_str()), ("MonitorDead", "b: has ended; start it again"));
}

#[test]
fn silence_past_the_ttl_turns_conditions_unknown_and_leaves_problems_unconfirmed() {
    let mut ledger = ledger();
    ledger.daemon(with_ttl(DaemonState::Running, 30), at(0)).unwrap();
    ledger.apply(raise("sda", 1), at(1)).unwrap();
    assert_eq!(ledger.next_deadline(), Some(at(30).boottime));
    ledger.advance(at(29));
    assert_eq!(ledger.daemons()[0].state, DaemonState::Running);
    ledger.advance(at(40));
    assert_eq!((ledger.daemons()[0].state, ledger.next_deadline()), (DaemonState::Stale, None));
    let views = ledger.conditions();
    assert_eq!((views[0].status, views[0].problems[0].unconfirmed_since), (ConditionStatus::True, Some(wall(30))));
    assert_eq!((views[1].status, views[1].reason.as_str()), (ConditionStatus::Unknown, "MonitorStale"));
    assert_eq!(views[1].transition, wall(30));
    ledger.daemon(with_ttl(DaemonState::Running, 30), at(41)).unwrap();
    let views = ledger.conditions();
    assert_eq!(views[0].problems[0].unconfirmed_since, None);
    assert_eq!((views[1].status, views[1].transition), (ConditionStatus::False, wall(41)));
}

#[test]
fn a_heartbeat_keeps_a_daemon_and_is_no_change() {
    let mut ledger = ledger();
    ledger.daemon(with_ttl(DaemonState::Running, 30), at(0)).unwrap();
    let version = ledger.version();
    ledger.daemon(with_ttl(DaemonState::Running, 30), at(20)).unwrap();
    assert_eq!((ledger.version(), ledger.next_deadline()), (version, Some(at(50).boottime)));
    ledger.advance(at(49));
    assert_eq!(status(&mut ledger), ConditionStatus::False);
}

#[test]
fn one_that_sent_its_last_report_is_not_stale_later() {
    let mut ledger = ledger();
    ledger.daemon(with_ttl(DaemonState::Dead, 30), at(0)).unwrap();
    ledger.advance(at(100));
    assert_eq!(disk(&mut ledger).reason.as_str(), "MonitorDead");
}

#[test]
fn a_problem_is_confirmed_while_one_of_its_claimants_reports() {
    let mut ledger = watched();
    ledger.apply(raise("sda", 1), at(1)).unwrap();
    ledger.apply(Finding { source: "smartd".into(), ..raise("sda", 1) }, at(1)).unwrap();
    ledger.daemon(report("kernel-monitor", DaemonState::Dead), at(5)).unwrap();
    assert_eq!(disk(&mut ledger).problems[0].unconfirmed_since, None);
    ledger.daemon(report("smartd", DaemonState::Blind), at(7)).unwrap();
    ledger.daemon(report("smartd", DaemonState::Dead), at(9)).unwrap();
    assert_eq!(disk(&mut ledger).problems[0].unconfirmed_since, Some(wall(7)));
}

#[test]
fn a_gap_is_an_event_of_the_agent() {
    let mut ledger = watched();
    let gap = Gap {
        source: "kernel-monitor".into(),
        lost: Some(12),
        message: "overrun".to_owned(),
        time: wall(4),
        origin: None,
    };
    ledger.gap(gap, at(5));
    let event = ledger.take_events().pop().unwrap();
    assert_eq!((event.reason.as_str(), event.count, event.severity), ("RecordsLost", 12, Severity::Warn));
    assert!(matches!(event.origin, Origin::Agent { sequence: 1, .. }));
}

#[test]
fn a_retired_monitor_leaves_nothing_behind() {
    let mut ledger = watched();
    ledger.daemon(with_ttl(DaemonState::Running, 30), at(0)).unwrap();
    ledger.apply(raise("sda", 1), at(1)).unwrap();
    assert_eq!(ledger.retire("kernel-monitor", at(2)), 1);
    assert!(ledger.conditions().is_empty() && ledger.daemons().is_empty());
    assert_eq!(ledger.next_deadline(), None);
}

#[test]
fn daemons_are_bounded() {
    let mut ledger = ledger().with_limits(crate::Limits { daemons: 1, ..Default::default() });
    ledger.daemon(report("a", DaemonState::Running), at(0)).unwrap();
    let refused = ledger.daemon(report("b", DaemonState::Running), at(0));
    assert_eq!(refused, Err(Rejection::TooManyDaemons("b".into())));
    ledger.daemon(report("a", DaemonState::Dead), at(0)).unwrap();
}

#[test]
fn whether_a_daemon_has_looked_at_all_is_shown_until_it_stops() {
    let mut ledger = ledger();
    let full = |ledger: &Ledger| ledger.daemons().iter().find(|daemon| daemon.name == "raid@root").unwrap().full;
    take(&mut ledger, raid(Vec::new()), 1);
    assert!(!full(&ledger), "its first report is a sign of life");
    take(&mut ledger, Status { full: true, ..raid(vec![broken("md0", 2)]) }, 2);
    assert!(full(&ledger));
    take(&mut ledger, raid(Vec::new()), 3);
    assert!(full(&ledger), "a heartbeat takes nothing back");
    take(&mut ledger, Status { last: true, linger_secs: Some(60), ..raid(Vec::new()) }, 4);
    take(&mut ledger, raid(Vec::new()), 5);
    assert!(!full(&ledger), "it was started again");
}

#[test]
fn a_doubt_that_another_one_stands_for_is_shown_no_more() {
    let mut ledger = ledger();
    let unsure =
        |subject, reason| Condition { reason: Name::fixed(reason), ..condition(subject, ConditionStatus::Unknown, 5) };
    take(&mut ledger, raid(vec![unsure(Some("md0"), "MdadmHangs"), unsure(None, "RaidUnreadable")]), 6);
    assert_eq!(disk(&mut ledger).reason.as_str(), "MdadmHangs");
    take(&mut ledger, raid(vec![unsure(None, "RaidUnreadable")]), 7);
    let view = disk(&mut ledger);
    assert_eq!((view.reason.as_str(), view.transition), ("RaidUnreadable", wall(5)));
}

#[test]
fn a_person_waits_no_longer_for_a_daemon_that_is_gone() {
    let (mut ledger, disks) = (ledger(), Name::fixed("DiskUnhealthy"));
    take(&mut ledger, raid(vec![broken("md0", 5)]), 5);
    ledger.advance(at(40));
    assert!(everything_of_disks().is_of_all());
    assert_eq!(ledger.clear(&everything_of_disks(), at(41)), 1);
    assert_eq!(disk(&mut ledger).reason.as_str(), "MonitorStale");
    assert!(ledger.give_up(&disks, |principal| principal == "root", at(42)).is_empty(), "one of ours is waited for");
    assert_eq!(status(&mut ledger), ConditionStatus::Unknown);
    assert_eq!(ledger.give_up(&disks, |_| false, at(43)), ["raid@root"]);
    assert!(ledger.conditions().is_empty() && ledger.daemons().is_empty());
    assert_eq!(ledger.next_deadline(), None);
    take(&mut ledger, raid(vec![broken("md0", 50)]), 50);
    assert_eq!(status(&mut ledger), ConditionStatus::True, "it was there all the same");
}

/// It would be shown silent for a day, and nothing would end that.
#[test]
fn a_daemon_is_given_up_though_its_condition_is_declared_no_more() {
    let (mut ledger, disks) = (ledger(), Name::fixed("DiskUnhealthy"));
    take(&mut ledger, raid(vec![broken("md0", 5)]), 5);
    assert_eq!(ledger.awaited(&disks, |_| false), ["raid@root"]);
    assert!(ledger.awaited(&disks, |principal| principal == "root").is_empty(), "one of ours");
    ledger.set_catalogue(vec![spec("KernelDeadlock")], at(6));
    ledger.advance(at(40));
    assert!(ledger.knows_condition(&disks) && ledger.awaited(&disks, |_| false).is_empty());
    assert_eq!(ledger.clear(&everything_of_disks(), at(41)), 0);
    assert_eq!(ledger.give_up(&disks, |_| false, at(41)), ["raid@root"]);
    assert!(!ledger.knows_condition(&disks) && ledger.daemons().is_empty());
}

#[test]
fn one_that_is_given_up_lists_a_condition_by_its_name_alone_and_no_report_counts_twice() {
    let (mut ledger, disks) = (ledger(), Name::fixed("DiskUnhealthy"));
    let event = Event {
        severity: Severity::Warn,
        reason: Name::fixed("RaidLookedAt"),
        message: String::new(),
        subject: None,
        timestamp: wall(5),
        seen_by: None,
    };
    let first = Status {
        id: Some("1".to_owned()),
        events: vec![event],
        ..raid(vec![condition(None, ConditionStatus::False, 5)])
    };
    take(&mut ledger, first.clone(), 5);
    ledger.advance(at(40));
    assert_eq!(ledger.give_up(&disks, |_| false, at(41)), ["raid@root"]);
    let counted = ledger.counters().raised.clone();
    take(&mut ledger, raid(Vec::new()), 42);
    assert!(ledger.conditions().is_empty(), "a heartbeat names none");
    take(&mut ledger, first, 43);
    assert_eq!(ledger.counters().raised, counted, "its answer was lost");
    take(&mut ledger, raid(vec![condition(None, ConditionStatus::False, 44)]), 44);
    assert_eq!(status(&mut ledger), ConditionStatus::False);
}

#[test]
fn of_a_daemon_that_is_given_up_for_one_condition_the_others_stay() {
    let (mut ledger, disks) = (ledger(), Name::fixed("DiskUnhealthy"));
    let deadlock = condition(None, ConditionStatus::False, 5);
    let deadlock = Condition { condition: Name::fixed("KernelDeadlock"), ..deadlock };
    take(&mut ledger, raid(vec![condition(None, ConditionStatus::Unknown, 5), deadlock]), 5);
    assert!(ledger.give_up(&disks, |_| false, at(6)).is_empty(), "it runs, and does not know");
    ledger.advance(at(40));
    assert_eq!(ledger.give_up(&disks, |_| false, at(41)), ["raid@root"]);
    let mut next = Disk::of(&ledger).restart(BOOT, at(42));
    for ledger in [&mut ledger, &mut next] {
        let views = ledger.conditions();
        let shown: Vec<_> = views.iter().map(|view| (view.condition.as_str(), view.status)).collect();
        assert_eq!(shown, [("KernelDeadlock", ConditionStatus::Unknown)]);
        take(ledger, raid(vec![condition(None, ConditionStatus::False, 50)]), 50);
        assert_eq!(ledger.conditions().len(), 2, "it names it again");
    }
}

#[test]
fn what_was_reported_before_the_boot_by_one_that_promises_nothing_is_given_up() {
    let (mut ledger, disks) = (ledger(), Name::fixed("DiskUnhealthy"));
    let once = Status { ttl_secs: Some(0), ..raid(vec![condition(None, ConditionStatus::False, 5)]) };
    take(&mut ledger, once, 5);
    assert!(ledger.give_up(&disks, |_| false, at(6)).is_empty(), "what it reported holds");
    let mut booted = Disk::of(&ledger).restart(OTHER_BOOT, at(60));
    assert_eq!(disk(&mut booted).reason.as_str(), "MonitorStarting");
    assert_eq!(booted.give_up(&disks, |_| false, at(61)), ["raid@root"]);
    assert!(booted.conditions().is_empty() && booted.daemons().is_empty());
}

#[test]
fn what_comes_without_a_message_is_shown_by_its_subject_and_its_end_has_words() {
    let mut ledger = ledger();
    let silent = |status| Condition { message: String::new(), ..condition(Some("md0"), status, 5) };
    take(&mut ledger, raid(vec![silent(ConditionStatus::True)]), 5);
    assert_eq!(disk(&mut ledger).message, "md0");
    take(&mut ledger, raid(vec![silent(ConditionStatus::False)]), 6);
    let ended = ledger.take_events().pop().unwrap();
    assert_eq!(ended.message, "RaidDegraded on md0 is over: its daemon no longer reports it");
    take(&mut ledger, raid(vec![silent(ConditionStatus::Unknown)]), 7);
    assert_eq!(disk(&mut ledger).message, "raid@root");
}

#[test]
fn an_event_that_a_running_monitor_sees_too_is_that_monitors() {
    let seen_by = |name: &str| Event {
        severity: Severity::Warn,
        timestamp: wall(1),
        reason: Name::fixed("GpuXid31MemoryPageFault"),
        message: "m".to_owned(),
        subject: None,
        seen_by: Some(name.to_owned()),
    };
    let states =
        [(DaemonState::Starting, 1), (DaemonState::Running, 0), (DaemonState::Blind, 1), (DaemonState::Dead, 1)];
    for (state, taken) in states {
        let mut ledger = ledger();
        ledger.daemon(report("kernel-monitor", state), at(0)).unwrap();
        take(&mut ledger, Status { events: vec![seen_by("kernel-monitor")], ..raid(Vec::new()) }, 1);
        assert_eq!((ledger.take_events().len(), ledger.counters().raised.len()), (taken, taken), "{state:?}");
        take(&mut ledger, Status { events: vec![seen_by("no-monitor"), seen_by("raid@root")], ..raid(Vec::new()) }, 2);
        assert_eq!(ledger.take_events().len(), 2, "neither is a monitor");
    }
}
