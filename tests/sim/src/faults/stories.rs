//! Faults that mean something only one after the other: a BMC that lies until its machine wakes, a record that is forgotten.

use std::time::Duration;

use nodewell_remediation::time::Moment;

use super::{Fault, Person};
use crate::{
    random::Random,
    scenario::{Scenario, Theme},
    truth::Manner,
};

type Plot = Vec<(Moment, Fault)>;

/// Beside what the seed chooses otherwise, and without a change to that.
pub(super) fn plot(scenario: &Scenario) -> Plot {
    let mut random = Random::new(scenario.seed ^ 0x570B);
    match scenario.theme {
        Theme::Power | Theme::People | Theme::Drains if random.chance(500) => lie(scenario, &mut random),
        Theme::Storage if random.chance(800) => forgotten(scenario, &mut random),
        _ => Plot::new(),
    }
}

/// A machine is silent for long enough to be fenced, its BMC lies about it, and it wakes about when its pods are released.
fn lie(scenario: &Scenario, random: &mut Random) -> Plot {
    let node = super::node(scenario, random);
    let began = random.millis(20_000, 30_000);
    let woke = if scenario.fast { random.millis(25_000, 90_000) } else { random.millis(100_000, 150_000) };
    let manner = liar(random);
    let (falls_silent, wakes) = match random.below(3) {
        0 => (Fault::Cut(node.clone()), Fault::Heal(node.clone())),
        1 if scenario.theme == Theme::Drains => (Fault::BecomesUnhealthy(node.clone()), Fault::Wake(node.clone())),
        _ => (Fault::Hang(node.clone()), Fault::Wake(node.clone())),
    };
    let at = |after: Duration| Moment(began + after);
    vec![(at(Duration::ZERO), Fault::Lies(node, manner)), (at(Duration::from_secs(1)), falls_silent), (at(woke), wakes)]
}

pub(super) fn liar(random: &mut Random) -> Manner {
    match random.below(4) {
        0 => Manner::ReadsOff,
        1 => Manner::StuckOff,
        2 => Manner::Flaps(Duration::ZERO),
        _ => Manner::Flaps(random.secs(2, 12)),
    }
}

/// A node that lives is cut off its storage, its pods are released, and a person deletes the record that states so.
fn forgotten(scenario: &Scenario, random: &mut Random) -> Plot {
    let node = super::node(scenario, random);
    let began = random.millis(20_000, 24_000);
    let deleted = if scenario.fast { random.millis(35_000, 90_000) } else { random.millis(112_000, 135_000) };
    let healed = deleted + random.millis(5_000, 40_000);
    vec![
        (Moment(began), Fault::Cut(node.clone())),
        (Moment(began + deleted), Fault::Person(Person::DeletesRecord, node.clone())),
        (Moment(began + healed), Fault::Heal(node)),
    ]
}
