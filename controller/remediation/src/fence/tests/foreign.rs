//! Taints that look like ours and belong to another writer.

use super::{
    course::{at, dead, run},
    parts::steps,
    world::World,
};
use crate::{
    api::{OUT_OF_SERVICE, fence::Phase},
    facts::{Effect, Taint},
    fence::Wanted,
};

fn theirs(key: &str) -> Taint {
    Taint { key: key.into(), value: "nodeshutdown".into(), effect: Effect::NoExecute }
}

fn swap(world: &mut World, taint: &Taint) {
    let taints = &mut world.node.as_mut().unwrap().taints;
    taints.retain(|other| other.key != taint.key);
    taints.push(taint.clone());
}

#[test]
fn an_out_of_service_taint_set_by_another_client_in_place_of_ours_stays() {
    let mut world = dead();
    run(&mut world, 400, at(Phase::AwaitReady));
    assert!(world.fence.status.ours.taints.iter().any(|taint| taint.key == OUT_OF_SERVICE));
    swap(&mut world, &theirs(OUT_OF_SERVICE));
    world.wanted = Wanted::No { since: world.now.moment };
    run(&mut world, 400, at(Phase::Closed));
    let node = world.node.as_ref().unwrap();
    assert_eq!((world.phase(), node.taints.clone()), (Phase::Closed, vec![theirs(OUT_OF_SERVICE)]));
    assert!(world.fence.status.ours.taints.is_empty() && !node.unschedulable, "{:?}", world.fence.status);
}

#[test]
fn a_taint_of_the_steps_that_another_value_stands_for_is_not_taken_back() {
    let mut world = World::new(steps(&["taint", "cordon"]));
    let meant = |world: &World| world.fence.status.ours.taints.first().cloned();
    run(&mut world, 5, |world| meant(world).is_some());
    let taint = Taint { value: "nodeshutdown".into(), ..meant(&world).unwrap() };
    swap(&mut world, &taint);
    run(&mut world, 5, |_| false);
    world.wanted = Wanted::No { since: world.now.moment };
    run(&mut world, 400, at(Phase::Closed));
    assert_eq!((world.phase(), world.node.unwrap().taints), (Phase::Closed, vec![taint]));
}
