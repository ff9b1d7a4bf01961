//! BMCs that change while they are used: slow ones, and ones that turn the machine on again by themselves.

use std::time::Duration;

use nodewell_sim::{
    faults::Fault,
    scenario::{Scenario, Steps, Theme},
    truth::Manner,
};

use crate::plots::{assert_quiet, n4, staged};

/// It was proven to be its own, and from then on everything takes 40 s: longer than an order or a reading may take.
#[test]
fn sim_a_bmc_that_answers_after_40_s_gets_no_pod_run_twice() {
    assert_quiet("bmc AnswersLate", |seed| {
        let late = Manner::AnswersLate(Duration::from_secs(40));
        let plot = vec![
            (30, Fault::Hang(n4())),
            (33 + seed % 4, Fault::Lies(n4(), late)),
            (150, Fault::Lies(n4(), Manner::Honest)),
        ];
        staged(seed, Theme::Power, Steps::CordonPowerCycle, plot)
    });
}

/// At the limit of its power cycles, where the controller would leave it off.
fn restored(after: u64) -> impl Fn(u64) -> Scenario {
    move |seed| {
        let manner = Manner::Restores(Duration::from_secs(after));
        let plot = vec![(20, Fault::Lies(n4(), manner)), (30, Fault::Hang(n4()))];
        Scenario { most_cycles: 0, ..staged(seed, Theme::Power, Steps::CordonPowerCycle, plot) }
    }
}

#[test]
fn sim_power_that_is_restored_after_3_s_starts_no_pod_twice() {
    assert_quiet("bmc restored-after-3s", restored(3));
}

#[test]
fn sim_power_that_is_restored_after_20_s_starts_no_pod_twice() {
    assert_quiet("bmc restored-after-20s", restored(20));
}

/// The order is carried out 30 s after it was given, on a node that has recovered 25 s before.
fn cut_late(most_cycles: usize) -> impl Fn(u64) -> Scenario {
    move |seed| {
        let slow = Manner::Slow(Duration::from_secs(30));
        let plot = vec![(20, Fault::Lies(n4(), slow)), (30, Fault::Hang(n4())), (54 + seed % 3, Fault::Wake(n4()))];
        Scenario { most_cycles, ..staged(seed, Theme::Power, Steps::CordonPowerCycle, plot) }
    }
}

#[test]
fn sim_a_node_that_recovers_before_it_is_cut_is_turned_on() {
    assert_quiet("edge AwaitGuards-PoweringOn", cut_late(1));
}

#[test]
fn sim_a_node_that_is_cut_late_at_its_limit_is_cut_once() {
    assert_quiet("edge OffConfirmed-AwaitGuards", cut_late(0));
}
