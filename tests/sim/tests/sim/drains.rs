//! Drains that wait for their turn, and for the end of a storm.

use nodewell_sim::{
    faults::{Fault, Person},
    scenario::{Scenario, Steps, Theme},
};

use crate::plots::{Plot, assert_quiet, staged};

fn ill(at: u64, number: u64) -> (u64, Fault) {
    (at, Fault::BecomesUnhealthy(node(number)))
}

fn node(number: u64) -> String {
    format!("n-{number:04}")
}

/// Evictions are refused for as long as a drain lasts, so that it holds its slot; four of so many nodes are no storm.
fn drains(seed: u64, plot: Plot) -> Scenario {
    let scenario = staged(seed, Theme::Drains, Steps::DrainReboot, plot);
    Scenario { nodes: 24, pods: 72, never_allows: true, forces: false, ..scenario }
}

#[test]
fn sim_nodes_that_are_ill_are_drained_no_more_at_once_than_the_policy_says() {
    let plot = || (4..8).map(|number| ill(40 + 15 * (number % 2), number)).collect();
    assert_quiet("blocker MaxConcurrent", |seed| drains(seed, plot()));
}

/// One that waits for a slot gets it in the middle of a storm.
#[test]
fn sim_a_drain_that_waits_does_not_begin_in_a_storm() {
    let plot = || {
        let ill = (4..8).map(|number| ill(40 + 15 * (number % 2), number));
        let cut = (8..16).map(|number| (75, Fault::Cut(node(number))));
        let freed = (4..7).map(|number| (120, Fault::Person(Person::DeletesNode, node(number))));
        let healed = (8..16).map(|number| (150, Fault::Heal(node(number))));
        ill.chain(cut).chain(freed).chain(healed).collect()
    };
    assert_quiet("blocker Storm", |seed| drains(seed, plot()));
}
