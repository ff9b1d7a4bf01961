//! Wall clocks that are stepped while the controller works.

use nodewell_sim::{
    clocks::Wall,
    faults::{Fault, PLAIN_AT},
    run::play,
    scenario::{Scenario, Steps, Theme},
};

use crate::plots::{Plot, assert_quiet, n4, staged};

/// Every clock, by minutes, again and again.
fn steps(from: u64, to: u64, apart: usize) -> Plot {
    let minutes = [5, -9, 14, -3, -12, 7].into_iter().cycle();
    let walls = [Wall::Replica(0), Wall::Replica(1), Wall::ApiServer, Wall::Replica(2)].into_iter().cycle();
    let times = (from..to).step_by(apart);
    times.zip(minutes).zip(walls).map(|((at, minutes), wall)| (at, Fault::ClockStep(wall, 60 * minutes))).collect()
}

#[test]
fn sim_clocks_that_are_stepped_break_nothing_of_a_fence() {
    assert_quiet("fault ReplicaClockBackwards", |seed| {
        let plot = [steps(25, 180, 11), vec![(30, Fault::Hang(n4()))]].concat();
        staged(seed, Theme::Power, Steps::CordonPowerCycle, plot)
    });
}

#[test]
fn sim_clocks_that_are_stepped_break_nothing_of_a_drain() {
    assert_quiet("fault ReplicaClockForwards", |seed| {
        let plot = [steps(25, 180, 7), vec![(30, Fault::BecomesUnhealthy(n4()))]].concat();
        let scenario = staged(seed, Theme::Drains, Steps::DrainReboot, plot);
        Scenario { forces: seed % 2 == 0, never_allows: true, ..scenario }
    });
}

/// I20: what is done to nodes and pods, and in which order, is the same.
#[test]
fn sim_i20_clocks_that_are_stepped_do_the_same_deeds() {
    for seed in [0, 10, 20] {
        let dies = (PLAIN_AT.as_secs(), Fault::PowerLoss(n4()));
        let deeds = |plot: Plot| play(Scenario { plot, judged: Some("none"), ..Scenario::of(seed) }).deeds;
        let steady = deeds(vec![dies.clone()]);
        assert!(!steady.is_empty(), "seed {seed}: nothing was done");
        for apart in [7, 31] {
            assert_eq!(deeds([steps(40, 300, apart), vec![dies.clone()]].concat()), steady, "seed {seed}");
        }
    }
}
