//! One node lies for ever, another one dies.

use std::time::Duration;

use nodewell_sim::{
    faults::{Fault, PLAIN_AT},
    run::play,
    scenario::{Kind, Scenario, Steps, Theme},
};

/// Under the default budgets, which let one node of the cluster be unavailable: `n-0005` reports that it is ill,
/// from the beginning to the end, and is cordoned for it; then `n-0004` dies. I17 asks that its pods are released in
/// time, and I1 that no more than one living and one dead node are down by the controller.
fn one_lies_and_one_dies(seed: u64) -> Scenario {
    let plot =
        vec![(5, Fault::BecomesUnhealthy("n-0005".into())), (PLAIN_AT.as_secs(), Fault::PowerLoss("n-0004".into()))];
    Scenario {
        kind: Kind::Plain,
        theme: Theme::Power,
        steps: Steps::CordonPowerCycle,
        narrow: true,
        // Silence makes a node dead only after the whole time of its Lease, however fast the policy is.
        fast: false,
        dry_run: false,
        trouble: Duration::from_secs(300),
        plot,
        ..Scenario::of(seed)
    }
}

#[test]
fn sim_a_liar_keeps_no_dead_node_from_being_fenced() {
    for seed in [0, 10, 20, 30, 40] {
        let report = play(one_lies_and_one_dies(seed));
        assert!(report.violations.is_empty(), "{}", report.replay());
        assert!(report.released > 0, "{}", report.replay());
        assert!(
            report.trace.iter().any(|line| line.contains("n-0005") && line.contains("cordon")),
            "{}",
            report.replay()
        );
    }
}
