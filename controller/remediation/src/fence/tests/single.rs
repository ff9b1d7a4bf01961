//! Single cases, as a person would describe them.

use std::time::Duration;

use super::{
    course::{at, dead, run, seconds},
    fixture::Fixture,
    parts::{plan, pod, span, steps},
};
use crate::{
    action::{Action, IrreversibleOp, Op, ReversibleOp},
    api::{
        OUT_OF_SERVICE, RETRY,
        fence::{Blocker, IntendedOp, Intent, Phase},
    },
    facts::{Volume, VolumeClaim},
    fence::{Next, PredicateState, edges::is_edge},
    snapshot::{FencePlan, Gathered},
    time::Moment,
};

#[test]
fn a_dead_node_is_fenced_released_and_brought_back() {
    use Phase::*;
    let mut fixture = dead();
    let mut phases = run(&mut fixture, 400, at(AwaitReady));
    fixture.predicate = PredicateState::No { since: fixture.now.moment };
    phases.extend(run(&mut fixture, 400, at(Closed)));
    let expected = [
        Pending,
        Isolating,
        AwaitGuards,
        PoweringOff,
        OffConfirmed,
        PodsReleased,
        PoweringOn,
        AwaitReady,
        AwaitReady,
        Recovering,
        Closed,
    ];
    assert_eq!(phases, expected);
    assert_eq!(fixture.fence.status.released, 1);
    assert!(fixture.node.unwrap().taints.is_empty());
}

#[test]
fn without_a_second_witness_power_is_cut_after_fifty_seconds() {
    let mut fixture = dead();
    run(&mut fixture, 400, at(Phase::PoweringOff));
    assert_eq!(seconds(&fixture), 50);
}

#[test]
fn two_hosts_that_cannot_reach_it_are_a_second_witness() {
    let mut fixture = dead();
    let since = Some(Moment(Duration::from_secs(1002)));
    fixture.gathered.reach = [("cp-1".into(), since), ("cp-2".into(), since)].into();
    run(&mut fixture, 400, at(Phase::PoweringOff));
    assert_eq!(seconds(&fixture), 15);
}

#[test]
fn one_host_that_reaches_it_takes_the_witness_back() {
    let mut fixture = dead();
    let since = Some(Moment(Duration::from_secs(1002)));
    fixture.gathered.reach = [("cp-1".into(), since), ("cp-2".into(), since), ("cp-3".into(), None)].into();
    run(&mut fixture, 400, at(Phase::PoweringOff));
    assert_eq!(seconds(&fixture), 50);
}

#[test]
fn a_bmc_that_says_off_needs_no_power_off() {
    let mut fixture = dead();
    fixture.powered = false;
    let phases = run(&mut fixture, 400, |fixture| fixture.fence.status.out_of_service);
    assert!(!phases.contains(&Phase::PoweringOff), "{phases:?}");
    assert!(seconds(&fixture) < 20);
    assert!(fixture.fence.status.off.as_ref().unwrap().already_off);
    assert!(fixture.node.unwrap().taint(OUT_OF_SERVICE).is_some());
}

/// Another actor may have turned it on since: the taint is the release.
#[test]
fn off_is_read_again_before_a_release_is_intended_if_not_read_for_five_seconds() {
    let mut fixture = dead();
    fixture.powered = false;
    run(&mut fixture, 400, |fixture| seconds(fixture) >= 14);
    let later = |fixture: &mut Fixture, secs: u64| {
        fixture.now.moment = fixture.now.moment.plus(Duration::from_secs(secs));
        fixture.now.wall += Duration::from_secs(secs);
    };
    let reported = fixture.now.wall;
    later(&mut fixture, 3);
    let Next::Act(Action::Save { fence, .. }) = fixture.next() else { panic!() };
    assert_eq!(fence.status.off.as_ref().map(|off| off.at), Some(reported), "not when it was written");
    fixture.store(*fence);
    later(&mut fixture, 2);
    let Next::Act(Action::Save { fence, .. }) = fixture.next() else { panic!("{:?}", fixture.next()) };
    assert_eq!(fence.status.intent.map(|intent| (intent.op, intent.pods)), Some((IntendedOp::Release, 1)));
    later(&mut fixture, 1);
    assert!(matches!(
        fixture.next(),
        Next::Act(Action::Perform { op: Op::Reversible(ReversibleOp::ReadPower { times: 2 }), .. })
    ));
}

#[test]
fn a_node_that_lives_loses_no_power_before_its_drain() {
    let mut fixture = Fixture::new(steps(&["power"]));
    run(&mut fixture, 200, |_| false);
    assert_eq!(fixture.phase(), Phase::AwaitGuards);
    assert_eq!(fixture.fence.status.blocked_by[0].reason, "NodeReady");
}

#[test]
fn a_sick_node_is_rebooted_after_its_drain_and_nothing_is_released() {
    let mut fixture = Fixture::new(steps(&["cordon", "drain", "reboot"]));
    let phases = run(&mut fixture, 400, at(Phase::Recovering));
    assert!(phases.contains(&Phase::PoweringOff) && !phases.contains(&Phase::PodsReleased), "{phases:?}");
    assert_eq!(fixture.boots, 2);
    assert!(fixture.node.unwrap().taint(OUT_OF_SERVICE).is_none());
}

#[test]
fn a_node_that_lives_on_after_off_was_confirmed_is_quarantined_and_untainted() {
    let mut fixture = dead();
    run(&mut fixture, 400, |fixture| fixture.fence.status.out_of_service);
    (fixture.powered, fixture.alive) = (true, true);
    fixture.guard_blockers.power = vec![Blocker::new("PodRate", "")];
    fixture.gathered.power.clear();
    for _ in 0..30 {
        fixture.pass(Duration::from_secs(1));
        fixture.gathered.power.clear();
    }
    run(&mut fixture, 30, at(Phase::Quarantined));
    assert_eq!(fixture.fence.status.blocked_by[0].reason, "FalseConfirmation");
    assert!(fixture.node.unwrap().taint(OUT_OF_SERVICE).is_none());
}

/// In the second in which the step after its power cycle was intended.
#[test]
fn a_boot_that_lives_on_is_found_out_while_its_machine_is_reaped() {
    let mut fixture = dead();
    run(&mut fixture, 400, |fixture| !fixture.fence.status.released_boot.is_empty());
    fixture.fence.status.off = None;
    (fixture.powered, fixture.alive) = (true, true);
    for _ in 0..20 {
        fixture.pass(Duration::from_secs(1));
    }
    let intent = Intent { op: IntendedOp::Reap, epoch: fixture.epoch, at: fixture.now.wall, pods: 0 };
    (fixture.fence.status.phase, fixture.fence.status.intent) = (Phase::Reaping, Some(intent));
    let phases = run(&mut fixture, 1, |_| false);
    assert_eq!(phases, [Phase::Reaping, Phase::Recovering]);
    assert!(is_edge(phases[0], phases[1]));
    let giving_up = fixture.fence.status.giving_up.map(|blocker| blocker.reason);
    assert_eq!(giving_up.as_deref(), Some("FalseConfirmation"));
}

#[test]
fn a_node_that_was_uncordoned_since_its_drain_keeps_its_power() {
    let mut fixture = Fixture::new(steps(&["cordon", "drain", "reboot"]));
    run(&mut fixture, 400, at(Phase::AwaitGuards));
    fixture.node.as_mut().unwrap().unschedulable = false;
    run(&mut fixture, 20, |_| false);
    assert_eq!(
        (fixture.phase(), fixture.fence.status.blocked_by[0].reason.as_str()),
        (Phase::AwaitGuards, "NotCordoned")
    );
}

#[test]
fn a_bmc_that_lies_is_found_out_by_the_boot_that_lives_on() {
    let mut fixture = Fixture::new(steps(&["cordon", "drain", "reboot"]));
    fixture.lies = true;
    run(&mut fixture, 400, at(Phase::Recovering));
    assert!(fixture.fence.status.denied_methods.contains("ipmi"), "{:?}", fixture.fence.status.denied_methods);
    run(&mut fixture, 400, at(Phase::Quarantined));
    assert_eq!(fixture.fence.status.blocked_by[0].reason, "FalseConfirmation");
    assert_eq!(fixture.boots, 1);
}

/// By an order, and without one.
#[test]
fn what_reports_off_is_noted() {
    for powered in [true, false] {
        let mut fixture = dead();
        fixture.powered = powered;
        run(&mut fixture, 400, at(Phase::OffConfirmed));
        assert_eq!(fixture.fence.status.off.as_ref().map(|off| off.already_off), Some(!powered));
        assert_eq!(fixture.fence.status.off_methods, ["ipmi".to_owned()].into());
    }
}

/// Its BMC says Off of it, and it was given up because it could not be turned on.
fn given_up_and_alive() -> Fixture {
    let mut fixture = Fixture::new(steps(&["cordon", "drain", "reboot"]));
    fixture.lies = true;
    run(&mut fixture, 400, at(Phase::OffConfirmed));
    fixture.fence.status.phase = Phase::Quarantined;
    fixture.fence.status.blocked_by = vec![Blocker::new("Attempts", "")];
    fixture
}

#[test]
fn a_boot_that_lives_on_is_found_out_after_its_record_was_given_up() {
    let mut fixture = given_up_and_alive();
    // Another leader, which asks a record that was given up nothing.
    fixture.gathered = Gathered::default();
    run(&mut fixture, 400, at(Phase::Recovering));
    assert_eq!(fixture.fence.status.giving_up.as_ref().unwrap().reason, "FalseConfirmation");
    assert_eq!(fixture.fence.status.denied_methods, ["ipmi".to_owned()].into());
    run(&mut fixture, 400, at(Phase::Quarantined));
    assert_eq!(fixture.fence.status.blocked_by[0].reason, "FalseConfirmation");
}

/// A person asked for another try of what was given up before, and nothing was acted upon meanwhile.
#[test]
fn a_retry_of_before_is_no_answer_to_a_lie_that_is_found_out() {
    let mut fixture = given_up_and_alive();
    fixture.fence.metadata.annotations.insert(RETRY.into(), "1".into());
    fixture.pass(Duration::from_secs(1));
    let mut later = fixture.clone();
    // As long as its node is skipped the controller watches.
    (0..60).for_each(|_| later.pass(Duration::from_secs(1)));
    run(&mut later, 30, |fixture| fixture.fence.status.is_blocked_by("FalseConfirmation"));
    run(&mut later, 60, |_| false);
    assert_eq!(later.phase(), Phase::Quarantined, "{:?}", later.fence.status.log);
    later.fence.metadata.annotations.insert(RETRY.into(), "2".into());
    run(&mut later, 5, at(Phase::InDoubt));
}

/// Off its storage alone, with pods of that storage and of others; the release is the next thing to be intended.
fn cut_off_with_pods() -> Fixture {
    let mut fixture = dead();
    fixture.gathered.methods = Some(Ok(FencePlan { storage_only: Some("ceph".into()), ..plan() }));
    fixture.storage = true;
    run(&mut fixture, 400, at(Phase::OffConfirmed));
    let volume =
        |class: &str| Volume::Claim(VolumeClaim { storage_class: Some(class.into()), ..VolumeClaim::default() });
    let mut pods = vec![pod("db-0"), pod("web-0"), pod("local-0"), pod("both-0"), pod("unknown-0")];
    (pods[0].volumes, pods[2].volumes) = (vec![volume("ceph"), Volume::Other], vec![volume("local")]);
    pods[3].volumes = vec![volume("ceph"), volume("local")];
    pods[4].volumes = vec![volume("ceph"), Volume::Claim(VolumeClaim::default())];
    fixture.gathered.pods = Some((fixture.now.moment, pods));
    fixture
}

/// It was on its way up when its storage went, reported so after that, and is silent again.
#[test]
fn a_boot_that_may_have_begun_before_the_cut_keeps_its_pods_and_gets_its_storage_back() {
    let mut fixture = cut_off_with_pods();
    fixture.boots += 1;
    fixture.node.as_mut().unwrap().boot_id = fixture.boot_id();
    let Next::Act(Action::Save { fence, .. }) = fixture.next() else { panic!() };
    assert_eq!((fence.status.phase, fence.status.release_begun), (Phase::PoweringOn, false));
    fixture.store(*fence);
    run(&mut fixture, 20, at(Phase::AwaitReady));
    assert_eq!((fixture.powered, fixture.fence.status.released), (true, 0));
}

#[test]
fn storage_that_is_cut_off_releases_its_own_pods_and_is_not_restored_to_the_same_boot() {
    let mut fixture = cut_off_with_pods();
    let Next::Act(Action::Save { fence, .. }) = fixture.next() else { panic!() };
    let said = &fence.status.log.last().unwrap().text;
    assert_eq!(said, "PodsReleased: release of 1 pods is intended", "no taint is set for it");
    fixture.store(*fence);
    let Next::Act(Action::Perform { op: Op::Irreversible(IrreversibleOp::Release { pods }), .. }) = fixture.next()
    else {
        panic!()
    };
    assert_eq!(pods.iter().map(|pod| pod.name.as_str()).collect::<Vec<_>>(), ["db-0"]);
    run(&mut fixture, 60, |_| false);
    assert!(fixture.node.as_ref().unwrap().taints.is_empty());
    assert_eq!(
        (fixture.fence.status.phase, fixture.fence.status.blocked_by[0].reason.as_str()),
        (Phase::PoweringOn, "LeftCut")
    );
    // A person reboots it: nothing of the old boot can write any more, and its storage is restored.
    fixture.boot();
    let mut phases = run(&mut fixture, 100, at(Phase::AwaitReady));
    assert!(fixture.powered, "{phases:?}");
    fixture.predicate = PredicateState::No { since: fixture.now.moment };
    phases.extend(run(&mut fixture, 400, at(Phase::Closed)));
    assert_eq!(fixture.fence.status.phase, Phase::Closed, "{phases:?}");
}

#[test]
fn a_node_that_dumps_has_its_time_and_no_more() {
    let mut fixture = dead();
    fixture.fence.spec.steps[1].power_cycle.as_mut().unwrap().kdump_wait = span("1m");
    run(&mut fixture, 45, |_| false);
    for _ in 0..200 {
        fixture.gathered.dumping = Some(fixture.now.moment);
        run(&mut fixture, 1, at(Phase::PoweringOff));
    }
    assert_eq!(seconds(&fixture), 50 + 60 + 1);
}

#[test]
fn a_new_leader_asks_before_it_acts_on_an_old_intent() {
    let mut fixture = dead();
    run(&mut fixture, 400, |fixture| fixture.fence.status.intent.is_some());
    fixture.epoch += 1;
    let phases = run(&mut fixture, 1, |_| false);
    assert_eq!(phases.last(), Some(&Phase::InDoubt));
    assert!(matches!(
        fixture.next(),
        Next::Act(Action::Perform { op: Op::Reversible(ReversibleOp::ReadPower { times: 2 }), .. })
    ));
}

#[test]
fn an_intent_of_the_same_leader_grows_old() {
    let mut fixture = dead();
    run(&mut fixture, 400, |fixture| fixture.fence.status.intent.is_some());
    fixture.pass(Duration::from_secs(11));
    let phases = run(&mut fixture, 1, |_| false);
    assert_eq!(phases.last(), Some(&Phase::InDoubt));
}
