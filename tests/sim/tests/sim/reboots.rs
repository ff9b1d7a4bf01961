//! Orderly reboots that a node announces: the policy's `rebootGracePeriod`, 10 minutes by default, is theirs and no more.

use std::time::Duration;

use nodewell_sim::{
    faults::Fault,
    run::Report,
    scenario::{Mutation, Scenario, Steps, Theme},
    truth::Announcer,
};

use crate::{
    mutations::{assert_noticed, power},
    plots::{assert_quiet, n4, staged},
};

/// After a reboot of 15 minutes, or its fence.
const END: Duration = Duration::from_secs(960);
const ANNOUNCERS: [Announcer; 3] = [Announcer::Agent, Announcer::Kubelet, Announcer::Both];

fn restarts(minutes: u64, by: Announcer) -> Vec<(u64, Fault)> {
    vec![(30, Fault::Restarts(n4(), Duration::from_mins(minutes), by))]
}

/// By another announcer in each seed.
fn reboots(minutes: u64) -> impl Fn(u64) -> Scenario {
    move |seed| {
        let by = ANNOUNCERS[usize::try_from(seed % 3).unwrap_or_default()];
        Scenario { end: END, ..staged(seed, Theme::Power, Steps::CordonPowerCycle, restarts(minutes, by)) }
    }
}

#[track_caller]
fn assert_left_alone(reports: &[Report]) {
    let touched = reports.iter().find(|report| report.deeds.iter().any(|deed| deed.ends_with("n-0004")));
    assert!(touched.is_none(), "{}", touched.map(Report::replay).unwrap_or_default());
}

#[test]
fn sim_a_reboot_of_two_minutes_is_left_alone() {
    assert_left_alone(&assert_quiet("reboot 2min-left-alone", reboots(2)));
}

#[test]
fn sim_a_reboot_of_eight_minutes_is_left_alone() {
    assert_left_alone(&assert_quiet("reboot 8min-left-alone", reboots(8)));
}

#[test]
fn sim_a_reboot_of_fifteen_minutes_is_fenced_after_its_grace() {
    assert_quiet("reboot 15min-fenced", reboots(15));
}

#[test]
fn sim_a_reboot_of_fifteen_minutes_is_left_alone_where_the_policy_gives_twenty() {
    let scenario = |seed| Scenario { reboot_grace: Some("20m"), ..reboots(15)(seed) };
    assert_left_alone(&assert_quiet("reboot 15min-left-alone", scenario));
}

#[test]
#[ignore = "minutes: `make e2e` runs them"]
fn sim_i4_notices_a_reboot_that_is_given_no_time() {
    assert_noticed(Mutation::IgnoresReboots, "I4", power(restarts(8, Announcer::Both)));
}
