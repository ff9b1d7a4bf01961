//! Taints that look like ours and belong to another writer.

use super::{
    course::{at, dead, run},
    fixture::Fixture,
    parts::steps,
};
use crate::{
    api::{OUT_OF_SERVICE, fence::Phase},
    facts::{Effect, Taint},
    fence::PredicateState,
};

fn theirs(key: &str) -> Taint {
    Taint { key: key.into(), value: "nodeshutdown".into(), effect: Effect::NoExecute }
}

fn swap(fixture: &mut Fixture, taint: &Taint) {
    let taints = &mut fixture.node.as_mut().unwrap().taints;
    taints.retain(|other| other.key != taint.key);
    taints.push(taint.clone());
}

#[test]
fn an_out_of_service_taint_set_by_another_client_in_place_of_ours_stays() {
    let mut fixture = dead();
    run(&mut fixture, 400, at(Phase::AwaitReady));
    assert!(fixture.fence.status.own_changes.taints.iter().any(|taint| taint.key == OUT_OF_SERVICE));
    swap(&mut fixture, &theirs(OUT_OF_SERVICE));
    fixture.predicate = PredicateState::No { since: fixture.now.moment };
    run(&mut fixture, 400, at(Phase::Closed));
    let node = fixture.node.as_ref().unwrap();
    assert_eq!((fixture.phase(), node.taints.clone()), (Phase::Closed, vec![theirs(OUT_OF_SERVICE)]));
    assert!(fixture.fence.status.own_changes.taints.is_empty() && !node.unschedulable, "{:?}", fixture.fence.status);
}

#[test]
fn a_taint_of_the_steps_that_another_value_stands_for_is_not_taken_back() {
    let mut fixture = Fixture::new(steps(&["taint", "cordon"]));
    let intended = |fixture: &Fixture| fixture.fence.status.own_changes.taints.first().cloned();
    run(&mut fixture, 5, |fixture| intended(fixture).is_some());
    let taint = Taint { value: "nodeshutdown".into(), ..intended(&fixture).unwrap() };
    swap(&mut fixture, &taint);
    run(&mut fixture, 5, |_| false);
    fixture.predicate = PredicateState::No { since: fixture.now.moment };
    run(&mut fixture, 400, at(Phase::Closed));
    assert_eq!((fixture.phase(), fixture.node.unwrap().taints), (Phase::Closed, vec![taint]));
}
