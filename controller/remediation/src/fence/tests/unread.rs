//! What an unread, missing or impossible value does to a record: it waits, or asks again.

use std::time::Duration;

use super::{
    course::{at, dead, run},
    fixture::Fixture,
    parts::steps,
};
use crate::{
    action::Action,
    api::fence::Phase,
    fence::{Next, PredicateState, begin::back_off, interrupt::is_healthy},
    policy::Policy,
};

#[test]
fn a_policy_that_is_gone_does_not_make_a_node_well_at_once() {
    let mut fixture = Fixture::new(steps(&["cordon"]));
    fixture.policy = None;
    fixture.predicate = PredicateState::No { since: fixture.now.moment };
    assert!(!is_healthy(&fixture.input()));
    fixture.now.moment = fixture.now.moment.plus(Policy::default().healthy_delay);
    assert!(is_healthy(&fixture.input()));
}

/// The wall clock was set back since the try: only the time in the phase shows how long ago it was.
#[test]
fn a_try_from_the_future_is_followed_by_no_other_at_once() {
    let mut fixture = Fixture::new(steps(&["cordon"]));
    let status = &mut fixture.fence.status;
    (status.epoch, status.failures, status.last_failure) = (7, 1, Some(fixture.now.wall + Duration::from_secs(600)));
    assert!(back_off(&fixture.input()).is_some());
    fixture.now.moment = fixture.now.moment.plus(Duration::from_secs(6));
    assert!(back_off(&fixture.input()).is_none());
}

/// The Node named no boot when its power was cut and names one now: it is unknown whether it began since.
#[test]
fn a_boot_that_was_not_known_when_power_was_cut_is_fenced_again() {
    let mut fixture = dead();
    run(&mut fixture, 400, at(Phase::OffConfirmed));
    fixture.fence.status.boot_id.clear();
    fixture.fence.status.off.as_mut().unwrap().boot_id.clear();
    fixture.look();
    let Next::Act(Action::Save { fence, .. }) = fixture.next() else { panic!("{:?}", fixture.next()) };
    assert_eq!((fence.status.phase, fence.status.off, fence.status.intent), (Phase::AwaitGuards, None, None));
}
