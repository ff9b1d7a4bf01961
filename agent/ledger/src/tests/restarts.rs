//! A ledger put away and taken up again.

use nodewell_model::Status;

use super::{
    reports::{condition, raid},
    *,
};

fn restored(ledger: &Ledger, boot_id: &str, now: Now) -> Ledger {
    Disk::of(ledger).restart(boot_id, now)
}

#[test]
fn a_restart_ends_nothing_and_tells_nothing_again() {
    let mut ledger = watched();
    ledger.apply(raise("sda", 1), at(1)).unwrap();
    ledger.take_events();
    let mut after = restored(&ledger, BOOT, at(9));
    assert_eq!(disk(&mut after), disk(&mut ledger));
    assert!(after.take_events().is_empty());
    after.apply(clear("sda", 10), at(10)).unwrap();
    assert_eq!(after.take_events()[0].id, 2);
}

#[test]
fn a_restart_is_no_transition() {
    let mut ledger = watched();
    ledger.apply(raise("sda", 1), at(1)).unwrap();
    ledger.apply(clear("sda", 5), at(5)).unwrap();
    let before = disk(&mut ledger);
    assert_eq!((before.status, before.transition), (ConditionStatus::False, wall(5)));
    let mut after = restored(&ledger, BOOT, at(9));
    after.daemon(report("kernel-monitor", DaemonState::Starting), at(9)).unwrap();
    assert_eq!(disk(&mut after).status, ConditionStatus::Unknown);
    // Killed before any report came: the one after that knows as much.
    let mut third = restored(&after, BOOT, at(10));
    third.daemon(report("kernel-monitor", DaemonState::Starting), at(10)).unwrap();
    third.daemon(report("kernel-monitor", DaemonState::Running), at(11)).unwrap();
    assert_eq!(disk(&mut third), before);
    third.apply(raise("sda", 12), at(12)).unwrap();
    assert_eq!(disk(&mut third).transition, wall(12));
}

/// The agent and its check processes stop and start together.
#[test]
fn a_condition_of_a_service_that_stops_with_the_agent_outlives_both() {
    for boot_id in [BOOT, OTHER_BOOT] {
        let mut ledger = ledger();
        let healthy = |secs| raid(vec![condition(None, ConditionStatus::False, secs)]);
        ledger.report(vec![healthy(5)], &root(OnStale::Keep), at(6)).unwrap();
        let before = disk(&mut ledger);
        let stop = Status { last: true, linger_secs: Some(60), ..raid(Vec::new()) };
        ledger.report(vec![stop], &root(OnStale::Keep), at(100)).unwrap();
        let mut after = restored(&ledger, boot_id, at(500));
        let expected = if boot_id == BOOT { ConditionStatus::False } else { ConditionStatus::Unknown };
        assert_eq!(status(&mut after), expected, "nothing has looked since a boot");
        after.advance(at(559));
        after.report(vec![healthy(559)], &root(OnStale::Keep), at(559)).unwrap();
        assert_eq!(disk(&mut after), before);
        let mut gone = restored(&ledger, boot_id, at(500));
        gone.advance(at(560));
        assert!(gone.conditions().is_empty());
    }
}

/// One watcher is known again before the other one has begun to start.
#[test]
fn a_restart_of_one_watcher_after_the_other_is_no_transition() {
    let mut ledger = watched();
    ledger.report(vec![raid(vec![condition(None, ConditionStatus::False, 5)])], &root(OnStale::Keep), at(6)).unwrap();
    let before = disk(&mut ledger);
    ledger
        .report(vec![Status { last: true, linger_secs: Some(60), ..raid(Vec::new()) }], &root(OnStale::Keep), at(7))
        .unwrap();
    let mut after = restored(&ledger, BOOT, at(9));
    assert_eq!(status(&mut after), ConditionStatus::False);
    after.daemon(report("kernel-monitor", DaemonState::Starting), at(10)).unwrap();
    assert_eq!(status(&mut after), ConditionStatus::Unknown);
    // Killed before the other one came back: the run after that knows as much.
    for mut run in [restored(&after, BOOT, at(11)), after] {
        run.daemon(report("kernel-monitor", DaemonState::Running), at(12)).unwrap();
        assert_eq!(disk(&mut run), before);
    }
}

#[test]
fn a_blind_watcher_is_a_transition_and_its_start_once_more_is_none() {
    let mut ledger = watched();
    let steps = [
        (DaemonState::Blind, 5, 5),
        (DaemonState::Running, 6, 6),
        (DaemonState::Starting, 7, 7),
        (DaemonState::Running, 8, 6),
        (DaemonState::Starting, 9, 9),
        (DaemonState::Blind, 10, 9),
        (DaemonState::Running, 11, 11),
    ];
    for (state, second, since) in steps {
        ledger.daemon(report("kernel-monitor", state), at(second)).unwrap();
        assert_eq!(disk(&mut ledger).transition, wall(since), "{state:?}");
    }
}

#[test]
fn a_reboot_ends_what_ends_at_boot_and_nothing_else() {
    let mut ledger = watched();
    ledger.apply(raise("sda", 1), at(1)).unwrap();
    ledger.apply(Finding { ends_at_boot: true, ..raise("sdb", 1) }, at(1)).unwrap();
    ledger.take_events();
    let mut after = restored(&ledger, OTHER_BOOT, at(9));
    assert_eq!(disk(&mut after).problems.len(), 1);
    assert_eq!(after.take_events()[0].message, "IOError on sdb is over: the node was rebooted");
}

#[test]
fn after_a_reboot_quiet_times_count_by_the_wall_clock() {
    let mut ledger = watched();
    ledger.apply(Finding { ends_after_quiet: Some(Duration::from_secs(600)), ..raise("sda", 0) }, at(0)).unwrap();
    ledger.apply(Finding { test: true, ..raise("sdb", 0) }, at(0)).unwrap();
    let booted = Now { wall: wall(100), boottime: Duration::from_secs(20) };
    let mut after = restored(&ledger, OTHER_BOOT, booted);
    after.advance(booted);
    assert_eq!((disk(&mut after).problems.len(), after.next_deadline()), (1, Some(Duration::from_secs(520))));
}

#[test]
fn a_disk_that_comes_late_adds_to_what_was_learned_meanwhile() {
    let mut ledger = watched();
    ledger.apply(raise("sda", 1), at(1)).unwrap();
    ledger.apply(raise("sdb", 2), at(2)).unwrap();
    let saved = Disk::of(&ledger).rows();
    let mut late = watched();
    late.apply(raise("sda", 20), at(20)).unwrap();
    late.load(saved, at(30));
    let shown = disk(&mut late);
    let counts: Vec<_> = shown.problems.iter().map(|problem| (problem.subject.as_deref(), problem.count)).collect();
    assert_eq!(counts, [(Some("sda"), 2), (Some("sdb"), 1)]);
    assert_eq!((shown.transition, shown.problems[0].since), (wall(1), wall(1)));
    assert_eq!(late.counters().raised.values().sum::<u64>(), 3);
}

#[test]
fn an_end_that_a_crash_made_forgotten_is_the_same_end() {
    let mut ledger = watched();
    ledger.apply(Finding { ends_after_quiet: Some(Duration::from_secs(60)), ..raise("sda", 0) }, at(0)).unwrap();
    let saved = Disk::of(&ledger);
    ledger.take_events();
    ledger.advance(at(70));
    let mut again = saved.restart(BOOT, at(80));
    again.advance(at(80));
    let (first, second) = (ledger.take_events(), again.take_events());
    assert_eq!((first.len(), second.len()), (1, 1));
    assert_eq!((&first[0].origin, &first[0].source), (&second[0].origin, &second[0].source));
}

#[test]
fn what_cannot_be_parsed_is_counted_and_struck_out() {
    let rows = [(Table::Claims, "?"), (Table::Daemons, "x@y"), (Table::Ledger, "run"), (Table::Totals, "no name")];
    let rows = rows.map(|(table, key)| Row { table, key: key.to_owned(), value: Some("{]".to_owned()) });
    let mut ledger = watched();
    ledger.take_rows();
    assert_eq!(ledger.load(rows.to_vec(), at(1)).unreadable, 4);
    assert_eq!(ledger.take_rows().iter().filter(|row| row.value.is_none()).count(), 4);
}
