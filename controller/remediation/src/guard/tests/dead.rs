//! Slots of the dead beside those of the living.

use super::{budget::WAYS, *};

/// Its kubelet's Lease was not renewed for as long as the Lease lasts.
fn silent_for_long(fixture: &mut Fixture, name: &str) {
    WAYS[0].1(fixture, name);
    fixture.snapshot.kubelet_leases.get_mut(name).unwrap().change_seen_at = at(900);
}

/// `n0` is dead, and `n1` reports for ever that it is ill: cordoned, drained, given up, and its kubelet renews its
/// Lease.
fn a_liar() -> Fixture {
    let mut fixture = Fixture::new();
    fixture.policy.budget = Policy::default().budget;
    fixture.policy.cordon_budget = Policy::default().cordon_budget;
    silent_for_long(&mut fixture, "n0");
    fixture.snapshot.nodes.get_mut("n1").unwrap().unschedulable = true;
    fixture.snapshot.fences.insert("n1".into(), record("n1", Phase::Quarantined));
    fixture
}

fn input(fixture: &Fixture) -> EvaluationInput<'_> {
    let (snapshot, now) = (&fixture.snapshot, now(1000));
    let (tally, history) = (Tally::new(snapshot, now.moment), fixture.history.clone());
    EvaluationInput { snapshot, now, tally, history, storms: BTreeMap::new() }
}

#[test]
fn a_living_node_under_remediation_takes_no_slot_of_a_dead_one() {
    assert_eq!(a_liar().all_blockers(), GuardBlockers::default());
}

#[test]
fn budget_usage_counts_living_and_dead_apart() {
    let mut fixture = a_liar();
    fixture.all_blockers();
    let usage = budgets::usage(&fixture.snapshot, at(1000));
    let reported: Vec<_> =
        usage.iter().map(|one| (one.field, one.living, one.most_living, one.dead, one.most_dead)).collect();
    assert_eq!(reported, [("cordonBudget", 1, 1, 1, 1), ("budget", 1, 1, 1, 1)]);
}

#[test]
fn a_dead_node_takes_no_slot_of_a_living_one() {
    let mut fixture = a_liar();
    // The other way round: the liar is asked for, and `n0` is dead, drained and given up.
    let (liar, dead) = (fixture.snapshot.nodes["n1"].clone(), record("n0", Phase::Quarantined));
    fixture.snapshot.fences = [("n0".to_owned(), dead)].into();
    let asked = |fixture: &Fixture, max_concurrent| {
        let input = input(fixture);
        let policy = Policy {
            budget: crate::policy::Budget { max_concurrent, ..fixture.policy.budget.clone() },
            ..fixture.policy.clone()
        };
        let subject = Subject {
            name: "n1",
            node: Some(&liar),
            fence: None,
            policy: &policy,
            unreadable: None,
            error: None,
            by_events_alone: false,
        };
        reasons(&budgets::blockers(&input, &subject, DisruptionLevel::Drain))
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(asked(&fixture, Some(1)), Vec::<String>::new());
    // One dead node more than their allowance counts for every node.
    silent_for_long(&mut fixture, "n2");
    kill(fixture.snapshot.nodes.get_mut("n2").unwrap());
    assert_eq!(asked(&fixture, Some(1)), ["BudgetCluster", "BudgetZone"]);
}

#[test]
fn the_dead_have_no_more_than_their_own_slots() {
    let second = |max_dead| {
        let mut fixture = a_liar();
        fixture.policy.budget.dead = CountOrPercent::Count(max_dead);
        (fixture.policy.budget.zone, fixture.policy.budget.max_concurrent) = (CountOrPercent::Count(9), None);
        silent_for_long(&mut fixture, "n2");
        kill(fixture.snapshot.nodes.get_mut("n2").unwrap());
        fixture
    };
    assert_eq!(reasons(&second(1).all_blockers().power), ["BudgetCluster"], "n0 and n2 are dead");
    assert_eq!(reasons(&second(2).all_blockers().power), [""; 0]);
    assert_eq!(reasons(&second(0).all_blockers().power), ["BudgetCluster"], "then they count with all others");
}

/// A node whose Lease moves is not dead, and one that has none, or is Ready, is not known to be.
#[test]
fn only_a_node_dead_for_certain_has_a_slot_of_the_dead() {
    type Change = fn(&mut Fixture);
    let changes: [(&str, Change); 5] = [
        ("its Lease moved 39 s ago", |fixture| {
            fixture.snapshot.kubelet_leases.get_mut("n0").unwrap().change_seen_at = at(961)
        }),
        ("its Lease lasts for longer", |fixture| {
            fixture.snapshot.kubelet_leases.get_mut("n0").unwrap().duration = Duration::from_secs(101);
        }),
        ("it has no Lease", |fixture| drop(fixture.snapshot.kubelet_leases.remove("n0"))),
        ("it is Ready", |fixture| set_condition(fixture.node(), "Ready", ConditionStatus::True, "KubeletReady", at(0))),
        ("no condition says whether it is Ready", |fixture| fixture.node().conditions.clear()),
    ];
    for (what, change) in changes {
        let mut fixture = a_liar();
        change(&mut fixture);
        let blockers = fixture.all_blockers().power;
        assert!(reasons(&blockers).contains(&"BudgetCluster"), "{what}: {blockers:?}");
    }
}

/// A node that might be dead takes a slot of the dead; one that lives and reports that it is not Ready takes none.
#[test]
fn a_node_without_a_lease_takes_a_slot_of_the_dead() {
    for (renewed, blocked) in [(None, true), (Some(at(950)), true), (Some(at(995)), false)] {
        let mut fixture = a_liar();
        fixture.snapshot.fences.clear();
        kill(fixture.snapshot.nodes.get_mut("n2").unwrap());
        if let Some(renewed) = renewed {
            silent_for_long(&mut fixture, "n2");
            fixture.snapshot.kubelet_leases.get_mut("n2").unwrap().change_seen_at = renewed;
        }
        assert_eq!(!reasons(&fixture.all_blockers().power).is_empty(), blocked, "{renewed:?}");
    }
}

/// Nodes that we turned off and that came up without being Ready are no rivals of the dead, but both numbers bound them all.
#[test]
fn no_more_than_both_numbers_are_under_remediation() {
    let mut fixture = a_liar();
    fixture.policy.budget.max_concurrent = None;
    assert_eq!(reasons(&fixture.all_blockers().power), [""; 0], "one under remediation and one dead");
    fixture.snapshot.nodes.get_mut("n2").unwrap().unschedulable = true;
    assert_eq!(reasons(&fixture.all_blockers().power), [""; 0], "a person's cordon is nothing to the dead");
    fixture.snapshot.fences.insert("n2".into(), record("n2", Phase::Failed));
    let blockers = fixture.all_blockers().power;
    assert_eq!(reasons(&blockers), ["BudgetCluster", "BudgetZone"]);
    assert!(blockers[0].message.contains("3 dead or under remediation (limit 2)"), "{}", blockers[0].message);
}

proptest! {
    /// Whatever is unavailable, dead or under remediation: as many as both numbers allow, and no more, are taken one after the
    /// other.
    #[test]
    fn both_numbers_are_the_bound(
        limits in (0_u32..4, 0_u32..4),
        nodes in proptest::collection::vec((0_usize..10, any::<bool>()), 1..30),
    ) {
        let mut fixture = a_liar();
        fixture.snapshot.fences.clear();
        fixture.snapshot.nodes.get_mut("n1").unwrap().unschedulable = false;
        set_condition(fixture.node(), "Ready", ConditionStatus::True, "KubeletReady", at(0));
        fixture.snapshot.kubelet_leases.clear();
        let policy = Policy {
            budget: crate::policy::Budget { cluster: CountOrPercent::Count(limits.0), dead: CountOrPercent::Count(limits.1), ..wide().budget },
            ..wide()
        };
        for (number, dies) in nodes {
            let name = format!("n{number}");
            if dies {
                silent_for_long(&mut fixture, &name);
                kill(fixture.snapshot.nodes.get_mut(&name).unwrap());
            }
            let allowed = {
                let input = input(&fixture);
                let node = fixture.snapshot.nodes.get(&name);
                let subject = Subject { name: &name, node, fence: None, policy: &policy, unreadable: None, error: None, by_events_alone: false };
                budgets::blockers(&input, &subject, DisruptionLevel::Power).is_empty()
            };
            if allowed {
                fixture.snapshot.fences.insert(name.clone(), record(&name, Phase::PoweringOff));
                // It comes up again, and is not well: a liar, for all that is known.
                fixture.snapshot.kubelet_leases.remove(&name);
            }
            prop_assert!(fixture.snapshot.fences.len() <= (limits.0 + limits.1) as usize, "{:?}", fixture.snapshot.fences.keys());
        }
    }
}
