//! Nodes that are ill, isolated for that by the policy that comes first, and then dead; some wake about when the record
//! of that policy gives way.

use nodewell_remediation::time::Moment;

use super::Fault;
use crate::{random::Random, scenario::Scenario};

type Plot = Vec<(Moment, Fault)>;

/// By dice of its own, so that all else of a seed is as it was.
pub(super) fn plot(scenario: &Scenario) -> Plot {
    if scenario.second.is_none() || !scenario.plot.is_empty() {
        return Plot::new();
    }
    let mut random = Random::new(scenario.seed ^ 0x4E14);
    let count = random.between(1, 2);
    (0..count).flat_map(|_| one(scenario, &mut random)).collect()
}

fn one(scenario: &Scenario, random: &mut Random) -> Plot {
    let node = super::node(scenario, random);
    let ill = Moment(random.millis(15_000, 40_000));
    let dead = ill.plus(random.millis(15_000, 45_000));
    let dies = match random.below(4) {
        0 | 1 => Fault::PowerLoss(node.clone()),
        2 => Fault::Hang(node.clone()),
        _ => Fault::Cut(node.clone()),
    };
    let mut plot = vec![(ill, Fault::BecomesUnhealthy(node.clone())), (dead, dies)];
    if random.chance(300) {
        let well = dead.plus(random.millis(40_000, 70_000));
        plot.extend([(well, Fault::Wake(node.clone())), (well, Fault::Heal(node))]);
    }
    plot
}
