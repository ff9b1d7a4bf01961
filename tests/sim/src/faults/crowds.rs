//! Nodes with more pods than a policy lets go in a window: two that die, and in stories about drains one that is ill
//! before.

use nodewell_remediation::time::Moment;

use super::Fault;
use crate::{
    random::Random,
    scenario::{Scenario, Theme},
};

type Plot = Vec<(Moment, Fault)>;

/// By dice of its own, so that all else of a seed is as it was.
pub(super) fn plot(scenario: &Scenario) -> Plot {
    if !scenario.is_crowded || !scenario.plot.is_empty() {
        return Plot::new();
    }
    let mut random = Random::new(scenario.seed ^ 0xC404);
    let (first, second) = (super::node(scenario, &mut random), super::node(scenario, &mut random));
    let began = Moment(random.millis(20_000, 30_000));
    let later = Moment(random.millis(31_000, 60_000));
    let falls = match scenario.theme {
        Theme::Drains => Fault::BecomesUnhealthy(first),
        _ => Fault::Hang(first),
    };
    vec![(began, falls), (later, Fault::PowerLoss(second))]
}
