//! BMCs that change while they are used: at a node that has hung or lost its power, from before its fence on or in the midst
//! of it.

use std::time::Duration;

use nodewell_remediation::time::Moment;

use super::Fault;
use crate::{
    random::Random,
    scenario::{Kind, Scenario},
    truth::{Manner, Outlets},
};

type Plot = Vec<(Moment, Fault)>;

/// By dice of its own, so that all else of a seed is as it was.
pub(super) fn plot(scenario: &Scenario) -> Plot {
    let mut random = Random::new(scenario.seed ^ 0xB3C5);
    let fits = matches!(scenario.kind, Kind::Mixed | Kind::Wild) && scenario.plot.is_empty();
    let restored = if fits && scenario.most_cycles == 0 { restored(scenario) } else { Plot::new() };
    if !fits || !random.chance(400) {
        return restored;
    }
    let count = random.between(1, 3);
    (0..count).flat_map(|_| one(scenario, &mut random)).chain(restored).collect()
}

/// One that is to be left off is turned on by its BMC's restore policy.
fn restored(scenario: &Scenario) -> Plot {
    let mut random = Random::new(scenario.seed ^ 0x4E57);
    let node = super::node(scenario, &mut random);
    let began = Moment(random.millis(20_000, 60_000));
    let manner = Manner::Restores(Duration::from_secs(if random.chance(400) { 3 } else { 20 }));
    vec![(began, Fault::Lies(node.clone(), manner)), (began, Fault::Hang(node))]
}

fn one(scenario: &Scenario, random: &mut Random) -> Plot {
    let node = super::node(scenario, random);
    let began = Moment(random.millis(20_000, 110_000));
    let before = Moment(began.0.saturating_sub(random.millis(0, 15_000)));
    let midst = began.plus(random.millis(10_000, 90_000));
    let fails = if random.chance(700) { Fault::Hang(node.clone()) } else { Fault::PowerLoss(node.clone()) };
    let changes = if random.chance(600) { before } else { midst };
    let mut plot = vec![(began, fails), (changes, Fault::Lies(node.clone(), manner(random)))];
    if random.chance(400) {
        let later = midst.plus(random.millis(1_000, 60_000));
        plot.push((later, Fault::Lies(node.clone(), Manner::Honest)));
    }
    if random.chance(300) {
        plot.push((before, Fault::OutletsChange(node, Outlets::SilentAfterOrder)));
    }
    plot
}

fn manner(random: &mut Random) -> Manner {
    match random.below(14) {
        0..=2 => Manner::SilentAfterOrder(random.chance(500)),
        3 => Manner::Slow(Duration::from_secs(40)),
        4 | 5 => Manner::Restores(Duration::from_secs(3)),
        6 | 7 => Manner::Restores(Duration::from_secs(20)),
        8 => Manner::SlowReads(random.secs(10, 25)),
        9 => Manner::Stranger,
        10 | 11 => Manner::AnswersLate(Duration::from_secs(40)),
        _ => Manner::HalfDead(false),
    }
}
