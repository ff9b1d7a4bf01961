//! Budgets and rates.

use super::*;
use crate::{
    api::{OUT_OF_SERVICE, fence::OwnChanges},
    facts::{LeaseView, ZONE},
};

/// Ten nodes in two zones and two racks, `n9` without labels, `out` of them not well beside `n0`.
fn fixture(out: &[&str], make: Make) -> Fixture {
    let mut fixture = Fixture::new();
    for (number, node) in fixture.snapshot.nodes.values_mut().take(9).enumerate() {
        node.labels.insert(ZONE.into(), if number < 5 { "a" } else { "b" }.into());
        node.labels.insert("rack".into(), format!("r{}", number % 2));
    }
    out.iter().for_each(|name| make(&mut fixture, name));
    fixture
}

pub(super) type Make = fn(&mut Fixture, &str);

/// Every way in which a node is unavailable.
pub(super) const WAYS: [(&str, Make); 9] = [
    ("silent", |fixture, name| {
        let lease = LeaseView {
            resource_version: String::new(),
            holder: String::new(),
            renewed: None,
            duration: Duration::from_secs(40),
            change_seen_at: at(987),
        };
        fixture.snapshot.kubelet_leases.insert(name.into(), lease);
    }),
    ("not ready", |fixture, name| dead()(fixture, name)),
    ("cordoned", |fixture, name| cordoned()(fixture, name)),
    ("being deleted", |fixture, name| fixture.snapshot.nodes.get_mut(name).unwrap().deleting = true),
    ("out of service", |fixture, name| {
        let taint = Taint { key: OUT_OF_SERVICE.into(), value: String::new(), effect: Effect::NoExecute };
        fixture.snapshot.nodes.get_mut(name).unwrap().taints.push(taint);
    }),
    ("busy", |fixture, name| {
        fixture.snapshot.busy.insert(name.into());
    }),
    ("under remediation", |fixture, name| {
        drop(fixture.snapshot.fences.insert(name.into(), record(name, Phase::PoweringOff)))
    }),
    ("not yet back", |fixture, name| {
        drop(fixture.snapshot.fences.insert(name.into(), record(name, Phase::AwaitReady)))
    }),
    ("marked by us", |fixture, name| {
        let mut fence = record(name, Phase::Pending);
        fence.status.own_changes = OwnChanges { cordon: true, taints: Vec::new() };
        fixture.snapshot.fences.insert(name.into(), fence);
    }),
];

fn dead() -> Make {
    |fixture, name| kill(fixture.snapshot.nodes.get_mut(name).unwrap())
}

fn cordoned() -> Make {
    |fixture, name| fixture.snapshot.nodes.get_mut(name).unwrap().unschedulable = true
}

#[test]
fn whatever_is_out_counts() {
    for (way, make) in WAYS {
        let mut fixture = fixture(&["n1", "n2"], make);
        fixture.policy.budget.cluster = CountOrPercent::Count(2);
        assert_eq!(reasons(&fixture.all_blockers().power), ["BudgetCluster"], "{way}");
        fixture.policy.budget.cluster = CountOrPercent::Count(3);
        assert_eq!(fixture.all_blockers(), GuardBlockers::default(), "{way}");
    }
}

#[test]
fn each_zone_has_its_own_budget() {
    let dead = dead();
    for (out, blocked) in [(&["n1"][..], true), (&["n5", "n6"], false), (&["n9"], false)] {
        let mut fixture = fixture(out, dead);
        fixture.policy.budget.zone = CountOrPercent::Count(1);
        assert_eq!(reasons(&fixture.all_blockers().power).contains(&"BudgetZone"), blocked, "{out:?}");
    }
}

#[test]
fn a_share_is_one_of_the_zone_rounded_down_and_at_least_one() {
    let mut fixture = fixture(&["n1"], dead());
    for (share, blocked) in [(0, true), (1, true), (39, true), (40, false)] {
        fixture.policy.budget.zone = CountOrPercent::Percent(share);
        assert_eq!(
            !reasons(&fixture.all_blockers().power).is_empty(),
            blocked,
            "{share}% of 5, and two are unavailable"
        );
    }
    let mut alone = self::fixture(&[], dead());
    for (share, blocked) in [(0, true), (1, false)] {
        alone.policy.budget.zone = CountOrPercent::Percent(share);
        alone.policy.budget.cluster = CountOrPercent::Percent(share);
        assert_eq!(!reasons(&alone.all_blockers().power).is_empty(), blocked, "{share}% of 5, and one is unavailable");
    }
}

#[test]
fn any_label_is_a_domain_and_those_without_are_one_too() {
    let dead = dead();
    for (out, blocked) in [(&["n2"][..], true), (&["n1"], false)] {
        let mut fixture = fixture(out, dead);
        fixture.policy.budget.topology = vec![("rack".into(), CountOrPercent::Count(1))];
        assert_eq!(reasons(&fixture.all_blockers().power).contains(&"BudgetTopology"), blocked, "{out:?}");
    }
    let mut fixture = fixture(&["n3"], dead);
    fixture.policy.budget.topology = vec![("switch".into(), CountOrPercent::Count(1))];
    let power = fixture.all_blockers().power;
    assert_eq!(reasons(&power), ["BudgetTopology"]);
    assert!(power[0].message.contains("switch=``"), "{power:?}");
}

#[test]
fn cordons_have_a_budget_of_their_own() {
    let mut fixture = fixture(&["n1", "n2"], cordoned());
    fixture.policy.budget.cluster = CountOrPercent::Count(1);
    let guard_blockers = fixture.all_blockers();
    assert_eq!((reasons(&guard_blockers.isolate), reasons(&guard_blockers.drain)), (vec![], vec!["BudgetCluster"]));
    fixture.policy.cordon_budget.cluster = CountOrPercent::Count(2);
    assert_eq!(reasons(&fixture.all_blockers().isolate), ["BudgetCluster"]);
}

#[test]
fn a_policy_remediates_so_many_at_once_and_no_more() {
    for (phase, drain_begun_at, power) in [
        (Phase::Isolating, None, false),
        (Phase::Draining, None, false),
        (Phase::Draining, Some(wall(950)), true),
        (Phase::Quarantined, None, true),
        (Phase::Closed, None, false),
    ] {
        let mut fixture = Fixture::new();
        let mut other = record("n1", phase);
        other.status.drain_begun_at = drain_begun_at;
        kill(fixture.snapshot.nodes.get_mut("n1").unwrap());
        other.spec.policy = "p".into();
        fixture.snapshot.fences.insert("n1".into(), other);
        fixture.policy.budget.max_concurrent = Some(1);
        assert_eq!(reasons(&fixture.all_blockers().power).contains(&"MaxConcurrent"), power, "{phase:?}");
        assert!(fixture.all_blockers().isolate.is_empty());
    }
}

#[test]
fn a_given_up_node_that_works_again_takes_no_slot() {
    let mut fixture = Fixture::new();
    fixture.snapshot.fences.insert("n1".into(), record("n1", Phase::Quarantined));
    fixture.policy.budget.max_concurrent = Some(1);
    assert_eq!(fixture.all_blockers(), GuardBlockers::default());
}

#[test]
fn so_many_are_taken_in_a_window() {
    let mut fixture = Fixture::new();
    fixture.policy.budget.rate = Some(Rate { count: 2, window: Duration::from_secs(60) });
    for (name, second) in [("n1", 900), ("n2", 950), ("n3", 990)] {
        fixture.history.charge("p", name, "uid", DisruptionLevel::Power, at(second));
    }
    assert_eq!(reasons(&fixture.all_blockers().power), ["Rate"]);
    fixture.policy.budget.rate = Some(Rate { count: 3, window: Duration::from_secs(60) });
    assert_eq!(fixture.all_blockers(), GuardBlockers::default());
}

#[test]
fn a_new_leader_knows_the_rate_by_the_open_records() {
    let mut fixture = Fixture::new();
    fixture.policy.cordon_budget.rate = Some(Rate { count: 1, window: Duration::from_secs(200) });
    fixture.snapshot.fences.insert("n1".into(), record("n1", Phase::Isolating));
    assert_eq!(reasons(&fixture.all_blockers().isolate), ["Rate"], "opened at 900, it is 1000");
    fixture.policy.cordon_budget.rate = Some(Rate { count: 1, window: Duration::from_secs(50) });
    assert_eq!(fixture.all_blockers().isolate, []);
}

proptest! {
    /// More nodes out never allow more.
    #[test]
    fn more_trouble_never_allows_more(
        limits in (0_u32..10, 0_u32..10, 0_u32..10),
        few in proptest::collection::btree_set((1_usize..10, 0_usize..9), 0..5),
        more in proptest::collection::btree_set((1_usize..10, 0_usize..9), 0..5),
    ) {
        let blockers = |extra: bool| {
            let mut fixture = fixture(&[], dead());
            fixture.policy.budget.cluster = CountOrPercent::Count(limits.0);
            fixture.policy.budget.zone = CountOrPercent::Count(limits.1);
            fixture.policy.budget.topology = vec![("rack".into(), CountOrPercent::Count(limits.2))];
            for (number, way) in few.iter().chain(more.iter().filter(|_| extra)) {
                WAYS[*way].1(&mut fixture, &format!("n{number}"));
            }
            fixture.all_blockers().power
        };
        let (before, after) = (blockers(false), blockers(true));
        for blocker in reasons(&before) {
            prop_assert!(reasons(&after).contains(&blocker), "{} went away: {:?}", blocker, after);
        }
    }
}

/// Or a domain that was not counted would be an empty one, with every slot free.
#[test]
fn an_uncounted_domain_is_as_full_as_the_cluster() {
    let fixture = fixture(&["n1", "n2"], dead());
    let tally = Tally::new(&fixture.snapshot, at(1000));
    let uncounted = tally.domain(&fixture.snapshot.nodes["n0"], "uncounted", DisruptionLevel::Power);
    assert_eq!(uncounted, tally.cluster("n0", DisruptionLevel::Power));
}
