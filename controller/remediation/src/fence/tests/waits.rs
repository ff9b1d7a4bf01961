//! How long a record waits in the steps before power: between two tries of what failed, and after a step.

use std::time::Duration;

use super::{
    fixture::Fixture,
    parts::{span, steps},
};
use crate::{
    action::{Action, Op, ReversibleOp},
    api::fence::{DrainReport, Phase},
    fence::{Next, PredicateState, begin::back_off, drain_again::left_pods},
    time::Moment,
};

fn later(fixture: &mut Fixture, secs: u64) {
    fixture.now.moment = fixture.now.moment.plus(Duration::from_secs(secs));
    fixture.now.wall += Duration::from_secs(secs);
}

fn next_step(fixture: &Fixture) -> (Phase, usize) {
    let Next::Act(Action::Save { fence, .. }) = fixture.next() else { panic!("{:?}", fixture.next()) };
    (fence.status.phase, fence.status.policy_step)
}

/// Until when it waits before it tries again, in seconds from now.
fn left(fixture: &Fixture) -> Option<u64> {
    match back_off(&fixture.input())? {
        Next::Wait { until: Some(until), .. } => Some(until.since(fixture.now.moment).as_secs()),
        other => panic!("{other:?}"),
    }
}

/// By the wall clock of the leader that wrote it; the clock of another one says nothing, and the phase counts from when it
/// was seen.
#[test]
fn what_failed_is_tried_again_after_five_seconds_and_twice_as_long_each_time() {
    for (failures, elapsed, expected) in [
        (1, 0, Some(5)),
        (1, 4, Some(1)),
        (1, 5, None),
        (2, 4, Some(6)),
        (3, 0, Some(20)),
        (7, 0, Some(300)),
        (9, 299, Some(1)),
        (0, 0, None),
    ] {
        let mut fixture = Fixture::new(steps(&["cordon", "power"]));
        let status = &mut fixture.fence.status;
        (status.phase, status.failures, status.epoch) = (Phase::Isolating, failures, 7);
        status.last_failure = Some(fixture.now.wall);
        // The phase was entered long before it failed.
        fixture.entered = Moment(Duration::from_secs(1));
        later(&mut fixture, elapsed);
        assert_eq!(left(&fixture), expected, "{failures} failures, the last {elapsed} s ago");
    }
    for (epoch, wall, expected) in [(6, 100, Some(3)), (7, -100, Some(3)), (7, 1, Some(4))] {
        let mut fixture = Fixture::new(steps(&["cordon", "power"]));
        let failed = fixture.now.wall - jiff::SignedDuration::from_secs(wall);
        let status = &mut fixture.fence.status;
        (status.phase, status.failures, status.epoch) = (Phase::Isolating, 1, epoch);
        status.last_failure = Some(failed);
        fixture.entered = Moment(fixture.now.moment.0 - Duration::from_secs(2));
        assert_eq!(left(&fixture), expected, "in term {epoch}, {wall} s ago by the wall clock");
    }
}

/// Another client uncordoned it, or cordoned it first: which of the two it is shows by setting ours.
#[test]
fn a_cordon_is_done_when_it_is_ours_and_there() {
    for (ours, there, is_done) in
        [(true, true, true), (true, false, false), (false, true, false), (false, false, false)]
    {
        let mut fixture = Fixture::new(steps(&["cordon", "power"]));
        fixture.fence.status.phase = Phase::Isolating;
        fixture.fence.status.own_changes.cordon = ours;
        fixture.node.as_mut().unwrap().unschedulable = there;
        if is_done {
            assert_eq!(next_step(&fixture), (Phase::AwaitGuards, 1));
        } else {
            let is_cordon = |next: &Next| {
                matches!(next, Next::Act(Action::Perform { op: Op::Reversible(ReversibleOp::Cordon), .. }))
            };
            assert!(is_cordon(&fixture.next()), "{ours} {there}: {:?}", fixture.next());
        }
    }
}

#[test]
fn a_step_that_has_a_wait_after_it_waits_and_then_the_next_one_begins() {
    for (wait, phase) in [(None, Phase::AwaitGuards), (span("0s"), Phase::AwaitGuards), (span("30s"), Phase::Waiting)] {
        let mut fixture = Fixture::new(steps(&["drain", "power"]));
        fixture.fence.spec.steps[0].then_wait = wait;
        fixture.fence.status.phase = Phase::Draining;
        fixture.fence.status.drain = Some(DrainReport { done: true, refused_evictions: Vec::new(), left: 0 });
        assert_eq!(next_step(&fixture).0, phase);
    }
    for (step, elapsed, begins) in [(0, 29, false), (0, 30, true), (1, 299, false)] {
        let mut fixture = Fixture::new(steps(&["cordon", "cordon"]));
        fixture.node.as_mut().unwrap().unschedulable = true;
        fixture.fence.spec.steps[0].then_wait = span("30s");
        (fixture.fence.status.phase, fixture.fence.status.policy_step) = (Phase::Waiting, step);
        later(&mut fixture, elapsed);
        if begins {
            assert_eq!(next_step(&fixture), (Phase::Isolating, step + 1));
        } else {
            assert!(matches!(fixture.next(), Next::Wait { .. }), "{step} {elapsed}: {:?}", fixture.next());
        }
    }
}

/// After its last step, the drain having left pods or not, for the so manieth time.
fn drained(kinds: &[&str], done: bool, rounds: u32) -> Fixture {
    let mut fixture = Fixture::new(steps(kinds));
    let refused = if done { Vec::new() } else { vec!["shop/a: a budget".into(), "shop/b: a budget".into()] };
    let status = &mut fixture.fence.status;
    (status.phase, status.policy_step, status.drain_rounds) = (Phase::Waiting, kinds.len() - 1, rounds);
    status.drain = Some(DrainReport { done, refused_evictions: refused, left: 0 });
    fixture.predicate = PredicateState::Yes;
    fixture.node.as_mut().unwrap().unschedulable = true;
    fixture
}

/// Where it goes next, in which round, and what the record then says of it.
fn saved(fixture: &Fixture) -> (Phase, u32, Vec<String>) {
    let Next::Act(Action::Save { fence, .. }) = fixture.next() else { panic!("{:?}", fixture.next()) };
    let reasons = fence.status.blocked_by.iter().map(|one| one.reason.clone());
    (fence.status.phase, fence.status.drain_rounds, reasons.collect())
}

/// The budget may allow it by then: nothing else would help the node.
#[test]
fn steps_that_end_with_pods_left_are_begun_again_after_longer_and_longer_pauses() {
    for (kinds, rounds, pause) in [
        (&["cordon", "drain"][..], 0, 300),
        (&["cordon", "drain"], 1, 600),
        (&["drain", "cordon"], 2, 1200),
        (&["cordon", "drain"], 4, 3600),
        (&["cordon", "drain"], u32::MAX, 3600),
    ] {
        let mut fixture = drained(kinds, false, rounds);
        later(&mut fixture, pause - 1);
        assert_eq!(saved(&fixture), (Phase::Waiting, rounds, vec!["DrainIncomplete".to_owned()]));
        later(&mut fixture, 1);
        assert_eq!(saved(&fixture), (Phase::Pending, rounds.saturating_add(1), Vec::new()));
        assert_eq!(next_step(&fixture), (Phase::Pending, 0));
    }
    let blocker = left_pods(&drained(&["drain"], false, 0).fence).unwrap().blocker;
    assert!(blocker.message.contains(" again 5m after its end: shop/a: a budget; and 1 more; "), "{blocker:?}");
}

/// What it says of the node has to be known.
#[test]
fn a_drain_is_not_begun_again_without_its_policy() {
    let mut fixture = drained(&["cordon", "drain"], false, 0);
    fixture.predicate = PredicateState::Unknown;
    later(&mut fixture, 300);
    let (phase, _, reasons) = saved(&fixture);
    assert_eq!((phase, reasons), (Phase::Waiting, vec!["PredicateError".to_owned(), "DrainIncomplete".to_owned()]));
}

/// The machine of a reap is another one by now.
#[test]
fn a_drain_that_left_nothing_or_has_a_reap_after_it_is_not_begun_again() {
    for (kinds, done) in
        [(&["cordon", "drain"][..], true), (&["cordon", "drain", "reap"], false), (&["reap", "drain"], false)]
    {
        let mut fixture = drained(kinds, done, 0);
        later(&mut fixture, 3600);
        assert_eq!(saved(&fixture), (Phase::Waiting, 0, vec!["StepsExhausted".to_owned()]), "{kinds:?}");
    }
}
