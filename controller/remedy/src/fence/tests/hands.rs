//! What people do to a record or a Node while it is under way, and what stays theirs.

use std::time::Duration;

use super::{
    course::{at, dead, run},
    parts::ladder,
    world::World,
};
use crate::{
    action::{Action, Step},
    api::{RETRY, fence::Phase},
    fence::{Next, Wanted},
};

#[test]
fn an_abort_after_off_turns_it_on_and_releases_nothing() {
    let mut world = dead();
    run(&mut world, 400, at(Phase::OffConfirmed));
    world.fence.spec.abort = true;
    let phases = run(&mut world, 400, at(Phase::Closed));
    assert!(!phases.contains(&Phase::PodsReleased), "{phases:?}");
    assert_eq!((world.phase(), world.powered, world.fence.status.released), (Phase::Closed, true, 0));
}

#[test]
fn a_policy_that_leaves_it_off_waits_for_a_person() {
    let mut world = dead();
    world.fence.spec.steps[1].power_cycle.as_mut().unwrap().leave_off = true;
    run(&mut world, 300, |_| false);
    world.gathered.pods = Some((world.now.moment, Vec::new()));
    run(&mut world, 2, |_| false);
    assert_eq!((world.phase(), world.powered), (Phase::PodsReleased, false));
    assert_eq!(world.fence.status.hold.unwrap().reason, "LeftOff");
}

#[test]
fn a_node_that_is_gone_closes_the_record_and_a_machine_that_is_off_does_not() {
    let mut world = dead();
    run(&mut world, 5, |_| false);
    let mut off = dead();
    run(&mut off, 400, at(Phase::OffConfirmed));
    (world.node, off.node) = (None, None);
    run(&mut world, 2, |_| false);
    run(&mut off, 2, |_| false);
    assert_eq!(world.phase(), Phase::Closed);
    assert_eq!((off.phase(), off.fence.status.hold.unwrap().reason.as_str()), (Phase::Quarantined, "NodeGone"));
}

#[test]
fn another_node_of_the_name_is_left_alone() {
    let mut world = dead();
    world.node.as_mut().unwrap().uid = "uid-2".into();
    run(&mut world, 2, |_| false);
    assert_eq!(world.phase(), Phase::Closed);
    assert!(!world.node.unwrap().unschedulable);
}

#[test]
fn a_hold_is_written_once_and_not_again_for_new_numbers() {
    let mut world = dead();
    run(&mut world, 10, at(Phase::Guarded));
    assert!(matches!(world.next(), Next::Act(Action::Save { .. })));
    run(&mut world, 1, |_| false);
    world.pass(Duration::from_secs(3));
    assert!(matches!(world.next(), Next::Wait { holds, .. } if holds[0].reason == "NodeReady"));
}

#[test]
fn a_taint_that_was_there_before_is_not_ours_to_take() {
    let mut world = World::new(ladder(&["taint", "cordon"]));
    let Next::Act(Action::Save { .. }) = world.next() else { panic!() };
    let taint = crate::facts::Taint {
        key: crate::api::REMEDY_TAINT.into(),
        value: String::new(),
        effect: crate::facts::Effect::NoSchedule,
    };
    world.node.as_mut().unwrap().taints.push(taint);
    run(&mut world, 10, at(Phase::Waiting));
    world.wanted = Wanted::No { since: world.now.moment };
    run(&mut world, 60, at(Phase::Closed));
    let node = world.node.unwrap();
    assert_eq!((node.taints.len(), node.unschedulable), (1, false));
}

#[test]
fn a_record_deleted_by_hand_leaves_a_node_that_the_next_record_brings_back() {
    let mut world = dead();
    run(&mut world, 400, |world| world.phase() == Phase::PodsReleased);
    world.fence = World::new(ladder(&["cordon", "power"])).fence;
    world.entered = world.now.moment;
    run(&mut world, 400, at(Phase::AwaitReady));
    world.wanted = Wanted::No { since: world.now.moment };
    run(&mut world, 400, at(Phase::Closed));
    let node = world.node.as_ref().unwrap();
    assert!(
        world.phase() == Phase::Closed && node.taints.is_empty() && !node.unschedulable,
        "{:?}",
        world.fence.status
    );
}

#[test]
fn a_person_may_ask_for_another_try_once_with_each_word() {
    let mut world = dead();
    run(&mut world, 400, at(Phase::Guarded));
    world.permits.power = vec![crate::api::fence::Hold::new("RestartLimit", "2 in 24h")];
    run(&mut world, 2, |_| false);
    assert_eq!(world.phase(), Phase::Quarantined);
    world.fence.metadata.annotations.insert(RETRY.into(), "replaced the board".into());
    let phases = run(&mut world, 20, |_| false);
    assert_eq!(phases[1], Phase::InDoubt);
    assert_eq!(world.phase(), Phase::Quarantined);
}

#[test]
fn a_drain_ends_at_its_total_time_whoever_leads() {
    let mut world = World::new(ladder(&["cordon", "drain", "reboot"]));
    run(&mut world, 5, at(Phase::Draining));
    world.pass(Duration::from_secs(200));
    world.entered = world.now.moment;
    let Next::Act(Action::Step { step: Step::Drain(rules), .. }) = world.next() else { panic!() };
    assert_eq!(rules.timeout, Duration::from_secs(400));
    world.pass(Duration::from_secs(400));
    run(&mut world, 2, |_| false);
    assert!(!world.fence.status.drain.as_ref().unwrap().done);
    assert_eq!(world.fence.status.hold.unwrap().reason, "DrainFailed");
}
