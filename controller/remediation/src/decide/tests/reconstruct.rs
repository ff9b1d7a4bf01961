//! A program that looks once judges as a leader that has watched all along.

use super::*;
use crate::{facts::LeaseView, snapshot::EventsSeen};

/// As a plan does it.
fn plan(snapshot: &Snapshot, second: u64) -> Decision {
    run(snapshot, Memory::reconstructed(snapshot, now(second)), second)
}

fn patient(when: &str) -> Policy {
    let when = Predicate::Cel(cel::Expression::compile(when).unwrap());
    Policy { held_for: Duration::from_secs(300), when, ..policy("p", vec![cordon()]) }
}

fn silent_since(second: u64) -> LeaseView {
    LeaseView {
        resource_version: String::new(),
        holder: String::new(),
        renewed: None,
        duration: Duration::from_secs(40),
        change_seen_at: at(second),
    }
}

#[test]
fn a_failure_of_before_is_as_old_as_its_condition() {
    let snapshot = snapshot_of(1, vec![patient("!node.ready")]);
    assert_eq!(reasons(&plan(&snapshot, 1199), "n0"), ["WithinGracePeriod"]);
    assert_eq!(opened(&plan(&snapshot, 1200)), ["n0"], "it is not Ready since 900");
    let memory = Memory::reconstructed(&snapshot, now(1200));
    assert_eq!(memory.result("p", "n0"), Some((&Ok(true), at(900))));
    assert_eq!(memory.result("p", "n1").map(|(result, _)| result.clone()), Some(Ok(false)));
}

#[test]
fn a_silence_is_as_old_as_it_is_too_long() {
    let mut snapshot = snapshot_of(0, vec![patient("lease.age > duration('40s')")]);
    snapshot.kubelet_leases.insert("n0".into(), silent_since(1000));
    for name in (1..10).map(|number| format!("n{number}")) {
        snapshot.kubelet_leases.insert(name, silent_since(1335));
    }
    assert_eq!(reasons(&plan(&snapshot, 1338), "n0"), ["WithinGracePeriod"]);
    assert_eq!(opened(&plan(&snapshot, 1345)), ["n0"], "true from 1041 on");
}

#[test]
fn of_two_conditions_the_later_one_counts() {
    let mut snapshot = snapshot_of(1, vec![patient("!node.ready && conditions.Gpu.status == 'False'")]);
    set_condition(snapshot.nodes.get_mut("n0").unwrap(), "Gpu", ConditionStatus::False, "", at(1100));
    assert_eq!(reasons(&plan(&snapshot, 1399), "n0"), ["WithinGracePeriod"]);
    assert_eq!(opened(&plan(&snapshot, 1400)), ["n0"]);
}

fn since(snapshot: &Snapshot, second: u64) -> Moment {
    Memory::reconstructed(snapshot, now(second)).result("p", "n0").unwrap().1
}

/// What changed before was the other way round: Ready was True, and any other condition had reported that all is well.
#[test]
fn a_predicate_is_true_since_the_change_that_made_it_so() {
    use ConditionStatus::{False, True, Unknown};
    for (when, kind, status, expected) in [
        ("!node.ready", "Ready", False, 900),
        ("!node.ready", "Ready", Unknown, 900),
        ("conditions.Gpu.status == 'True'", "Gpu", True, 900),
        ("conditions.Gpu.status != 'True'", "Gpu", False, 900),
        ("conditions.Gpu.status != 'False'", "Gpu", Unknown, 900),
        // It was not True before either.
        ("conditions.Gpu.status != 'True'", "Gpu", Unknown, 500),
    ] {
        let mut snapshot = snapshot_of(0, vec![patient(when)]);
        let node = snapshot.nodes.get_mut("n0").unwrap();
        node.conditions.clear();
        set_condition(node, "Older", True, "", at(500));
        set_condition(node, kind, status, "", at(900));
        set_condition(node, "Younger", True, "", at(1100));
        assert_eq!(since(&snapshot, 1200), at(expected), "{when} {kind} {status}");
    }
}

#[test]
fn what_an_event_reports_is_as_old_as_the_event() {
    let mut snapshot = snapshot_of(0, vec![patient("'DiskFell' in events")]);
    snapshot.policies[0].trust_events = true;
    let seen = |second| EventsSeen {
        count: 1,
        last: at(second),
        age_when_seen: Duration::ZERO,
        reporters: ["kubelet".to_owned()].into(),
    };
    let events = [("DiskFell".to_owned(), seen(950)), ("Started".to_owned(), seen(1100))].into();
    snapshot.events.insert("n0".into(), events);
    assert_eq!(since(&snapshot, 1200), at(950));
    let by_events_alone =
        |snapshot: &Snapshot, node| Memory::reconstructed(snapshot, now(1200)).is_by_events_alone("p", node);
    assert!(!by_events_alone(&snapshot, "n0"), "they are trusted");
    snapshot.policies[0].trust_events = false;
    assert!(by_events_alone(&snapshot, "n0") && !by_events_alone(&snapshot, "n1"));
}

/// Its start is found by halves, to a second.
#[test]
fn an_age_is_reached_within_a_second() {
    let mut snapshot = snapshot_of(0, vec![patient("lease.age > 40 || conditions.Gpu.age > 40")]);
    let node = snapshot.nodes.get_mut("n0").unwrap();
    set_condition(node, "Gpu", ConditionStatus::True, "", Moment(Duration::from_millis(999_400)));
    snapshot.kubelet_leases.insert("n0".into(), silent_since(1000));
    assert_eq!(since(&snapshot, 1064), at(1041), "true from 1040.4 on");
}

#[test]
fn nodes_that_a_policy_is_true_of_and_those_that_are_not_ready_make_a_storm() {
    for (most, expected) in [(3, None), (2, Some("Storm"))] {
        let when = Predicate::Cel(cel::Expression::compile("conditions.?Gpu.?status.orValue('') == 'False'").unwrap());
        let mut one = policy("p", vec![cordon()]);
        one.storm.unhealthy = CountOrPercent::Count(most);
        let mut snapshot = snapshot_of(1, vec![Policy { when, ..one }]);
        for name in ["n1", "n2"] {
            set_condition(snapshot.nodes.get_mut(name).unwrap(), "Gpu", ConditionStatus::False, "", at(900));
        }
        assert_eq!(reasons(&plan(&snapshot, 1000), "n1").first().copied(), expected, "{most}");
        let memory = Memory::reconstructed(&snapshot, now(1000));
        let handover = serde_json::to_value(memory.storms["p"].handover(at(1000))).unwrap();
        assert_eq!(handover["onsets"], serde_json::json!({ "n0": 100, "n1": 100, "n2": 100 }));
    }
}

#[test]
fn a_storm_of_long_ago_is_over_and_one_of_now_is_not() {
    let mut snapshot = snapshot_of(6, vec![policy("p", vec![cordon()])]);
    snapshot.policies[0].storm.rate = Rate { count: 5, window: Duration::from_secs(600) };
    snapshot.policies[0].storm.cooldown = Duration::from_secs(900);
    for (second, expected) in [(1000, vec!["Storm"]), (1499, vec!["Storm"]), (1500, vec!["StormCooldown"])] {
        assert_eq!(reasons(&plan(&snapshot, second), "n0"), expected, "{second}");
    }
    assert_eq!(reasons(&plan(&snapshot, 2399), "n0"), ["StormCooldown"]);
    assert_eq!(opened(&plan(&snapshot, 2400)).len(), 6, "unhealthy since 900, a storm until 1500, calm for 15 min");
}

#[test]
fn a_leader_that_watched_all_along_decides_the_same() {
    let mut snapshot = snapshot_of(6, vec![patient("!node.ready")]);
    snapshot.policies[0].storm.rate = Rate { count: 5, window: Duration::from_secs(120) };
    snapshot.policies[0].storm.cooldown = Duration::from_secs(60);
    let mut memory = Memory::default();
    for second in (900..1300).step_by(7) {
        let watched = run(&snapshot, memory, second);
        let planned = plan(&snapshot, second);
        assert_eq!(reasons(&watched, "n3"), reasons(&planned, "n3"), "{second}");
        assert_eq!(opened(&watched), opened(&planned), "{second}");
        memory = watched.memory;
    }
}

#[test]
fn the_silence_of_an_agent_is_as_old_as_it_is_too_long() {
    let mut snapshot = snapshot_of(0, vec![patient("agentLease.age > 40")]);
    snapshot.agent_leases.insert("n0".into(), silent_since(1000));
    set_condition(snapshot.nodes.get_mut("n0").unwrap(), "Younger", ConditionStatus::True, "", at(1100));
    assert_eq!(since(&snapshot, 1164).0.as_secs(), 1041);
}
