//! A record that a person deleted while its node was cut off its storage, and the one that takes its place.

use super::{
    course::{at, dead, run},
    fixture::Fixture,
    parts::plan,
};
use crate::{
    action::{Action, Failed, IrreversibleOp, Op},
    api::{
        CORDONED_BY, STORAGE_RELEASED,
        fence::{Blocker, Phase},
    },
    fence::{Next, PredicateState, apply_outcome},
    guard::reason::{FENCE_NOT_READY, NO_METHODS},
    snapshot::FencePlan,
};

/// Ready, cordoned, and cut off its storage, with its first boot.
fn cut() -> Fixture {
    let mut fixture = dead();
    fixture.fence.status.phase = Phase::Recovering;
    fixture.fence.status.own_changes.cordon = true;
    fixture.fence.status.boot_id = fixture.boot_id();
    fixture.predicate = PredicateState::No { since: fixture.now.moment };
    fixture.gathered.methods = Some(Ok(FencePlan { storage_only: Some("ceph".into()), ..plan() }));
    (fixture.alive, fixture.powered, fixture.storage) = (true, false, true);
    let node = fixture.node.as_mut().unwrap();
    node.unschedulable = true;
    node.annotations.insert(CORDONED_BY.into(), "dead".into());
    node.annotations.insert(STORAGE_RELEASED.into(), "boot-1".into());
    fixture
}

fn is_cordoned(fixture: &Fixture) -> bool {
    fixture.node.as_ref().unwrap().unschedulable
}

#[test]
fn a_node_that_is_still_cut_off_its_storage_stays_cordoned_until_it_has_booted_and_has_it_back() {
    let mut fixture = cut();
    run(&mut fixture, 200, at(Phase::Closed));
    assert_eq!((fixture.phase(), fixture.powered), (Phase::PoweringOn, false), "{:?}", fixture.fence.status.log);
    assert!(is_cordoned(&fixture) && fixture.fence.status.is_blocked_by("LeftCut"));
    fixture.boot();
    run(&mut fixture, 200, |fixture| fixture.powered);
    assert!(fixture.powered && is_cordoned(&fixture), "it gets its storage back first");
    run(&mut fixture, 200, at(Phase::Closed));
    let annotations = &fixture.node.as_ref().unwrap().annotations;
    assert_eq!((fixture.phase(), is_cordoned(&fixture)), (Phase::Closed, false), "{:?}", fixture.fence.status.log);
    assert!(!annotations.contains_key(STORAGE_RELEASED));
}

/// The same with a step that leaves machines off, or a record that is aborted because its policy is gone.
#[test]
fn its_steps_and_its_policy_are_not_asked() {
    let mut fixture = cut();
    fixture.fence.spec.abort = true;
    (fixture.fence.spec.steps, fixture.policy) = (Vec::new(), None);
    fixture.boot();
    run(&mut fixture, 200, at(Phase::Closed));
    assert_eq!((fixture.phase(), fixture.powered), (Phase::Closed, true), "{:?}", fixture.fence.status.log);
}

/// Its switch fails once, or its end is unknown: its storage is cut still, and nothing of that is forgotten.
#[test]
fn an_order_that_fails_is_tried_again_and_a_person_looks_in_the_end() {
    for lost in [Failed::InDoubt("no answer".into()), Failed::NotBegun("too slow".into())] {
        let mut fixture = cut();
        run(&mut fixture, 200, at(Phase::PoweringOn));
        fixture.boot();
        for _ in 0..5 {
            let is_ordered = |fixture: &Fixture| matches!(fixture.next(), Next::Act(Action::Perform { .. }));
            run(&mut fixture, 600, |fixture| fixture.phase() == Phase::PoweringOn && is_ordered(fixture));
            assert_eq!((fixture.phase(), is_cordoned(&fixture)), (Phase::PoweringOn, true), "{lost:?}");
            let op = Op::Irreversible(IrreversibleOp::PowerOn);
            let (fence, _) = apply_outcome(&fixture.fence, &op, &Err(lost.clone()), fixture.epoch, fixture.now);
            fixture.store(fence);
        }
        run(&mut fixture, 20, at(Phase::InDoubt));
        assert!(is_cordoned(&fixture) && fixture.node.as_ref().unwrap().annotations.contains_key(STORAGE_RELEASED));
    }
}

/// As that of a machine that is off.
#[test]
fn a_node_that_goes_meanwhile_is_a_persons() {
    let mut fixture = cut();
    run(&mut fixture, 200, at(Phase::PoweringOn));
    fixture.node = None;
    run(&mut fixture, 5, at(Phase::Quarantined));
    assert_eq!(fixture.phase(), Phase::Quarantined);
}

/// It would be left off for ever, and its recovery methods are for a node that has its storage.
#[test]
fn a_step_that_leaves_machines_off_is_none_for_a_storage() {
    let mut fixture = cut();
    fixture.fence.status.policy_step = 1;
    for step in &mut fixture.fence.spec.steps {
        step.power_cycle.iter_mut().for_each(|cycle| cycle.leave_off = true);
    }
    fixture.fence.status.isolated = true;
    let plan = FencePlan { recovery: vec!["port".into()], storage_only: Some("ceph".into()), ..plan() };
    fixture.gathered.methods = Some(Ok(plan));
    run(&mut fixture, 200, at(Phase::PoweringOn));
    assert!(fixture.phase() == Phase::PoweringOn && fixture.fence.status.isolated, "{:?}", fixture.fence.status.log);
    fixture.boot();
    run(&mut fixture, 400, at(Phase::Closed));
    assert_eq!((fixture.phase(), fixture.powered), (Phase::Closed, true), "{:?}", fixture.fence.status.log);
}

/// A person may be mending it: what a new boot would get back is not known.
#[test]
fn a_configuration_with_errors_is_waited_for() {
    let mut fixture = cut();
    fixture.boot();
    fixture.gathered.methods = Some(Err(Blocker::new(FENCE_NOT_READY, "line 3")));
    run(&mut fixture, 200, at(Phase::Closed));
    assert_eq!((fixture.phase(), is_cordoned(&fixture)), (Phase::Recovering, true));
}

/// Its kubelet may edit its Node, and a person.
#[test]
fn the_annotation_is_needed_no_more_once_the_record_waits() {
    let mut fixture = cut();
    run(&mut fixture, 200, at(Phase::PoweringOn));
    fixture.node.as_mut().unwrap().annotations.remove(STORAGE_RELEASED);
    run(&mut fixture, 200, |fixture| fixture.powered);
    assert!(!fixture.powered && fixture.fence.status.is_blocked_by("LeftCut"));
    fixture.boot();
    run(&mut fixture, 400, at(Phase::Closed));
    assert_eq!((fixture.phase(), fixture.powered), (Phase::Closed, true), "{:?}", fixture.fence.status.log);
}

/// Until then it is not known whether it is cut off.
#[test]
fn methods_that_are_not_read_are_waited_for() {
    let mut fixture = cut();
    fixture.boot();
    fixture.gathered.methods = None;
    run(&mut fixture, 200, at(Phase::Closed));
    assert_eq!((fixture.phase(), is_cordoned(&fixture)), (Phase::Recovering, true));
    let Next::Wait { blockers, .. } = fixture.next() else { panic!("{:?}", fixture.next()) };
    assert_eq!(blockers[0].reason, FENCE_NOT_READY);
}

/// A person has changed how the node is fenced: there is nothing that could give a storage back.
#[test]
fn a_node_that_is_fenced_otherwise_by_now_waits_for_its_boot_all_the_same() {
    for methods in [Ok(plan()), Err(Blocker::new(NO_METHODS, "none"))] {
        waits_for_its_boot(methods);
    }
}

fn waits_for_its_boot(methods: Result<FencePlan, Blocker>) {
    let mut fixture = cut();
    fixture.gathered.methods = Some(methods);
    run(&mut fixture, 200, at(Phase::Closed));
    assert_eq!((fixture.phase(), is_cordoned(&fixture)), (Phase::Recovering, true));
    assert!(fixture.fence.status.is_blocked_by("LeftCut"));
    fixture.boot();
    run(&mut fixture, 200, at(Phase::Closed));
    assert_eq!((fixture.phase(), is_cordoned(&fixture)), (Phase::Closed, false));
    assert!(!fixture.powered, "its power is not touched");
}
