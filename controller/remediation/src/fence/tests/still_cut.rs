//! A record that a person deleted while its node was cut off its storage, and the one that takes its place.

use super::{
    course::{at, dead, run},
    fixture::Fixture,
    parts::plan,
};
use crate::{
    api::{
        CORDONED_BY, STORAGE_RELEASED,
        fence::{Blocker, Phase},
    },
    fence::{Next, PredicateState},
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
