//! A seed decides what is planted: the same each time, each kind as often as another.

use std::{collections::BTreeMap, time::Duration};

use nodewell_cluster::soak::{
    choice::{Choice, Choices, Target},
    fault::Fault,
};
use nodewell_tests::suite::Suite;

const WORKERS: u8 = 3;
const SEEDS: std::ops::Range<u64> = 0..200;

pub(super) fn list(suite: &mut Suite) {
    suite
        .case("a_seed_is_the_same_faults_each_time", a_seed_is_the_same_faults_each_time)
        .case("each_round_has_each_fault_once", each_round_has_each_fault_once)
        .case("a_node_announces_three_shutdowns_at_most", a_node_announces_three_shutdowns_at_most)
        .case("faults_are_where_they_can_be", faults_are_where_they_can_be)
        .case("times_are_within_their_bounds", times_are_within_their_bounds);
}

fn chosen(seed: u64, many: usize) -> Vec<Choice> {
    Choices::new(seed, WORKERS).take(many).collect()
}

fn a_seed_is_the_same_faults_each_time() {
    for seed in SEEDS {
        assert_eq!(chosen(seed, 60), chosen(seed, 60), "seed {seed}");
        assert_ne!(chosen(seed, 60), chosen(seed + 1, 60), "seeds {seed} and the next");
    }
}

fn each_round_has_each_fault_once() {
    let mut orders = std::collections::BTreeSet::new();
    for seed in SEEDS {
        // Two nodes have three shutdowns each.
        for round in chosen(seed, Fault::ALL.len() * 6).chunks(Fault::ALL.len()) {
            let order: Vec<Fault> = round.iter().map(|choice| choice.fault).collect();
            let mut sorted = order.clone();
            sorted.sort();
            assert_eq!(sorted, Fault::ALL, "seed {seed}");
            orders.insert(order);
        }
    }
    assert!(orders.len() > 1000, "{} orders", orders.len());
}

fn a_node_announces_three_shutdowns_at_most() {
    for seed in SEEDS {
        let mut had = BTreeMap::<_, u8>::new();
        for choice in chosen(seed, 400).iter().filter(|choice| choice.fault == Fault::OrderlyReboot) {
            let Target::Worker(worker) = choice.target else { panic!("{choice:?}") };
            *had.entry(worker).or_default() += 1;
        }
        assert_eq!(had, BTreeMap::from([(2, 3), (3, 3)]), "seed {seed}");
    }
}

fn faults_are_where_they_can_be() {
    let mut seen = BTreeMap::<Fault, Vec<Target>>::new();
    for choice in SEEDS.flat_map(|seed| chosen(seed, 60)) {
        let targets = seen.entry(choice.fault).or_default();
        if !targets.contains(&choice.target) {
            targets.push(choice.target);
        }
    }
    let workers = (1..=WORKERS).map(Target::Worker);
    let rebooted = [2, 3];
    for fault in Fault::ALL {
        let mut expected: Vec<Target> = match fault {
            Fault::DiskFailed => vec![Target::Worker(1)],
            Fault::LeaderKilled | Fault::ApiServerAway => {
                (1..=WORKERS).map(|reporter| Target::ControlPlane { reporter }).collect()
            }
            Fault::PlugPulled | Fault::CablePulled | Fault::KubeletStopped => {
                rebooted.into_iter().flat_map(|or| [Target::Worker(or), Target::ShopsNode { or }]).collect()
            }
            Fault::OrderlyReboot => rebooted.map(Target::Worker).to_vec(),
            _ => workers.clone().collect(),
        };
        let mut targets = seen.remove(&fault).unwrap_or_default();
        let text = |target: &Target| format!("{target:?}");
        expected.sort_by_key(text);
        targets.sort_by_key(text);
        assert_eq!(targets, expected, "{fault}");
    }
}

fn times_are_within_their_bounds() {
    for choice in SEEDS.flat_map(|seed| chosen(seed, 60)) {
        let lasts = if choice.fault == Fault::ApiServerAway { 10..=60 } else { 1..=20 };
        assert!(lasts.contains(&choice.lasts.as_secs()), "{choice:?}");
        assert!((5..=30).contains(&choice.pause.as_secs()), "{choice:?}");
        assert_eq!(choice.lasts, Duration::from_secs(choice.lasts.as_secs()));
    }
}
