//! Volumes that stay attached: the attacher of a driver does nothing for a node that fails, for minutes after its
//! release.

use nodewell_remediation::time::Moment;

use super::Fault;
use crate::{
    random::Random,
    scenario::{Kind, Scenario, Theme},
};

type Plot = Vec<(Moment, Fault)>;

/// By dice of its own, so that all else of a seed is as it was.
pub(super) fn plot(scenario: &Scenario) -> Plot {
    let mut random = Random::new(scenario.seed ^ 0xA77A);
    let fits = matches!(scenario.kind, Kind::Mixed | Kind::Wild) && scenario.theme == Theme::Power;
    if !fits || !scenario.plot.is_empty() || !random.chance(200) {
        return Plot::new();
    }
    let node = super::node(scenario, &mut random);
    let began = Moment(random.millis(20_000, 30_000));
    let fails = if random.chance(500) { Fault::PowerLoss(node.clone()) } else { Fault::Hang(node.clone()) };
    let detached = Moment(random.millis(330_000, 380_000));
    vec![(began, Fault::VolumesStay(node.clone())), (began, fails), (detached, Fault::VolumesGo(node))]
}
