//! Pods that belong to their node, and pods with finalizers: what a drain and a release do about them.

use nodewell_sim::{
    faults::Fault,
    run::Report,
    scenario::{Mutation, Scenario, Steps, Theme},
};

use crate::{
    mutations::{assert_noticed, node, power},
    plots::{Plot, assert_quiet, staged},
};

fn with_daemons(theme: Theme, steps: Steps, plot: Plot) -> impl Fn(u64) -> Scenario {
    move |seed| {
        let scenario = staged(seed, theme, steps, plot.clone());
        Scenario { has_daemons: true, pods: 48, never_allows: false, forces: false, ..scenario }
    }
}

/// Three die, one after the other.
fn die() -> Plot {
    (4..7).map(|number| (10 * number, Fault::PowerLoss(node(number)))).collect()
}

/// Or there was none, and nothing was proven of them.
fn assert_left(reports: &[Report], by: &str) {
    for kind in ["daemon", "static"] {
        let what = format!("cluster {kind} pods left by a {by}");
        assert!(reports.iter().any(|report| report.tally.of(&what) > 0), "in no story: {what}");
    }
}

#[test]
fn sim_a_release_waits_for_no_finalizers_and_leaves_what_belongs_to_the_node() {
    let stories = with_daemons(Theme::Power, Steps::CordonPowerCycle, die());
    assert_left(&assert_quiet("cluster finalizers waited for", stories), "release");
}

#[test]
fn sim_a_drain_leaves_what_belongs_to_the_node() {
    let ill = (4..7).map(|number| (10 * number, Fault::BecomesUnhealthy(node(number)))).collect();
    let reports = assert_quiet("act drain-evicts", with_daemons(Theme::Drains, Steps::DrainReboot, ill));
    assert!(reports.iter().any(|report| report.offs > 0), "no node was empty enough for its reboot");
    assert_left(&reports, "drain");
}

fn mistaken(mutation: Mutation) {
    let dead = power(die());
    assert_noticed(mutation, "I13", |scenario| Scenario { has_daemons: true, pods: 48, ..dead(scenario) });
}

#[test]
#[ignore = "minutes: `make e2e` runs them"]
fn sim_i13_notices_static_pods_that_are_deleted() {
    mistaken(Mutation::TakesStaticPods);
}

#[test]
#[ignore = "minutes: `make e2e` runs them"]
fn sim_i13_notices_pods_of_daemon_sets_that_are_deleted() {
    mistaken(Mutation::TakesDaemonSets);
}

/// Where the machine is left off, what is left of its pods is looked at again and again.
#[test]
#[ignore = "minutes: `make e2e` runs them"]
fn sim_i13_notices_pods_that_are_deleted_again_while_they_wait_for_finalizers() {
    let dead = power(die());
    let left_off =
        |scenario| Scenario { has_daemons: true, pods: 48, most_cycles: 0, most_pods: None, ..dead(scenario) };
    assert_noticed(Mutation::ForgetsFinalizers, "I13", left_off);
}
