//! What happens to ways to a machine's power while they are used: feeds that are lost and come back, BMCs and outlets that
//! fall silent, do not obey any more, or answer again.

use std::time::Duration;

use nodewell_remediation::time::Moment;

use super::Fault;
use crate::{
    random::Random,
    scenario::Scenario,
    truth::{Manner, Outlets},
};

type Plot = Vec<(Moment, Fault)>;

/// By dice of its own, so that all else of a seed is as it was.
pub(super) fn plot(scenario: &Scenario) -> Plot {
    if !scenario.has_outlets || !scenario.plot.is_empty() {
        return Plot::new();
    }
    let mut random = Random::new(scenario.seed ^ 0x5E1D);
    let count = random.between(1, 4);
    (0..count).flat_map(|_| one(scenario, &mut random)).collect()
}

fn one(scenario: &Scenario, random: &mut Random) -> Plot {
    let node = super::node(scenario, random);
    let began = Moment(random.millis(20_000, 120_000));
    let later = |random: &mut Random| began.plus(random.millis(3_000, 150_000));
    let mut plot = match random.below(4) {
        0 | 1 => vec![(began, Fault::LosesFeed(node.clone())), (later(random), Fault::FeedBack(node.clone()))],
        // A node that has hung is turned off by the BMC as it is then.
        _ => {
            let manner = [Manner::Hangs, Manner::Pretends, Manner::Refuses, Manner::Slow(Duration::from_secs(40))];
            let before = Moment(began.0.saturating_sub(random.millis(0, 20_000)));
            vec![(began, Fault::Hang(node.clone())), (before, Fault::Lies(node.clone(), super::pick(&manner, random)))]
        }
    };
    if random.chance(500) {
        plot.push((later(random), Fault::Lies(node.clone(), super::pick(&[Manner::Hangs, Manner::Honest], random))));
    }
    if random.chance(500) {
        let outlets = [Outlets::Hangs, Outlets::Pretends, Outlets::Honest];
        plot.push((later(random), Fault::OutletsChange(node, super::pick(&outlets, random))));
    }
    plot
}
