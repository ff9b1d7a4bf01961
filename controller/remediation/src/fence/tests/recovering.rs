//! What is taken back when a node is well, in which order, and what happens when it is not well after all.

use std::time::Duration;

use jiff::Timestamp;

use super::{
    fixture::Fixture,
    parts::{plan, steps},
};
use crate::{
    action::{Action, Op, ReversibleOp},
    api::{
        REMEDIATION_TAINT, STORAGE_RELEASED,
        fence::{Blocker, DrainReport, NodeFenceStatus, Phase},
    },
    facts::{ConditionStatus, Effect, Taint},
    fence::{Next, PredicateState, out_of_service},
    snapshot::FencePlan,
    time::Moment,
};

/// It is well for long enough, and nothing of it is ours.
fn well() -> Fixture {
    let mut fixture = Fixture::new(steps(&["cordon", "power"]));
    fixture.fence.status.phase = Phase::Recovering;
    fixture.now.moment = fixture.now.moment.plus(Duration::from_secs(60));
    fixture.entered = fixture.now.moment;
    fixture.predicate = PredicateState::No { since: Moment(fixture.now.moment.0 - Duration::from_secs(60)) };
    fixture
}

fn performed(fixture: &Fixture) -> Option<ReversibleOp> {
    match fixture.next() {
        Next::Act(Action::Perform { op: Op::Reversible(op), .. }) => Some(op),
        _ => None,
    }
}

fn phase(fixture: &Fixture) -> Phase {
    match fixture.next() {
        Next::Act(Action::Save { fence, .. }) => fence.status.phase,
        _ => fixture.phase(),
    }
}

fn blocked_by(fixture: &Fixture) -> Vec<String> {
    let blockers = match fixture.next() {
        Next::Act(Action::Save { fence, .. }) => fence.status.blocked_by,
        Next::Wait { blockers, .. } => blockers,
        other => panic!("{other:?}"),
    };
    blockers.into_iter().map(|blocker| blocker.reason).collect()
}

/// The Node may be an old copy that does not show it yet.
#[test]
fn a_release_that_the_record_remembers_is_taken_back_whether_the_node_shows_it_or_not() {
    let other = Taint { key: REMEDIATION_TAINT.into(), value: String::new(), effect: Effect::NoSchedule };
    for shown in [false, true] {
        let mut fixture = well();
        fixture.fence.status.own_changes.taints = vec![other.clone(), out_of_service()];
        fixture.gathered.attachments = Some((fixture.now.moment, Vec::new()));
        fixture.kubelet.as_mut().unwrap().change_seen_at = fixture.now.moment;
        if shown {
            fixture.node.as_mut().unwrap().taints = vec![out_of_service()];
        }
        assert_eq!(performed(&fixture), Some(ReversibleOp::Untaint(out_of_service())), "{shown}");
    }
}

/// Its power is cut again after a while, or another step taken: pods of it may be gone, and it is no help.
#[test]
fn a_node_that_is_not_ready_again_while_it_is_out_of_service_goes_on_with_its_steps() {
    for (ready, secs, expected) in [
        (ConditionStatus::Unknown, 299, Phase::Recovering),
        (ConditionStatus::Unknown, 300, Phase::Waiting),
        (ConditionStatus::True, 300, Phase::Recovering),
    ] {
        let mut fixture = well();
        fixture.predicate = PredicateState::Yes;
        fixture.fence.status.own_changes.taints = vec![out_of_service()];
        fixture.node.as_mut().unwrap().conditions[0].status = ready;
        fixture.now.moment = fixture.now.moment.plus(Duration::from_secs(secs));
        assert_eq!(phase(&fixture), expected, "{ready} {secs}");
    }
}

#[test]
fn a_node_is_given_back_when_its_policy_asks_for_nothing_for_long_enough() {
    let mut fixture = well();
    fixture.fence.status.own_changes.cordon = true;
    assert_eq!(performed(&fixture), Some(ReversibleOp::Uncordon));
    fixture.predicate = PredicateState::Yes;
    assert_eq!((performed(&fixture), phase(&fixture)), (None, Phase::Pending));
    fixture.predicate = PredicateState::No { since: fixture.now.moment };
    let until = fixture.now.moment.plus(Duration::from_secs(30));
    assert_eq!(fixture.next(), Next::Wait { until: Some(until), blockers: Vec::new() });
    fixture.predicate = PredicateState::Unknown;
    assert_eq!((performed(&fixture), blocked_by(&fixture)), (None, vec!["PredicateError".to_owned()]));
    fixture.fence.spec.abort = true;
    for predicate in [PredicateState::Yes, PredicateState::Unknown] {
        fixture.predicate = predicate;
        assert_eq!(performed(&fixture), Some(ReversibleOp::Uncordon), "a person aborted it: {predicate:?}");
    }
}

#[test]
fn the_methods_of_recovery_run_if_those_of_isolation_did() {
    let mut fixture = well();
    fixture.gathered.methods = Some(Ok(FencePlan { recovery: vec!["port".into()], ..plan() }));
    assert_eq!(phase(&fixture), Phase::Closed, "none were run");
    fixture.fence.status.isolated = true;
    assert_eq!(performed(&fixture), Some(ReversibleOp::Methods(vec!["port".into()])));
    fixture.gathered.methods = Some(Ok(plan()));
    let Next::Act(Action::Save { fence, .. }) = fixture.next() else { panic!("{:?}", fixture.next()) };
    assert_eq!((fence.status.phase, fence.status.isolated), (Phase::Recovering, false), "there are none");
    for unread in [None, Some(Err(Blocker::new("FenceNotReady", "line 3")))] {
        fixture.gathered.methods = unread;
        assert_eq!(blocked_by(&fixture), ["FenceNotReady"]);
    }
}

/// That of a boot which still runs stays: its pods were released.
#[test]
fn the_annotation_of_a_released_storage_goes_with_the_boot_that_it_names() {
    for (named, goes) in [("boot-1", false), ("boot-2", true), ("", false)] {
        let mut fixture = well();
        let node = fixture.node.as_mut().unwrap();
        node.annotations.insert(STORAGE_RELEASED.into(), "boot-1".into());
        node.boot_id = named.into();
        let expected = goes.then_some(ReversibleOp::ForgetRelease);
        assert_eq!(performed(&fixture), expected, "{named:?}: {:?}", fixture.next());
    }
}

/// Or a new record would be opened at once, against a person's word.
#[test]
fn an_aborted_record_of_steps_stays_while_its_node_is_there_and_not_well() {
    for (abort, with_steps, there, is_well, stays) in [
        (true, true, true, false, true),
        (false, true, true, false, false),
        (true, false, true, false, false),
        (true, true, false, false, false),
        (true, true, true, true, false),
    ] {
        let mut fixture = well();
        fixture.fence.status.phase = Phase::Closed;
        fixture.fence.spec.abort = abort;
        if !with_steps {
            fixture.fence.spec.steps.clear();
        }
        if !there {
            fixture.node = None;
        }
        if !is_well {
            fixture.predicate = PredicateState::Yes;
        }
        let is_closed = matches!(fixture.next(), Next::Act(Action::Close { .. }));
        assert_eq!(is_closed, !stays, "{abort} {with_steps} {there} {is_well}: {:?}", fixture.next());
    }
}

/// The record ended, its node is not well, and no step that it has would end that.
#[test]
fn steps_that_cut_no_power_are_not_begun_again() {
    for (kinds, cycles, expected) in
        [(&["cordon"][..], 1, "StepsExhausted"), (&["cordon", "power"], 0, ""), (&["cordon", "power"], 1, "")]
    {
        let mut fixture = well();
        fixture.fence.spec.steps = steps(kinds);
        fixture.predicate = PredicateState::Yes;
        let status = &mut fixture.fence.status;
        (status.phase, status.policy_step) = (Phase::Waiting, kinds.len() - 1);
        status.cycles = vec![fixture.now.wall; cycles];
        fixture.node.as_mut().unwrap().unschedulable = true;
        fixture.now.moment = fixture.now.moment.plus(Duration::from_secs(300));
        if expected.is_empty() {
            assert_eq!(phase(&fixture), Phase::Pending, "{:?}", fixture.next());
        } else {
            assert_eq!(blocked_by(&fixture), [expected], "{kinds:?} {cycles}");
        }
    }
}

/// What isolated it may be taken back by then: no drain, reboot or reap of a node that takes new pods.
#[test]
fn a_node_that_was_well_and_is_ill_again_begins_with_the_first_step_unless_its_power_was_cut() {
    type Past = fn(&mut NodeFenceStatus);
    let pasts: [(Past, bool); 6] = [
        (|_| {}, true),
        (|status| status.drain = Some(DrainReport { done: true, refused_evictions: Vec::new(), left: 0 }), true),
        (|status| status.cycles = vec![Timestamp::UNIX_EPOCH], false),
        (|status| status.released_at = Some(Timestamp::UNIX_EPOCH), false),
        (|status| status.ordered_off = true, false),
        (|status| status.cycle_begun = true, false),
    ];
    for (past, begins) in pasts {
        for kinds in [&["cordon", "drain", "power", "reap"][..], &["cordon", "drain"], &["cordon", "drain", "reap"]] {
            let mut fixture = well();
            fixture.fence.spec.steps = steps(kinds);
            fixture.predicate = PredicateState::Yes;
            let status = &mut fixture.fence.status;
            (status.phase, status.policy_step) = (Phase::Recovering, 1);
            past(status);
            let Next::Act(Action::Save { fence, .. }) = fixture.next() else { panic!("{:?}", fixture.next()) };
            let expected = if begins { (Phase::Pending, 0, true) } else { (Phase::Waiting, 1, false) };
            let shown = (fence.status.phase, fence.status.policy_step, fence.status.drain.is_none() && begins);
            assert_eq!(shown, expected, "{kinds:?}: {:?}", fixture.fence.status);
        }
    }
}

/// The provider has it by now, whatever its BMC would obey.
#[test]
fn a_machine_that_was_reaped_gets_no_order() {
    let mut fixture = well();
    fixture.fence.spec.steps = steps(&["cordon", "power", "reap"]);
    fixture.predicate = PredicateState::Yes;
    let status = &mut fixture.fence.status;
    (status.phase, status.policy_step, status.cycles) = (Phase::Waiting, 2, vec![Timestamp::UNIX_EPOCH]);
    fixture.now.moment = fixture.now.moment.plus(Duration::from_secs(300));
    assert_eq!(blocked_by(&fixture), ["StepsExhausted"]);
}

/// Whichever client wrote the record: with that taint Kubernetes deletes the pods of a node that may live.
#[test]
fn a_step_that_sets_the_taint_of_a_release_is_no_step() {
    for phase in [Phase::Isolating, Phase::Pending] {
        let mut fixture = well();
        fixture.fence.spec.steps = steps(&["taint", "power"]);
        fixture.fence.spec.steps[0].taint.as_mut().unwrap().key = Some(out_of_service().key);
        fixture.fence.status.phase = phase;
        fixture.predicate = PredicateState::Yes;
        assert_eq!((performed(&fixture), blocked_by(&fixture)), (None, vec!["BadStep".to_owned()]), "{phase:?}");
    }
}
