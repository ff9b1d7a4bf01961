//! Steps of wall clocks, by minutes either way: a time server that is found, or a person.

use nodewell_remediation::time::Moment;

use super::Fault;
use crate::{clocks::Wall, random::Random, scenario::Scenario};

type Plot = Vec<(Moment, Fault)>;

/// By dice of its own, so that all else of a seed is as it was.
pub(super) fn plot(scenario: &Scenario) -> Plot {
    if !scenario.steps_clocks || !scenario.plot.is_empty() {
        return Plot::new();
    }
    let mut random = Random::new(scenario.seed ^ 0xC10C);
    let count = random.between(1, 5);
    (0..count).map(|_| one(scenario, &mut random)).collect()
}

fn one(scenario: &Scenario, random: &mut Random) -> (Moment, Fault) {
    let replica = usize::try_from(random.below(scenario.replicas as u64)).unwrap_or(0);
    let wall = if random.chance(300) { Wall::ApiServer } else { Wall::Replica(replica) };
    let seconds = random.between(60, 900).cast_signed();
    let at = Moment(random.millis(20_000, 200_000));
    (at, Fault::ClockStep(wall, if random.chance(500) { seconds } else { -seconds }))
}
