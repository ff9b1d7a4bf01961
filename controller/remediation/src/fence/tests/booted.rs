//! A machine that boots again while its power is cut.

use std::time::Duration;

use super::{
    course::{at, dead, run},
    fixture::Fixture,
};
use crate::{
    action::{Action, Done, IrreversibleOp, Op},
    api::fence::Phase,
    fence::{NewBoot, Next, PredicateState, apply_outcome},
};

fn second(fixture: &mut Fixture, boot: &mut NewBoot) -> bool {
    fixture.pass(Duration::from_secs(1));
    boot.is_alive(&fixture.fence, fixture.node.as_ref(), fixture.kubelet.as_ref())
}

/// About to be turned off.
fn cut() -> Fixture {
    let mut fixture = dead();
    run(&mut fixture, 400, at(Phase::PoweringOff));
    assert!(matches!(
        fixture.next(),
        Next::Act(Action::Perform { op: Op::Irreversible(IrreversibleOp::PowerOff), .. })
    ));
    fixture
}

/// The fixture's kubelet renews every second, 30 s after the machine began to boot.
#[test]
fn a_new_boot_is_alive_when_it_has_renewed_its_lease_twice() {
    let mut fixture = cut();
    let mut boot = NewBoot::watched_from(fixture.now.moment);
    assert!((0..60).all(|_| !second(&mut fixture, &mut boot)), "it is silent");
    fixture.boot();
    let seconds = (1..100).find(|_| second(&mut fixture, &mut boot));
    assert_eq!(seconds, Some(30 + 8));
}

#[test]
fn the_old_boot_is_not_taken_for_a_new_one() {
    let mut fixture = cut();
    let mut boot = NewBoot::watched_from(fixture.now.moment);
    fixture.alive = true;
    assert!((0..100).all(|_| !second(&mut fixture, &mut boot)), "it lives on");
}

/// It reported itself when its power was gone: one renewal, and no more.
#[test]
fn a_boot_that_was_cut_as_it_began_is_not_alive() {
    let mut fixture = cut();
    let mut boot = NewBoot::watched_from(fixture.now.moment);
    fixture.boot();
    fixture.powered_since = fixture.now.moment;
    for _ in 0..30 {
        second(&mut fixture, &mut boot);
    }
    fixture.alive = false;
    assert!((0..100).all(|_| !second(&mut fixture, &mut boot)));
}

#[test]
fn another_node_of_the_name_and_a_node_without_its_storage_prove_nothing() {
    for change in [
        (|fixture: &mut Fixture| fixture.node.as_mut().unwrap().uid = "another".into()) as fn(&mut Fixture),
        |fixture| fixture.fence.status.storage_only = Some("ceph".into()),
        |fixture| fixture.fence.status.boot_id.clear(),
    ] {
        let mut fixture = cut();
        let mut boot = NewBoot::watched_from(fixture.now.moment);
        change(&mut fixture);
        fixture.boot();
        assert!((0..100).all(|_| !second(&mut fixture, &mut boot)));
    }
}

#[test]
fn a_machine_that_booted_anew_is_awaited_and_its_pods_are_not_released() {
    let mut fixture = cut();
    fixture.boot();
    (0..40).for_each(|_| fixture.pass(Duration::from_secs(1)));
    let op = Op::Irreversible(IrreversibleOp::PowerOff);
    let (fence, _) = apply_outcome(&fixture.fence, &op, &Ok(Done::Booted), fixture.epoch, fixture.now);
    assert_eq!(
        (fence.status.phase, fence.status.off.as_ref(), fence.status.cycles.len()),
        (Phase::AwaitReady, None, 1)
    );
    fixture.store(fence);
    fixture.predicate = PredicateState::No { since: fixture.now.moment };
    let phases = run(&mut fixture, 100, at(Phase::Closed));
    assert_eq!(phases, [Phase::AwaitReady, Phase::Recovering, Phase::Closed]);
    assert_eq!((fixture.fence.status.released, fixture.boots), (0, 2));
}
