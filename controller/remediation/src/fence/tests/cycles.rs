//! What counts as a power cycle: each power off that was, or may have been, begun, and each once.

use std::time::Duration;

use jiff::Timestamp;

use super::{
    course::{at, dead, run},
    world::World,
};
use crate::{
    action::{Failed, IrreversibleOp, Op, Outcome},
    api::fence::{Irreversible, Phase},
    fence::absorb,
};

/// Power off is meant, and the next thing is to do it.
fn meant() -> World {
    let mut world = dead();
    run(&mut world, 400, at(Phase::PoweringOff));
    world
}

/// When another leader, whose clock is ahead, wrote a cycle down that is long over.
fn ahead(world: &World) -> Timestamp {
    world.now.wall + Duration::from_secs(600)
}

fn ends(world: &mut World, op: &Op, outcome: &Outcome) {
    let (fence, _) = absorb(&world.fence, op, outcome, world.epoch, world.now);
    world.store(fence);
}

fn turns_off(world: &mut World) {
    let outcome = world.perform(&Op::Irreversible(IrreversibleOp::PowerOff));
    ends(world, &Op::Irreversible(IrreversibleOp::PowerOff), &outcome);
}

fn cycles(world: &World) -> usize {
    world.fence.status.cycles.len()
}

#[test]
fn a_cycle_counts_after_one_of_a_clock_that_was_ahead() {
    let mut world = meant();
    world.fence.status.cycles = vec![ahead(&world)];
    turns_off(&mut world);
    assert_eq!((world.phase(), cycles(&world)), (Phase::OffConfirmed, 2));
}

#[test]
fn a_cycle_in_doubt_counts_at_once_and_not_again_when_its_end_is_known() {
    for on in [false, true] {
        let mut world = meant();
        world.fence.status.cycles = vec![ahead(&world)];
        ends(&mut world, &Op::Irreversible(IrreversibleOp::PowerOff), &Err(Failed::Timeout(Duration::from_secs(20))));
        assert_eq!((world.phase(), cycles(&world)), (Phase::InDoubt, 2));
        world.turn(on);
        let phases = run(&mut world, 60, |world| world.fence.status.intent.is_none());
        assert_eq!(cycles(&world), 2, "{phases:?}");
    }
}

#[test]
fn a_cycle_counts_whose_leader_died_before_it_was_reported() {
    for (on, phase) in [(false, Phase::OffConfirmed), (true, Phase::Failed)] {
        let mut world = meant();
        world.turn(false);
        world.epoch += 1;
        // Another actor may have turned it on again by the time that its BMC is asked.
        world.turn(on);
        world.alive = false;
        run(&mut world, 60, |world| world.fence.status.intent.is_none());
        assert_eq!((world.phase(), cycles(&world)), (phase, 1));
    }
}

#[test]
fn a_cycle_counts_although_the_node_is_back_before_its_bmc_was_asked() {
    let mut world = meant();
    world.turn(false);
    world.epoch += 1;
    run(&mut world, 1, at(Phase::InDoubt));
    world.turn(true);
    world.pass(Duration::from_secs(40));
    let phases = run(&mut world, 60, |world| world.fence.status.intent.is_none());
    assert_eq!((world.phase(), cycles(&world)), (Phase::Recovering, 1), "{phases:?}");
}

#[test]
fn what_was_not_begun_and_what_is_no_power_off_counts_nothing() {
    let mut world = meant();
    ends(&mut world, &Op::Irreversible(IrreversibleOp::PowerOff), &Err(Failed::NotBegun("lease".into())));
    assert_eq!((world.phase(), cycles(&world)), (Phase::Guarded, 0));
    let mut world = meant();
    turns_off(&mut world);
    let is_on_meant =
        |world: &World| world.fence.status.intent.as_ref().is_some_and(|intent| intent.act == Irreversible::PowerOn);
    run(&mut world, 60, is_on_meant);
    ends(&mut world, &Op::Irreversible(IrreversibleOp::PowerOn), &Err(Failed::Timeout(Duration::from_secs(20))));
    run(&mut world, 60, at(Phase::PoweringOn));
    assert_eq!((world.phase(), cycles(&world)), (Phase::PoweringOn, 1));
}

#[test]
fn cycles_before_a_record_begin_no_steps_of_its_own_again() {
    for (earlier, own, restarts) in [(1, 0, 0), (0, 1, 1)] {
        let mut world = dead();
        let step = world.fence.spec.steps.len() - 1;
        let now = world.now.wall;
        let status = &mut world.fence.status;
        (status.phase, status.policy_step) = (Phase::Waiting, step);
        (status.earlier_cycles, status.cycles) = (vec![now; earlier], vec![now; own]);
        run(&mut world, 900, |world| world.fence.status.restarts > 0 || world.fence.status.blocked_by.is_some());
        assert_eq!(world.fence.status.restarts, restarts, "{:?}", world.fence.status);
        let blocked = world.fence.status.blocked_by.as_ref().map(|blocker| blocker.reason.as_str());
        assert_eq!(blocked, (restarts == 0).then_some("StepsExhausted"));
    }
}
