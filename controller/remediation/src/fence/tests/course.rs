//! Runs the state machine against the tests' fixture.

use std::time::Duration;

use super::{fixture::Fixture, parts::steps};
use crate::{
    action::Action,
    api::fence::Phase,
    fence::{Next, apply_outcome},
};

/// Goes on, a second a round, until `done`; returns the phases it came through.
pub(super) fn run(fixture: &mut Fixture, rounds: u32, done: impl Fn(&Fixture) -> bool) -> Vec<Phase> {
    let mut phases = vec![fixture.phase()];
    for _ in 0..rounds {
        if done(fixture) {
            break;
        }
        fixture.pass(Duration::from_secs(1));
        if let Some(pods) = &fixture.listed {
            fixture.gathered.pods = Some((fixture.now.moment, pods.clone()));
        }
        match fixture.next() {
            Next::Act(Action::Save { fence, .. }) => fixture.store(*fence),
            Next::Act(Action::Perform { op, .. }) => {
                let outcome = fixture.perform(&op);
                let (fence, _) = apply_outcome(&fixture.fence, &op, &outcome, fixture.epoch, fixture.now);
                fixture.store(fence);
            }
            _ => {}
        }
        if phases.last() != Some(&fixture.phase()) {
            phases.push(fixture.phase());
        }
    }
    phases
}

pub(super) fn at(phase: Phase) -> impl Fn(&Fixture) -> bool {
    move |fixture| fixture.phase() == phase
}

pub(super) fn dead() -> Fixture {
    let mut fixture = Fixture::new(steps(&["cordon", "power"]));
    fixture.alive = false;
    fixture
}

pub(super) fn seconds(fixture: &Fixture) -> u64 {
    fixture.now.moment.0.as_secs() - 1000
}
