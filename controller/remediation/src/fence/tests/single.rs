//! Single cases, as a person would describe them.

use std::time::Duration;

use super::{
    course::{at, dead, run, seconds},
    parts::{plan, pod, span, steps},
    world::World,
};
use crate::{
    action::{Action, IrreversibleOp, Op, ReversibleOp},
    api::{
        OUT_OF_SERVICE,
        fence::{Irreversible, Phase},
    },
    facts::{Claim, Volume},
    fence::{Next, Wanted},
    snapshot::FencePlan,
    time::Moment,
};

#[test]
fn a_dead_node_is_fenced_released_and_brought_back() {
    use Phase::*;
    let mut world = dead();
    let mut phases = run(&mut world, 400, at(AwaitReady));
    world.wanted = Wanted::No { since: world.now.moment };
    phases.extend(run(&mut world, 400, at(Closed)));
    let expected = [
        Pending,
        Isolating,
        Guarded,
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
    assert_eq!(world.fence.status.released, 1);
    assert!(world.node.unwrap().taints.is_empty());
}

#[test]
fn without_a_second_witness_power_is_cut_after_fifty_seconds() {
    let mut world = dead();
    run(&mut world, 400, at(Phase::PoweringOff));
    assert_eq!(seconds(&world), 50);
}

#[test]
fn two_hosts_that_cannot_reach_it_are_a_second_witness() {
    let mut world = dead();
    let since = Some(Moment(Duration::from_secs(1002)));
    world.gathered.reach = [("cp-1".into(), since), ("cp-2".into(), since)].into();
    run(&mut world, 400, at(Phase::PoweringOff));
    assert_eq!(seconds(&world), 15);
}

#[test]
fn one_host_that_reaches_it_takes_the_witness_back() {
    let mut world = dead();
    let since = Some(Moment(Duration::from_secs(1002)));
    world.gathered.reach = [("cp-1".into(), since), ("cp-2".into(), since), ("cp-3".into(), None)].into();
    run(&mut world, 400, at(Phase::PoweringOff));
    assert_eq!(seconds(&world), 50);
}

#[test]
fn a_bmc_that_says_off_needs_no_power_off() {
    let mut world = dead();
    world.powered = false;
    let phases = run(&mut world, 400, |world| world.fence.status.out_of_service);
    assert!(!phases.contains(&Phase::PoweringOff), "{phases:?}");
    assert!(seconds(&world) < 20);
    assert!(world.fence.status.off.as_ref().unwrap().passive);
    assert!(world.node.unwrap().taint(OUT_OF_SERVICE).is_some());
}

/// Another actor may have turned it on since: the taint is the release.
#[test]
fn off_is_read_again_before_a_release_is_meant_if_not_read_for_five_seconds() {
    let mut world = dead();
    world.powered = false;
    run(&mut world, 400, |world| seconds(world) >= 14);
    let later = |world: &mut World, secs: u64| {
        world.now.moment = world.now.moment.plus(Duration::from_secs(secs));
        world.now.wall += Duration::from_secs(secs);
    };
    let said = world.now.wall;
    later(&mut world, 3);
    let Next::Act(Action::Save { fence, .. }) = world.next() else { panic!() };
    assert_eq!(fence.status.off.as_ref().map(|off| off.at), Some(said), "not when it was written");
    world.store(*fence);
    later(&mut world, 2);
    let Next::Act(Action::Save { fence, .. }) = world.next() else { panic!("{:?}", world.next()) };
    assert_eq!(fence.status.intent.map(|intent| (intent.act, intent.pods)), Some((Irreversible::Release, 1)));
    later(&mut world, 1);
    assert!(matches!(
        world.next(),
        Next::Act(Action::Perform { op: Op::Reversible(ReversibleOp::ReadPower { times: 2 }), .. })
    ));
}

#[test]
fn a_node_that_lives_loses_no_power_before_its_drain() {
    let mut world = World::new(steps(&["power"]));
    run(&mut world, 200, |_| false);
    assert_eq!(world.phase(), Phase::Guarded);
    assert_eq!(world.fence.status.blocked_by.unwrap().reason, "NodeReady");
}

#[test]
fn a_sick_node_is_rebooted_after_its_drain_and_nothing_is_released() {
    let mut world = World::new(steps(&["cordon", "drain", "reboot"]));
    let phases = run(&mut world, 400, at(Phase::Recovering));
    assert!(phases.contains(&Phase::PoweringOff) && !phases.contains(&Phase::PodsReleased), "{phases:?}");
    assert_eq!(world.boots, 2);
    assert!(world.node.unwrap().taint(OUT_OF_SERVICE).is_none());
}

#[test]
fn a_node_that_lives_on_after_off_was_confirmed_is_quarantined_and_untainted() {
    let mut world = dead();
    run(&mut world, 400, |world| world.fence.status.out_of_service);
    (world.powered, world.alive) = (true, true);
    world.permits.power = vec![crate::api::fence::Blocker::new("PodRate", "")];
    world.gathered.power.clear();
    for _ in 0..30 {
        world.pass(Duration::from_secs(1));
        world.gathered.power.clear();
    }
    run(&mut world, 30, at(Phase::Quarantined));
    assert_eq!(world.fence.status.blocked_by.unwrap().reason, "FalseConfirmation");
    assert!(world.node.unwrap().taint(OUT_OF_SERVICE).is_none());
}

#[test]
fn a_node_that_was_uncordoned_since_its_drain_keeps_its_power() {
    let mut world = World::new(steps(&["cordon", "drain", "reboot"]));
    run(&mut world, 400, at(Phase::Guarded));
    world.node.as_mut().unwrap().unschedulable = false;
    run(&mut world, 20, |_| false);
    assert_eq!(
        (world.phase(), world.fence.status.blocked_by.unwrap().reason.as_str()),
        (Phase::Guarded, "NotCordoned")
    );
}

#[test]
fn a_bmc_that_lies_is_found_out_by_the_boot_that_lives_on() {
    let mut world = World::new(steps(&["cordon", "drain", "reboot"]));
    world.lies = true;
    run(&mut world, 400, at(Phase::Quarantined));
    assert_eq!(world.fence.status.blocked_by.unwrap().reason, "FalseConfirmation");
    assert_eq!(world.boots, 1);
}

/// Off its storage alone, with pods of that storage and of others; the release is the next thing to be meant.
fn cut_off_with_pods() -> World {
    let mut world = dead();
    world.gathered.methods = Some(Ok(FencePlan { storage_only: Some("ceph".into()), ..plan() }));
    world.storage = true;
    run(&mut world, 400, at(Phase::OffConfirmed));
    let volume = |class: &str| Volume::Claim(Claim { storage_class: Some(class.into()), ..Claim::default() });
    let mut pods = vec![pod("db-0"), pod("web-0"), pod("local-0"), pod("both-0"), pod("unknown-0")];
    (pods[0].volumes, pods[2].volumes) = (vec![volume("ceph"), Volume::Other], vec![volume("local")]);
    pods[3].volumes = vec![volume("ceph"), volume("local")];
    pods[4].volumes = vec![volume("ceph"), Volume::Claim(Claim::default())];
    world.gathered.pods = Some((world.now.moment, pods));
    world
}

/// It was on its way up when its storage went, reported so after that, and is silent again.
#[test]
fn a_boot_that_may_have_begun_before_the_cut_keeps_its_pods_and_gets_its_storage_back() {
    let mut world = cut_off_with_pods();
    world.boots += 1;
    world.node.as_mut().unwrap().boot_id = world.boot_id();
    let Next::Act(Action::Save { fence, .. }) = world.next() else { panic!() };
    assert_eq!((fence.status.phase, fence.status.release_begun), (Phase::PoweringOn, false));
    world.store(*fence);
    run(&mut world, 20, at(Phase::AwaitReady));
    assert_eq!((world.powered, world.fence.status.released), (true, 0));
}

#[test]
fn storage_that_is_cut_off_releases_its_own_pods_and_is_not_given_back_to_the_same_boot() {
    let mut world = cut_off_with_pods();
    let Next::Act(Action::Save { fence, .. }) = world.next() else { panic!() };
    world.store(*fence);
    let Next::Act(Action::Perform { op: Op::Irreversible(IrreversibleOp::Release { pods }), .. }) = world.next() else {
        panic!()
    };
    assert_eq!(pods.iter().map(|pod| pod.name.as_str()).collect::<Vec<_>>(), ["db-0"]);
    run(&mut world, 60, |_| false);
    assert!(world.node.as_ref().unwrap().taints.is_empty());
    assert_eq!(
        (world.fence.status.phase, world.fence.status.blocked_by.clone().unwrap().reason.as_str()),
        (Phase::PoweringOn, "LeftCut")
    );
    // A person reboots it: nothing of the old boot can write any more, and its storage is given back.
    world.boot();
    let mut phases = run(&mut world, 100, at(Phase::AwaitReady));
    assert!(world.powered, "{phases:?}");
    world.wanted = Wanted::No { since: world.now.moment };
    phases.extend(run(&mut world, 400, at(Phase::Closed)));
    assert_eq!(world.fence.status.phase, Phase::Closed, "{phases:?}");
}

#[test]
fn a_node_that_dumps_has_its_time_and_no_more() {
    let mut world = dead();
    world.fence.spec.steps[1].power_cycle.as_mut().unwrap().kdump_wait = span("1m");
    run(&mut world, 45, |_| false);
    for _ in 0..200 {
        world.gathered.dumping = Some(world.now.moment);
        run(&mut world, 1, at(Phase::PoweringOff));
    }
    assert_eq!(seconds(&world), 50 + 60 + 1);
}

#[test]
fn a_new_leader_asks_before_it_acts_on_an_old_intent() {
    let mut world = dead();
    run(&mut world, 400, |world| world.fence.status.intent.is_some());
    world.epoch += 1;
    let phases = run(&mut world, 1, |_| false);
    assert_eq!(phases.last(), Some(&Phase::InDoubt));
    assert!(matches!(
        world.next(),
        Next::Act(Action::Perform { op: Op::Reversible(ReversibleOp::ReadPower { times: 2 }), .. })
    ));
}

#[test]
fn an_intent_of_the_same_leader_grows_old() {
    let mut world = dead();
    run(&mut world, 400, |world| world.fence.status.intent.is_some());
    world.pass(Duration::from_secs(11));
    let phases = run(&mut world, 1, |_| false);
    assert_eq!(phases.last(), Some(&Phase::InDoubt));
}
