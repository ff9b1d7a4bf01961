//! Orderly reboots: short ones, which end within the policy's `rebootGracePeriod`, and one that does not.

use std::time::Duration;

use nodewell_remediation::time::Moment;

use super::Fault;
use crate::{random::Random, scenario::Scenario, truth::Announcer};

type Plot = Vec<(Moment, Fault)>;

const MINUTES: [u64; 4] = [2, 8, 15, 15];
const ANNOUNCERS: [Announcer; 3] = [Announcer::Agent, Announcer::Kubelet, Announcer::Both];

/// By dice of its own, so that all else of a seed is as it was.
pub(super) fn plot(scenario: &Scenario) -> Plot {
    if !scenario.has_reboots || !scenario.plot.is_empty() {
        return Plot::new();
    }
    let mut random = Random::new(scenario.seed ^ 0x4EB0);
    let count = random.between(2, 4);
    (0..count).map(|_| one(scenario, &mut random)).collect()
}

fn one(scenario: &Scenario, random: &mut Random) -> (Moment, Fault) {
    let node = super::node(scenario, random);
    let takes = Duration::from_mins(super::pick(&MINUTES, random));
    let at = Moment(random.millis(15_000, 60_000));
    (at, Fault::Restarts(node, takes, super::pick(&ANNOUNCERS, random)))
}
