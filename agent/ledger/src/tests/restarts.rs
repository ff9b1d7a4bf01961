//! A ledger put away and taken up again.

use nodewell_model::{Condition, Status};

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

fn healthy_raid(secs: i64) -> Status {
    raid(vec![condition(None, ConditionStatus::False, secs)])
}

/// By a service that stopped at 100 and is believed for so long.
fn left_healthy(linger_secs: u64) -> Ledger {
    let mut ledger = ledger();
    ledger.report(vec![healthy_raid(5)], &root(OnStale::Keep), at(6)).unwrap();
    let stop = Status { last: true, linger_secs: Some(linger_secs), ..raid(Vec::new()) };
    ledger.report(vec![stop], &root(OnStale::Keep), at(100)).unwrap();
    ledger
}

#[test]
fn a_claim_whose_daemon_was_not_saved_is_known_again() {
    let fault = |status| raid(vec![condition(Some("md0"), status, 5)]);
    let mut ledger = ledger();
    ledger.report(vec![fault(ConditionStatus::True)], &root(OnStale::Keep), at(6)).unwrap();
    let mut after = Disk::of(&ledger).part(&[Table::Claims]).restart(BOOT, at(9));
    after.report(vec![fault(ConditionStatus::True)], &root(OnStale::Keep), at(10)).unwrap();
    assert_eq!(disk(&mut after).problems[0].count, 1);
    after.report(vec![fault(ConditionStatus::False)], &root(OnStale::Keep), at(11)).unwrap();
    assert_eq!(status(&mut after), ConditionStatus::False);
}

/// The agent and its check processes stop and start together.
#[test]
fn a_condition_of_a_service_that_stops_with_the_agent_outlives_both() {
    for boot_id in [BOOT, OTHER_BOOT] {
        let mut ledger = ledger();
        ledger.report(vec![healthy_raid(5)], &root(OnStale::Keep), at(6)).unwrap();
        let before = disk(&mut ledger);
        let stop = Status { last: true, linger_secs: Some(60), ..raid(Vec::new()) };
        ledger.report(vec![stop], &root(OnStale::Keep), at(100)).unwrap();
        let mut after = restored(&ledger, boot_id, at(500));
        let expected = if boot_id == BOOT { ConditionStatus::False } else { ConditionStatus::Unknown };
        assert_eq!(status(&mut after), expected, "nothing has looked since a boot");
        after.advance(at(559));
        after.report(vec![healthy_raid(559)], &root(OnStale::Keep), at(559)).unwrap();
        assert_eq!(disk(&mut after), before);
        let mut gone = restored(&ledger, boot_id, at(500));
        gone.advance(at(560));
        assert!(gone.conditions().is_empty());
    }
}

/// A heartbeat is what a check process sends before it has looked at anything.
#[test]
fn after_a_boot_nothing_is_healthy_by_a_heartbeat() {
    let mut ledger = ledger();
    ledger.report(vec![healthy_raid(5)], &root(OnStale::Keep), at(6)).unwrap();
    let before = disk(&mut ledger);
    for stop in [None, Some(Status { last: true, linger_secs: Some(60), ..raid(Vec::new()) })] {
        ledger.report(stop.into_iter().collect(), &root(OnStale::Keep), at(100)).unwrap();
        let mut booted = restored(&ledger, OTHER_BOOT, at(500));
        let starting = disk(&mut booted);
        for secs in [501, 530, 700] {
            booted.report(vec![raid(Vec::new())], &root(OnStale::Keep), at(secs)).unwrap();
            booted.advance(at(secs));
            let view = disk(&mut booted);
            assert_eq!((view.status, view.reason.as_str()), (ConditionStatus::Unknown, "MonitorStarting"), "at {secs}");
            assert!(view.message.ends_with("was started, and has not reported this since; see `nodewell status`"));
        }
        assert_eq!(starting.reason.as_str(), "MonitorStarting");
        // The agent alone is started again: it is the same boot, and nothing has looked yet.
        let mut again = restored(&booted, OTHER_BOOT, at(710));
        assert_eq!(status(&mut again), ConditionStatus::Unknown);
        for mut run in [booted, again] {
            run.report(vec![healthy_raid(720)], &root(OnStale::Keep), at(720)).unwrap();
            assert_eq!(disk(&mut run), before, "a start is no transition");
        }
    }
}

#[test]
fn a_boot_before_any_report_is_one_for_the_run_after_it_too() {
    let mut ledger = ledger();
    ledger.report(vec![healthy_raid(5)], &root(OnStale::Keep), at(6)).unwrap();
    let mut saved = Disk::of(&ledger);
    let mut booted = saved.restart(OTHER_BOOT, at(500));
    saved.keep(&mut booted);
    assert_eq!(status(&mut saved.restart(OTHER_BOOT, at(501))), ConditionStatus::Unknown);
}

/// The types of a full report are all there are; the others of a daemon go.
#[test]
fn what_is_reported_after_a_boot_is_known_type_by_type() {
    let both = |secs| {
        let deadlock =
            Condition { condition: Name::fixed("KernelDeadlock"), ..condition(None, ConditionStatus::False, secs) };
        raid(vec![condition(None, ConditionStatus::False, secs), deadlock])
    };
    let mut ledger = ledger();
    ledger.report(vec![both(5)], &root(OnStale::Keep), at(6)).unwrap();
    let mut booted = restored(&ledger, OTHER_BOOT, at(500));
    let shown = |ledger: &mut Ledger| ledger.conditions().iter().map(|view| view.status).collect::<Vec<_>>();
    booted.report(vec![healthy_raid(501)], &root(OnStale::Keep), at(501)).unwrap();
    assert_eq!(shown(&mut booted), [ConditionStatus::False, ConditionStatus::Unknown]);
    booted.report(vec![Status { full: true, ..healthy_raid(502) }], &root(OnStale::Keep), at(502)).unwrap();
    assert_eq!(shown(&mut booted), [ConditionStatus::False]);
}

#[test]
fn what_a_service_left_healthy_is_believed_for_its_linger_and_no_longer() {
    let mut ledger = ledger();
    let stop = || Status { last: true, linger_secs: Some(60), ..raid(Vec::new()) };
    let heartbeat = || Status { ttl_secs: Some(600), ..raid(Vec::new()) };
    ledger.report(vec![healthy_raid(5)], &root(OnStale::Keep), at(6)).unwrap();
    let before = disk(&mut ledger);
    ledger.report(vec![stop()], &root(OnStale::Keep), at(100)).unwrap();
    ledger.report(vec![heartbeat()], &root(OnStale::Keep), at(110)).unwrap();
    ledger.advance(at(159));
    assert_eq!(disk(&mut ledger), before);
    // Nor does another stop make more of it, nor does another start of the agent.
    ledger.report(vec![stop()], &root(OnStale::Keep), at(130)).unwrap();
    let mut after = restored(&ledger, BOOT, at(140));
    after.report(vec![heartbeat()], &root(OnStale::Keep), at(141)).unwrap();
    for mut run in [ledger, after] {
        assert_eq!(disk(&mut run), before);
        run.advance(at(160));
        run.report(vec![heartbeat()], &root(OnStale::Keep), at(165)).unwrap();
        let view = disk(&mut run);
        assert_eq!((view.status, view.reason.as_str()), (ConditionStatus::Unknown, "MonitorStarting"));
        run.report(vec![healthy_raid(170)], &root(OnStale::Keep), at(170)).unwrap();
        assert_eq!(disk(&mut run), before);
    }
}

/// Of a service that has come back and reports nothing, the agent's own restart is none of the doubt.
#[test]
fn what_is_unknown_since_a_start_is_so_since_then_after_a_restart() {
    let mut ledger = left_healthy(60);
    ledger.report(vec![Status { ttl_secs: Some(600), ..raid(Vec::new()) }], &root(OnStale::Keep), at(110)).unwrap();
    ledger.advance(at(170));
    let before = disk(&mut ledger);
    assert_eq!((before.status, before.transition), (ConditionStatus::Unknown, wall(160)));
    let mut after = restored(&ledger, BOOT, at(300));
    assert_eq!(disk(&mut after), before);
    // A disk that comes late takes back nothing that was shown meanwhile.
    let mut late = Ledger::new(vec![spec("DiskUnhealthy"), spec("KernelDeadlock")], at(300)).with_boot_id(boot(BOOT));
    late.report(vec![raid(vec![condition(None, ConditionStatus::Unknown, 300)])], &root(OnStale::Keep), at(300))
        .unwrap();
    late.load(Disk::of(&ledger).rows(), at(310));
    assert_eq!(disk(&mut late).transition, wall(300));
    // After a boot everything starts.
    assert_eq!(disk(&mut restored(&ledger, OTHER_BOOT, at(300))).transition, wall(300));
    after.report(vec![healthy_raid(320)], &root(OnStale::Keep), at(320)).unwrap();
    assert_eq!(disk(&mut after).transition, wall(6));
}

/// An agent that ends again and again, beside a service that was stopped for good.
#[test]
fn starts_of_the_agent_do_not_prolong_what_a_service_left() {
    for (boot_id, linger_secs, gone_at) in [(BOOT, 60, 160), (BOOT, 3_600, 3_700), (OTHER_BOOT, 3_600, 161)] {
        let ledger = left_healthy(linger_secs);
        let mut saved = Disk::of(&ledger);
        for secs in (101..gone_at).step_by(10) {
            let mut run = saved.restart(boot_id, at(secs));
            run.advance(at(secs));
            saved.keep(&mut run);
            assert_eq!(run.conditions().len(), 1, "{boot_id} {linger_secs} at {secs}");
        }
        let mut last = saved.restart(boot_id, at(gone_at - 1));
        last.advance(at(gone_at));
        assert!(last.conditions().is_empty());
    }
}

/// While the agent was away there was nothing to report to: its service gets the time again, once.
#[test]
fn a_time_that_ended_while_the_agent_was_away_begins_again_once() {
    let ledger = left_healthy(60);
    let mut saved = Disk::of(&ledger);
    for (secs, shown) in [(500, 1), (559, 1), (700, 0)] {
        let mut run = saved.restart(BOOT, at(secs));
        run.advance(at(secs));
        saved.keep(&mut run);
        assert_eq!(run.conditions().len(), shown, "at {secs}");
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
fn a_record_from_before_the_last_transition_moves_it_no_further_back_after_a_restart() {
    let mut ledger = watched();
    ledger.apply(raise("sda", 1), at(1)).unwrap();
    ledger.apply(clear("sda", 5), at(5)).unwrap();
    for mut run in [restored(&ledger, BOOT, at(9)), ledger] {
        run.daemon(report("kernel-monitor", DaemonState::Starting), at(9)).unwrap();
        run.apply(raise("sda", 3), at(10)).unwrap();
        assert_eq!(disk(&mut run).transition, wall(5));
    }
}

/// A grant's new word on what becomes of a silent daemon's verdict, in a heartbeat.
#[test]
fn a_grant_that_has_changed_holds_after_a_restart() {
    let (mut ledger, mut saved) = (ledger(), Disk::default());
    let fault = raid(vec![condition(Some("md0"), ConditionStatus::True, 5)]);
    ledger.report(vec![fault], &root(OnStale::Clear), at(6)).unwrap();
    saved.keep(&mut ledger);
    ledger.report(vec![raid(Vec::new())], &root(OnStale::Keep), at(16)).unwrap();
    saved.keep(&mut ledger);
    let mut after = saved.restart(BOOT, at(20));
    after.advance(at(1_000));
    assert_eq!(disk(&mut after).problems.len(), 1);
}

#[test]
fn reasons_that_no_rule_has_any_more_are_gone_for_the_next_run_too() {
    let (mut ledger, mut saved) = (watched(), Disk::default());
    ledger.apply(raise("sda", 1), at(1)).unwrap();
    ledger.apply(clear("sda", 5), at(5)).unwrap();
    saved.keep(&mut ledger);
    ledger.set_catalogue(vec![spec("DiskUnhealthy"), spec("KernelDeadlock")], at(6));
    saved.keep(&mut ledger);
    assert_eq!(saved.restart(BOOT, at(7)).counters().gauges, ledger.counters().gauges);
}

#[test]
fn a_disk_that_comes_late_is_written_with_what_was_counted_meanwhile() {
    let mut before = watched();
    before.apply(raise("sda", 1), at(1)).unwrap();
    let (mut late, mut saved) = (watched(), Disk::of(&before));
    late.apply(raise("sda", 20), at(20)).unwrap();
    let pending = late.take_rows();
    late.load(saved.rows(), at(30));
    saved.write(pending);
    saved.keep(&mut late);
    assert_eq!(saved.restart(BOOT, at(40)).counters().raised, late.counters().raised);
}

/// A record may come late, by a rule whose quiet time was another.
#[test]
fn a_restart_shortens_no_quiet_time_that_a_late_record_brought() {
    let quiet = |secs, span| Finding { ends_after_quiet: Some(Duration::from_secs(span)), ..raise("sda", secs) };
    let mut ledger = watched();
    ledger.apply(quiet(1, 10), at(1)).unwrap();
    ledger.apply(quiet(0, 30), at(1)).unwrap();
    let (before, mut after) = (ledger.next_deadline(), restored(&ledger, BOOT, at(2)));
    assert_eq!((before, after.next_deadline()), (Some(at(30).boottime), before));
    after.advance(at(29));
    assert_eq!(status(&mut after), ConditionStatus::True);
}

/// The end that holds keeps the quiet time that it has: by the other one a reboot would measure too much.
#[test]
fn a_late_record_of_an_earlier_end_changes_no_quiet_time() {
    let quiet = |secs, span| Finding { ends_after_quiet: Some(Duration::from_secs(span)), ..raise("sda", secs) };
    let mut ledger = watched();
    ledger.apply(quiet(100, 10), at(100)).unwrap();
    ledger.apply(quiet(0, 105), at(100)).unwrap();
    let booted = Now { wall: wall(105), boottime: Duration::from_secs(20) };
    assert_eq!(restored(&ledger, OTHER_BOOT, booted).next_deadline(), Some(Duration::from_secs(25)));
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
