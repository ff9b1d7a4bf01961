//! Drains that wait for their turn, and for the end of a storm.

use std::time::Duration;

use nodewell_sim::{
    faults::Fault,
    scenario::{Scenario, Steps, Theme},
};

use crate::plots::{Plot, assert_quiet, staged};

fn node(number: u64) -> String {
    format!("n-{number:04}")
}

/// Every node has pods whose eviction is refused for ever, so that a drain holds its slot; four of so many nodes are no
/// storm.
fn drains(seed: u64, plot: Plot) -> Scenario {
    let scenario = staged(seed, Theme::Drains, Steps::DrainReboot, plot);
    Scenario { nodes: 24, pods: 288, never_allows: true, forces: false, ..scenario }
}

#[test]
fn sim_nodes_that_are_ill_are_drained_no_more_at_once_than_the_policy_says() {
    let plot = || (4..8).map(|number| (40, Fault::BecomesUnhealthy(node(number)))).collect();
    assert_quiet("blocker MaxConcurrent", |seed| drains(seed, plot()));
}

/// Its pause of five minutes ends in the middle of it.
#[test]
fn sim_a_drain_that_is_begun_again_waits_for_the_end_of_a_storm() {
    let plot = || {
        let cut = (8..20).map(|number| (300, Fault::Cut(node(number))));
        let healed = (8..20).map(|number| (430, Fault::Heal(node(number))));
        cut.chain(healed).chain([(40, Fault::BecomesUnhealthy(node(4)))]).collect()
    };
    let long =
        |seed| Scenario { trouble: Duration::from_secs(540), end: Duration::from_secs(660), ..drains(seed, plot()) };
    assert_quiet("edge AwaitGuards-Pending", long);
    assert_quiet("blocker Storm", long);
}
