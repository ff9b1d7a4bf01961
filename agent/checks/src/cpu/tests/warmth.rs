//! Packages that are too hot.

use proptest::prelude::*;

use super::*;
use crate::cpu::{reading::ThrottleReading, throttle::Throttle};

#[test]
fn minutes_of_throttling_are_a_problem_that_ends_ten_minutes_after_the_last() {
    let mut node = Node::new();
    node.look();
    for round in 1..=2 {
        node.hot(0, round * 10);
        assert_eq!(reasons(&node.look(), "CPU"), ["healthy"], "{round}");
    }
    node.hot(0, 30);
    let findings = node.look();
    assert_eq!(reasons(&findings, "CPU"), ["CpuThermalThrottle"]);
    assert_eq!(findings.hardware[0].states["throttled"], 4);
    assert_eq!(reasons(&node.looks(9), "CPU"), ["CpuThermalThrottle"]);
    let findings = node.look();
    assert_eq!(reasons(&findings, "CPU"), ["healthy"]);
    let recovery = &findings.recoveries[0];
    assert_eq!((recovery.reason.as_ref().unwrap().as_str(), recovery.subject.as_str()), ("CpuThermalThrottle", "CPU"));
    assert_eq!(recovery.seen_before, node.now.wall - Duration::from_secs(600));
    assert_eq!(node.looks(11).recoveries, [], "no end is reported for ever");
}

#[test]
fn a_moment_of_it_and_old_counts_are_none() {
    let mut node = Node::new();
    node.hot(900, 40_000);
    assert_eq!(reasons(&node.looks(5), "CPU"), ["healthy"]);
    node.hot(905, 40_100);
    assert_eq!(reasons(&node.looks(10), "CPU"), ["healthy"]);
    assert_eq!(node.look().recoveries.len(), 1, "but the kernel's log may have reported it");
}

#[test]
fn heat_now_and_then_within_minutes_is_one_problem() {
    let mut node = Node::new();
    node.look();
    let mut seen = Vec::new();
    for round in 0..30u64 {
        node.hot(0, round / 2 * 7);
        seen.push(reasons(&node.look(), "CPU")[0] == "CpuThermalThrottle");
    }
    let changes = seen.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert_eq!((changes, seen.last()), (1, Some(&true)), "{seen:?}");
}

#[test]
fn few_events_that_last_are_heat_too() {
    let mut throttle = Throttle::default();
    for round in 0..3 {
        let reading = ThrottleReading { package: 0, cpus: 4, events: 1, millis: Some(round * 30_000) };
        throttle.take(Duration::from_secs(300 * round), &reading);
    }
    assert!(throttle.is_throttled);
}

#[test]
fn many_short_events_are_no_heat_where_their_time_is_counted() {
    let mut throttle = Throttle::default();
    // Ten moments a minute, of two milliseconds each.
    for round in 0..20 {
        let reading = ThrottleReading { package: 0, cpus: 4, events: round * 10, millis: Some(round * 20) };
        throttle.take(Duration::from_secs(60 * round), &reading);
        assert!(!throttle.is_throttled, "{round}");
    }
    assert_eq!(throttle.calm(), Some(Duration::ZERO));
    // The same is heat where the time is not counted.
    for round in 20..24 {
        throttle.take(
            Duration::from_secs(60 * round),
            &ThrottleReading { package: 0, cpus: 4, events: round * 10, millis: None },
        );
    }
    assert!(throttle.is_throttled);
}

#[test]
fn a_rare_event_is_no_heat_but_no_calm_either() {
    let reading = |events| ThrottleReading { package: 0, cpus: 4, events, millis: None };
    let mut throttle = Throttle::default();
    for round in 0..10 {
        throttle.take(Duration::from_secs(300 * round), &reading(round));
    }
    assert_eq!((throttle.is_throttled, throttle.calm()), (false, Some(Duration::ZERO)));
    throttle.take(Duration::from_secs(300 * 12), &reading(9));
    assert_eq!(throttle.calm(), Some(Duration::from_secs(900)));
}

#[test]
fn a_package_that_loses_cpus_has_not_heated_up() {
    let mut node = Node::new();
    node.hot(500, 500);
    node.look();
    fs::remove_dir_all(node.root.path().join("sys/devices/system/cpu/cpu1")).unwrap();
    fs::remove_dir_all(node.root.path().join("sys/devices/system/cpu/cpu5")).unwrap();
    assert_eq!(reasons(&node.looks(4), "CPU"), ["healthy"]);
}

#[test]
fn a_restart_in_the_heat_takes_nothing_back() {
    let mut node = Node::new();
    node.look();
    for round in 1..5 {
        node.hot(0, round * 10);
        node.look();
    }
    node.restart();
    assert_eq!(reasons(&node.looks(9), "CPU"), ["CpuThermalThrottle"]);
    assert_eq!(reasons(&node.looks(2), "CPU"), ["healthy"]);
}

proptest! {
    #[test]
    fn no_counters_and_no_clocks_break_it(
        readings in prop::collection::vec((any::<u64>(), any::<Option<u64>>(), 0u64..1 << 50), 1..20),
    ) {
        let mut throttle = Throttle::default();
        for (events, millis, secs) in readings {
            throttle.take(Duration::from_secs(secs), &ThrottleReading { package: 0, cpus: 1, events, millis });
            prop_assert!(!throttle.is_throttled || throttle.calm().is_some());
        }
    }
}
