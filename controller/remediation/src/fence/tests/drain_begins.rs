//! A drain is begun when every guard allows it: that is stored before the first pod is evicted, and its time counts from
//! there.

use std::time::Duration;

use super::{
    course::{at, run},
    fixture::Fixture,
    parts::steps,
};
use crate::{
    action::{Action, Op, ReversibleOp},
    api::fence::{Blocker, NodeFence, Phase},
    fence::{Next, drain_at_hand},
    time::Moment,
};

/// In Draining, with this in its way.
fn blocked(by: &str) -> Fixture {
    let mut fixture = Fixture::new(steps(&["cordon", "drain"]));
    fixture.guard_blockers.drain = vec![Blocker::new(by, "")];
    run(&mut fixture, 10, at(Phase::Draining));
    fixture
}

fn saved(fixture: &Fixture) -> NodeFence {
    match fixture.next() {
        Next::Act(Action::Save { fence, .. }) => *fence,
        other => panic!("{other:?}"),
    }
}

/// The time that the drain has that is performed now.
fn timeout(fixture: &Fixture) -> Duration {
    match fixture.next() {
        Next::Act(Action::Perform { op: Op::Reversible(ReversibleOp::Drain(rules)), .. }) => rules.timeout,
        other => panic!("{other:?}"),
    }
}

/// It waits for an hour, six times its time, behind other nodes.
#[test]
fn what_it_waits_before_it_begins_is_none_of_its_time() {
    for by in ["PodRate", "MaxConcurrent", "Storm"] {
        let mut fixture = blocked(by);
        run(&mut fixture, 3600, |_| false);
        let status = &fixture.fence.status;
        assert_eq!((status.phase, status.drain_begun_at), (Phase::Draining, None), "{by}");
        assert!(status.is_blocked_by(by));
        fixture.guard_blockers.drain.clear();
        let begun = saved(&fixture);
        assert_eq!((begun.status.drain_begun_at, begun.status.blocked_by.len()), (Some(fixture.now.wall), 0), "{by}");
        fixture.store(begun);
        assert_eq!(timeout(&fixture), Duration::from_secs(600), "{by}");
    }
}

#[test]
fn only_what_was_blocked_is_reported_as_blocked_no_more() {
    let (none, storm): (&[&str], &[&str]) = (&[], &["Storm"]);
    for by in [none, storm] {
        let mut fixture = Fixture::new(steps(&["cordon", "drain"]));
        fixture.guard_blockers.drain = by.iter().map(|reason| Blocker::new(reason, "")).collect();
        run(&mut fixture, 10, at(Phase::Draining));
        if !by.is_empty() {
            run(&mut fixture, 3, |_| false);
            fixture.guard_blockers.drain.clear();
        }
        let begun = saved(&fixture);
        assert!(begun.status.drain_begun_at.is_some());
        let is_reported = begun.status.log.iter().any(|entry| entry.text == "nothing blocks remediation any more");
        assert_eq!(is_reported, !by.is_empty(), "{:?}", begun.status.log);
    }
}

/// In another phase of its step nothing of it is under way: its pods are not yet, or no more, on their way.
#[test]
fn a_drain_is_at_hand_in_its_own_step_and_phase_alone() {
    let mut fixture = Fixture::new(steps(&["cordon", "drain"]));
    for (step, phase, is_at_hand) in [
        (1, Phase::Draining, true),
        (1, Phase::Waiting, false),
        (1, Phase::Failed, false),
        (0, Phase::Isolating, false),
        (0, Phase::Draining, false),
    ] {
        (fixture.fence.status.policy_step, fixture.fence.status.phase) = (step, phase);
        assert_eq!(drain_at_hand(&fixture.fence).is_some(), is_at_hand, "{step} {phase:?}");
    }
}

/// From then on its time counts, whatever stops it meanwhile.
#[test]
fn a_drain_that_was_begun_has_no_more_time_for_being_blocked() {
    let mut fixture = blocked("Storm");
    fixture.guard_blockers.drain.clear();
    let begun = saved(&fixture);
    fixture.store(begun);
    fixture.guard_blockers.drain = vec![Blocker::new("PodRate", "")];
    run(&mut fixture, 400, |_| false);
    fixture.guard_blockers.drain.clear();
    assert_eq!(timeout(&fixture), Duration::from_secs(200));
}

/// It sees the drain's beginning in the record, however late it saw the record.
#[test]
fn the_next_leader_goes_on_with_a_drain_that_was_begun() {
    let mut fixture = blocked("Storm");
    fixture.guard_blockers.drain.clear();
    let begun = saved(&fixture);
    fixture.store(begun);
    fixture.pass(Duration::from_secs(150));
    (fixture.epoch, fixture.entered) = (fixture.epoch + 1, fixture.now.moment);
    assert_eq!(timeout(&fixture), Duration::from_secs(450));
    // Its clock is set back: then it counts by its own.
    fixture.now.wall -= Duration::from_secs(500);
    fixture.entered = Moment(fixture.now.moment.0 - Duration::from_secs(30));
    assert_eq!(timeout(&fixture), Duration::from_secs(570));
}

#[test]
fn each_round_begins_its_own_drain() {
    let mut fixture = blocked("Storm");
    fixture.guard_blockers.drain.clear();
    run(&mut fixture, 2, |_| false);
    assert!(fixture.fence.status.drain_begun_at.is_some());
    fixture.fence.status.phase = Phase::Isolating;
    fixture.fence.status.policy_step = 0;
    fixture.guard_blockers.drain = vec![Blocker::new("Storm", "")];
    run(&mut fixture, 3, |_| false);
    assert_eq!((fixture.phase(), fixture.fence.status.drain_begun_at), (Phase::Draining, None));
}
