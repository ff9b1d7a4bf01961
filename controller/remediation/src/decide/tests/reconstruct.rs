//! A program that looks once judges as a leader that has watched all along.

use super::*;
use crate::facts::LeaseView;

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
