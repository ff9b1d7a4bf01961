//! Nodes with 300 pods, where the policy lets 250 go in a window: a living one is drained in portions, and each dead
//! one goes in a window of its own.

use std::time::Duration;

use nodewell_sim::{
    faults::Fault,
    scenario::{Scenario, Steps, Theme},
};

use crate::{
    mutations::node,
    plots::{Plot, assert_quiet, n4, staged},
};

const NODES: usize = 10;

/// By the policy's default, 250 in 10 minutes, or by one of which the windows are short.
fn crowded(theme: Theme, steps: Steps, most_pods: Option<usize>, plot: Plot) -> impl Fn(u64) -> Scenario {
    move |seed| {
        let (trouble, end) = if most_pods.is_some() { (600, 750) } else { (900, 960) };
        Scenario {
            is_crowded: true,
            nodes: NODES,
            pods: 300 * NODES,
            most_pods,
            never_allows: false,
            trouble: Duration::from_secs(trouble),
            end: Duration::from_secs(end),
            ..staged(seed, theme, steps, plot.clone())
        }
    }
}

fn two_die() -> Plot {
    vec![(30, Fault::PowerLoss(n4())), (50, Fault::PowerLoss(node(5)))]
}

fn one_is_ill() -> Plot {
    vec![(30, Fault::BecomesUnhealthy(n4()))]
}

#[test]
fn sim_dead_nodes_with_more_pods_than_the_rate_go_one_after_another() {
    let stories = crowded(Theme::Power, Steps::CordonPowerCycle, Some(250), two_die());
    let reports = assert_quiet("cluster more-than-the-rate released", stories);
    assert!(reports.iter().any(|report| report.tally.of("cluster more-than-the-rate released") > 1), "only one went");
}

#[test]
fn sim_dead_nodes_with_more_pods_than_the_default_rate_go_one_after_another() {
    let stories = crowded(Theme::Power, Steps::CordonPowerCycle, None, two_die());
    let reports = assert_quiet("cluster more-than-the-rate released", stories);
    assert!(reports.iter().any(|report| report.tally.of("cluster more-than-the-rate released") > 1), "only one went");
}

#[test]
fn sim_a_living_node_with_more_pods_than_the_rate_is_drained_in_portions() {
    for most_pods in [Some(250), None] {
        let stories = crowded(Theme::Drains, Steps::DrainReboot, most_pods, one_is_ill());
        let reports = assert_quiet("cluster drained-in-portions", stories);
        assert!(reports.iter().any(|report| report.offs > 0), "none was empty in the end");
    }
}

/// More than the rate may go at once, whatever the disruption budget refuses.
fn ill_with_400(most_pods: Option<usize>, then: Plot) -> impl Fn(u64) -> Scenario {
    let plot: Plot = one_is_ill().into_iter().chain(then).collect();
    let stories = crowded(Theme::Drains, Steps::DrainReboot, most_pods, plot);
    move |seed| Scenario { pods: 400 * NODES, replicas: 2, ..stories(seed) }
}

/// The leader dies between two portions: the next one evicts no more in the window.
#[test]
fn sim_a_drain_in_portions_that_another_leader_goes_on_with_keeps_to_the_rate() {
    // While what it evicted is still ending, and when that has gone.
    for second in [36, 48] {
        let stories = ill_with_400(None, vec![(second, Fault::Kill(0)), (second, Fault::Kill(1))]);
        let reports = assert_quiet("cluster drained-in-portions", stories);
        assert!(reports.iter().any(|report| report.tally.of("act lead") > 1), "one leader was enough");
    }
}

/// A person stops everything between two portions, and a moment later lets it go on: the window is still the same.
#[test]
fn sim_a_drain_in_portions_that_was_stopped_and_goes_on_keeps_to_the_rate() {
    assert_quiet("cluster drained-in-portions", ill_with_400(Some(250), vec![(55, Fault::Stop), (57, Fault::Go)]));
}

/// A disruption budget refuses the first drain for longer than the window, and then lets it go: what goes so late counts
/// when it goes.
#[test]
fn sim_an_eviction_that_was_refused_for_long_counts_when_it_succeeds() {
    let plot: Plot = vec![(30, Fault::BecomesUnhealthy(n4())), (60, Fault::BecomesUnhealthy(node(5)))];
    let stories = move |seed| Scenario {
        nodes: NODES,
        pods: 2 * NODES,
        most_pods: Some(2),
        trouble: Duration::from_secs(300),
        end: Duration::from_secs(450),
        ..staged(seed, Theme::Drains, Steps::DrainReboot, plot.clone())
    };
    assert_quiet("act evict", stories);
}
