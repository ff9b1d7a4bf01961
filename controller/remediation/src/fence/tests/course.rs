//! Runs the automaton against the tests' world.

use std::time::Duration;

use super::{parts::steps, world::World};
use crate::{
    action::Action,
    api::fence::Phase,
    fence::{Next, absorb},
};

/// Goes on, a second a round, until `done`; returns the phases it came through.
pub(super) fn run(world: &mut World, rounds: u32, done: impl Fn(&World) -> bool) -> Vec<Phase> {
    let mut phases = vec![world.phase()];
    for _ in 0..rounds {
        if done(world) {
            break;
        }
        world.pass(Duration::from_secs(1));
        if let Some(pods) = &world.listed {
            world.gathered.pods = Some((world.now.moment, pods.clone()));
        }
        match world.next() {
            Next::Act(Action::Save { fence, .. }) => world.store(*fence),
            Next::Act(Action::Perform { op, .. }) => {
                let outcome = world.perform(&op);
                let (fence, _) = absorb(&world.fence, &op, &outcome, world.epoch, world.now);
                world.store(fence);
            }
            _ => {}
        }
        if phases.last() != Some(&world.phase()) {
            phases.push(world.phase());
        }
    }
    phases
}

pub(super) fn at(phase: Phase) -> impl Fn(&World) -> bool {
    move |world| world.phase() == phase
}

pub(super) fn dead() -> World {
    let mut world = World::new(steps(&["cordon", "power"]));
    world.alive = false;
    world
}

pub(super) fn seconds(world: &World) -> u64 {
    world.now.moment.0.as_secs() - 1000
}
