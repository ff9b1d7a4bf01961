//! Volumes that stay attached after a release: because nothing detaches them, or because their pods stay.

use std::time::Duration;

use nodewell_sim::{
    faults::Fault,
    scenario::{Mutation, Scenario, Steps, Theme},
};

use crate::{
    mutations::{assert_noticed, power},
    plots::{assert_quiet, n4, staged},
};

/// Detached long after the two minutes by which they are reported.
fn stay(detached: u64) -> Vec<(u64, Fault)> {
    let (stay, go) = (Fault::VolumesStay(n4()), Fault::VolumesGo(n4()));
    vec![(20, stay), (30, Fault::PowerLoss(n4())), (detached, go)]
}

#[test]
fn sim_volumes_that_stay_attached_are_reported_and_hold_no_record_for_ever() {
    let reports = assert_quiet("blocker AttachmentsStuck", |seed| Scenario {
        end: Duration::from_secs(500),
        ..staged(seed, Theme::Power, Steps::CordonPowerCycle, stay(330))
    });
    assert!(reports.iter().any(|report| report.tally.of("act close") > 0), "no record was closed after they went");
}

/// The DaemonSet's pod that tolerates every taint has a volume on each node.
fn with_daemons(seed: u64) -> Scenario {
    let plot = vec![(30, Fault::PowerLoss(n4()))];
    Scenario { has_daemons: true, ..staged(seed, Theme::Power, Steps::CordonPowerCycle, plot) }
}

#[test]
fn sim_a_volume_of_a_pod_that_stays_keeps_no_node_out_of_service() {
    assert_quiet("act close", with_daemons);
}

#[test]
#[ignore = "minutes: `make e2e` runs them"]
fn sim_i17_notices_volumes_that_are_not_looked_at() {
    assert_noticed(Mutation::IgnoresAttachments, "I17", power(stay(440)));
}

#[test]
#[ignore = "minutes: `make e2e` runs them"]
fn sim_i17_notices_a_record_that_waits_for_volumes_of_pods_that_stay() {
    let mistaken = |scenario: Scenario| Scenario { mutation: scenario.mutation, ..with_daemons(scenario.seed) };
    assert_noticed(Mutation::WaitsForEveryVolume, "I17", mistaken);
}
