//! Records that a person deletes by hand, in each phase that a fence comes to.

use nodewell_remediation::api::fence::Phase;
use nodewell_sim::{
    faults::Fault,
    scenario::{Scenario, Steps, Theme},
};

use crate::plots::{assert_quiet, n4, staged};

/// Each record is deleted as soon as it is there or in the next of these phases, and another one is opened.
fn deleted(phases: &[Phase], steps: Steps, falls: Fault) -> impl Fn(u64) -> Scenario {
    let deletes = phases.iter().map(|phase| (20, Fault::DeletesRecordIn(*phase)));
    let plot: Vec<_> = deletes.chain([(30, falls)]).collect();
    move |seed| staged(seed, Theme::Power, steps, plot.clone())
}

#[test]
fn sim_a_record_that_is_deleted_in_each_phase_of_a_fence_lets_no_pod_run_twice() {
    let phases = [
        Phase::Pending,
        Phase::Isolating,
        Phase::AwaitGuards,
        Phase::PoweringOff,
        Phase::OffConfirmed,
        Phase::PodsReleased,
        Phase::PoweringOn,
        Phase::AwaitReady,
        Phase::Recovering,
    ];
    assert_quiet("deleted PodsReleased", deleted(&phases, Steps::CordonPowerCycle, Fault::Hang(n4())));
}

#[test]
fn sim_a_record_that_is_deleted_while_its_node_is_drained_leaves_nothing_behind() {
    let phases = [Phase::Draining, Phase::Waiting, Phase::Draining];
    assert_quiet("deleted Draining", deleted(&phases, Steps::DrainReboot, Fault::BecomesUnhealthy(n4())));
}
