//! What counts as a power cycle: each power off that was, or may have been, begun, and each once.

use std::time::Duration;

use jiff::Timestamp;

use super::{
    course::{at, dead, run},
    fixture::Fixture,
};
use crate::{
    action::{Failed, IrreversibleOp, Op, Outcome},
    api::fence::{IntendedOp, Phase},
    fence::{apply_outcome, begin::STEP_ROUNDS},
};

/// Power off is intended, and the next thing is to do it.
fn intended() -> Fixture {
    let mut fixture = dead();
    run(&mut fixture, 400, at(Phase::PoweringOff));
    fixture
}

/// When another leader, whose clock is ahead, wrote a cycle down that is long over.
fn ahead(fixture: &Fixture) -> Timestamp {
    fixture.now.wall + Duration::from_secs(600)
}

fn ends(fixture: &mut Fixture, op: &Op, outcome: &Outcome) {
    let (fence, _) = apply_outcome(&fixture.fence, op, outcome, fixture.epoch, fixture.now);
    fixture.store(fence);
}

fn turns_off(fixture: &mut Fixture) {
    let outcome = fixture.perform(&Op::Irreversible(IrreversibleOp::PowerOff));
    ends(fixture, &Op::Irreversible(IrreversibleOp::PowerOff), &outcome);
}

fn cycles(fixture: &Fixture) -> usize {
    fixture.fence.status.cycles.len()
}

#[test]
fn a_cycle_counts_after_one_of_a_clock_that_was_ahead() {
    let mut fixture = intended();
    fixture.fence.status.cycles = vec![ahead(&fixture)];
    turns_off(&mut fixture);
    assert_eq!((fixture.phase(), cycles(&fixture)), (Phase::OffConfirmed, 2));
}

#[test]
fn a_cycle_in_doubt_counts_at_once_and_not_again_when_its_end_is_known() {
    for on in [false, true] {
        let mut fixture = intended();
        fixture.fence.status.cycles = vec![ahead(&fixture)];
        ends(&mut fixture, &Op::Irreversible(IrreversibleOp::PowerOff), &Err(Failed::Timeout(Duration::from_secs(20))));
        assert_eq!((fixture.phase(), cycles(&fixture)), (Phase::InDoubt, 2));
        fixture.turn(on);
        let phases = run(&mut fixture, 60, |fixture| fixture.fence.status.intent.is_none());
        assert_eq!(cycles(&fixture), 2, "{phases:?}");
    }
}

/// Its BMC refuses, and it is on: each try is one of the same cycle.
#[test]
fn tries_of_one_power_off_are_one_cycle_and_the_next_incident_is_another() {
    let mut fixture = intended();
    for _ in 0..3 {
        run(&mut fixture, 400, at(Phase::PoweringOff));
        ends(&mut fixture, &Op::Irreversible(IrreversibleOp::PowerOff), &Err(Failed::Refused("no".into())));
        run(&mut fixture, 60, at(Phase::AwaitGuards));
        assert_eq!(
            (fixture.phase(), cycles(&fixture), fixture.fence.status.cycle_begun),
            (Phase::AwaitGuards, 1, true)
        );
    }
    run(&mut fixture, 400, at(Phase::OffConfirmed));
    assert_eq!((cycles(&fixture), fixture.fence.status.cycle_begun), (1, false));
    run(&mut fixture, 400, at(Phase::AwaitReady));
    fixture.alive = false;
    run(&mut fixture, 1200, |fixture| cycles(fixture) > 1);
    assert_eq!(cycles(&fixture), 2, "it was turned on in between");
}

#[test]
fn a_cycle_counts_whose_leader_died_before_it_was_reported() {
    for (on, phase) in [(false, Phase::OffConfirmed), (true, Phase::Failed)] {
        let mut fixture = intended();
        fixture.turn(false);
        fixture.epoch += 1;
        // Another actor may have turned it on again by the time that its BMC is asked.
        fixture.turn(on);
        fixture.alive = false;
        run(&mut fixture, 60, |fixture| fixture.fence.status.intent.is_none());
        assert_eq!((fixture.phase(), cycles(&fixture)), (phase, 1));
    }
}

#[test]
fn a_cycle_counts_although_the_node_is_back_before_its_bmc_was_asked() {
    let mut fixture = intended();
    fixture.turn(false);
    fixture.epoch += 1;
    run(&mut fixture, 1, at(Phase::InDoubt));
    fixture.turn(true);
    fixture.pass(Duration::from_secs(40));
    let phases = run(&mut fixture, 60, |fixture| fixture.fence.status.intent.is_none());
    assert_eq!((fixture.phase(), cycles(&fixture)), (Phase::Recovering, 1), "{phases:?}");
}

#[test]
fn what_was_not_begun_and_what_is_no_power_off_counts_nothing() {
    let mut fixture = intended();
    ends(&mut fixture, &Op::Irreversible(IrreversibleOp::PowerOff), &Err(Failed::NotBegun("lease".into())));
    assert_eq!((fixture.phase(), cycles(&fixture)), (Phase::AwaitGuards, 0));
    let mut fixture = intended();
    turns_off(&mut fixture);
    let is_on_intended =
        |fixture: &Fixture| fixture.fence.status.intent.as_ref().is_some_and(|intent| intent.op == IntendedOp::PowerOn);
    run(&mut fixture, 60, is_on_intended);
    ends(&mut fixture, &Op::Irreversible(IrreversibleOp::PowerOn), &Err(Failed::Timeout(Duration::from_secs(20))));
    run(&mut fixture, 60, at(Phase::PoweringOn));
    assert_eq!((fixture.phase(), cycles(&fixture)), (Phase::PoweringOn, 1));
}

/// Off already, or well before its power was cut, and ill again: its power is cut all the same.
#[test]
fn steps_that_cut_the_power_are_begun_again_however_often_it_was_cut() {
    for (earlier, own) in [(0, 0), (1, 0), (0, 1)] {
        let mut fixture = dead();
        let step = fixture.fence.spec.steps.len() - 1;
        let now = fixture.now.wall;
        let status = &mut fixture.fence.status;
        (status.phase, status.policy_step) = (Phase::Waiting, step);
        (status.earlier_cycles, status.cycles) = (vec![now; earlier], vec![now; own]);
        run(&mut fixture, 900, |fixture| fixture.fence.status.off.is_some());
        let status = &fixture.fence.status;
        assert_eq!((status.step_rounds, status.off.is_some()), (1, true), "{earlier} {own}: {status:?}");
    }
}

#[test]
fn the_last_round_of_steps_is_given_up_under_a_reason_of_its_own() {
    let mut fixture = dead();
    let step = fixture.fence.spec.steps.len() - 1;
    let now = fixture.now.wall;
    let status = &mut fixture.fence.status;
    (status.phase, status.policy_step) = (Phase::Waiting, step);
    (status.cycles, status.step_rounds) = (vec![now], STEP_ROUNDS);
    run(&mut fixture, 900, at(Phase::Quarantined));
    let status = &fixture.fence.status;
    assert_eq!((status.phase, status.step_rounds), (Phase::Quarantined, STEP_ROUNDS));
    assert_eq!(status.blocked_by[0].reason, "StepRoundLimit");
}
