//! What an unread, missing or impossible value does to a record: it waits, or asks again.

use std::time::Duration;

use super::{
    course::{at, dead, run},
    parts::steps,
    world::World,
};
use crate::{
    action::Action,
    api::fence::Phase,
    fence::{Next, Wanted, begin::back_off, interrupt::is_well},
    policy::Policy,
};

#[test]
fn a_policy_that_is_gone_does_not_make_a_node_well_at_once() {
    let mut world = World::new(steps(&["cordon"]));
    world.policy = None;
    world.wanted = Wanted::No { since: world.now.moment };
    assert!(!is_well(&world.case()));
    world.now.moment = world.now.moment.plus(Policy::default().healthy_for);
    assert!(is_well(&world.case()));
}

/// The wall clock was set back since the try: only the time in the phase shows how long ago it was.
#[test]
fn a_try_from_the_future_is_followed_by_no_other_at_once() {
    let mut world = World::new(steps(&["cordon"]));
    let status = &mut world.fence.status;
    (status.epoch, status.failures, status.tried) = (7, 1, Some(world.now.wall + Duration::from_secs(600)));
    assert!(back_off(&world.case()).is_some());
    world.now.moment = world.now.moment.plus(Duration::from_secs(6));
    assert!(back_off(&world.case()).is_none());
}

/// The Node named no boot when its power was cut and names one now: it is unknown whether it began since.
#[test]
fn a_boot_that_was_not_known_when_power_was_cut_is_fenced_again() {
    let mut world = dead();
    run(&mut world, 400, at(Phase::OffConfirmed));
    world.fence.status.boot_id.clear();
    world.fence.status.off.as_mut().unwrap().boot_id.clear();
    world.look();
    let Next::Act(Action::Save { fence, .. }) = world.next() else { panic!("{:?}", world.next()) };
    assert_eq!((fence.status.phase, fence.status.off, fence.status.intent), (Phase::Guarded, None, None));
}
