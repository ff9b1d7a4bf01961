//! A storm stops what is new, and no mistake in a policy ends it.

use super::*;

#[test]
fn a_storm_opens_nothing_and_goes_on_with_nothing_new() {
    let storm = Storm { unhealthy: CountOrPercent::Percent(30), ..policy("p", vec![]).storm };
    let mut snapshot = snapshot_of(2, vec![Policy { storm, ..policy("p", vec![cordon(), power_cycle()]) }]);
    let first = run(&snapshot, Memory::default(), 1000);
    assert_eq!(opened(&first), ["n0", "n1"]);
    store(&mut snapshot, &first, 1000);
    snapshot.fences.values_mut().for_each(|fence| (fence.status.phase, fence.status.policy_step) = (Phase::Waiting, 1));
    snapshot.nodes.values_mut().skip(2).take(4).for_each(kill);
    let second = run(&snapshot, first.memory, 1010);
    assert_eq!(second.actions, []);
    for name in ["n0", "n1", "n2", "n5"] {
        assert_eq!(reasons(&second, name), ["Storm"], "{name}");
    }
}

#[test]
fn a_mistake_in_a_policy_ends_no_storm_and_no_cooldown() {
    let storm = Storm { unhealthy: CountOrPercent::Percent(10), ..policy("p", vec![]).storm };
    let whole = snapshot_of(1, vec![Policy { storm, ..policy("p", vec![cordon()]) }]);
    let stormy = snapshot_of(2, whole.policies.clone());
    let spoilt = |snapshot: &Snapshot| Snapshot {
        policies: Vec::new(),
        unreadable_policies: [("p".to_owned(), "spec.when: Syntax error".to_owned())].into(),
        ..snapshot.clone()
    };
    let gone = |snapshot: &Snapshot| Snapshot { policies: Vec::new(), ..snapshot.clone() };
    type Spoil<'a> = &'a dyn Fn(&Snapshot) -> Snapshot;
    for spoil in [&spoilt as Spoil<'_>, &gone] {
        // It was there before a storm that came and went without it.
        let before = run(&snapshot_of(0, whole.policies.clone()), Memory::default(), 1000);
        let during = run(&spoil(&stormy), before.memory, 1010);
        let after = run(&spoil(&whole), during.memory, 1020);
        let mended = run(&whole, after.memory, 1030);
        assert_eq!((opened(&mended), reasons(&mended, "n0")), (vec![], vec!["StormCooldown"]));
        // It was there in a storm, and away for a moment of its cooldown.
        let before = run(&stormy, Memory::default(), 2000);
        let away = run(&spoil(&whole), before.memory, 2010);
        let mended = run(&whole, away.memory, 2599);
        assert_eq!((opened(&mended), reasons(&mended, "n0")), (vec![], vec!["StormCooldown"]));
        assert_eq!(opened(&run(&whole, mended.memory, 2600)), ["n0"], "calm for as long as it has to be");
    }
}

/// No leader before handed over how it was.
#[test]
fn a_leader_that_finds_a_policy_unreadable_sees_its_storms() {
    let whole = snapshot_of(1, vec![policy("p", vec![cordon()])]);
    let unreadable = [("p".to_owned(), "spec.when: Syntax error".to_owned())].into();
    let spoilt = Snapshot { policies: Vec::new(), unreadable_policies: unreadable, ..whole.clone() };
    let stormy = Snapshot { nodes: snapshot_of(6, Vec::new()).nodes, ..spoilt.clone() };
    let during = run(&stormy, run(&spoilt, Memory::default(), 1000).memory, 1010);
    let mended = run(&whole, run(&spoilt, during.memory, 1020).memory, 1030);
    assert_eq!((opened(&mended), reasons(&mended, "n0")), (vec![], vec!["StormCooldown"]));
    let calm = run(&whole, run(&spoilt, Memory::default(), 1020).memory, 1030);
    assert_eq!(opened(&calm), ["n0"]);
}

/// A record without a policy is a person's.
#[test]
fn what_a_person_asks_for_waits_for_the_end_of_a_storm_too() {
    let mut snapshot = snapshot_of(1, vec![policy("p", vec![power_cycle()])]);
    let first = run(&snapshot, Memory::default(), 1000);
    store(&mut snapshot, &first, 1000);
    snapshot.policies.clear();
    let by_hand = snapshot.fences.get_mut("n0").unwrap();
    (by_hand.spec.policy, by_hand.status.phase) = (String::new(), Phase::AwaitGuards);
    let calm = run(&snapshot, Memory::default(), 1010);
    assert_eq!((calm.actions.len(), reasons(&calm, "n0")), (1, vec![]), "one dead node is no storm");
    snapshot.nodes.values_mut().skip(1).take(4).for_each(kill);
    let storm = run(&snapshot, Memory::default(), 1020);
    assert!(storm.actions.is_empty() && reasons(&storm, "n0").contains(&"Storm"), "{:?}", reasons(&storm, "n0"));
}

#[test]
fn storms_of_a_policy_that_stays_away_are_forgotten() {
    let whole = snapshot_of(1, vec![policy("p", vec![cordon()])]);
    let gone = Snapshot { policies: Vec::new(), ..whole.clone() };
    let unreadable = [("p".to_owned(), "spec.when: Syntax error".to_owned())].into();
    let spoilt = Snapshot { unreadable_policies: unreadable, ..gone.clone() };
    let day = 24 * 3600;
    for (there, days) in [(&gone, false), (&spoilt, true)] {
        let memory = run(&whole, Memory::default(), 1000).memory;
        let memory = run(there, run(there, memory, 1001).memory, 1000 + day).memory;
        assert!(memory.storms.contains_key("p"));
        assert_eq!(run(there, memory, 1001 + day).memory.storms.contains_key("p"), days);
    }
}

#[test]
fn nodes_that_a_policy_is_true_of_make_its_storm_although_they_are_ready() {
    let storm = Storm { unhealthy: CountOrPercent::Percent(30), ..policy("p", vec![]).storm };
    let when = Predicate::Cel(cel::Expression::compile("conditions.?Gpu.?status.orValue('') == 'False'").unwrap());
    let mut snapshot = snapshot_of(0, vec![Policy { storm, when, ..policy("p", vec![cordon()]) }]);
    let break_gpu = |node: &mut Node| set_condition(node, "Gpu", ConditionStatus::False, "", at(900));
    snapshot.nodes.values_mut().take(3).for_each(break_gpu);
    assert_eq!(opened(&run(&snapshot, Memory::default(), 1000)), ["n0", "n1", "n2"]);
    snapshot.nodes.values_mut().take(4).for_each(break_gpu);
    let decision = run(&snapshot, Memory::default(), 1000);
    assert_eq!((opened(&decision), reasons(&decision, "n0")), (vec![], vec!["Storm"]));
}
