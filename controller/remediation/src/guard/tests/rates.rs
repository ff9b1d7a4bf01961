//! Rates of pods and power cycles: what counts, and for how long.

use super::*;
use crate::api::fence::{IntendedOp, Intent};

#[test]
fn old_power_cycles_and_pods_are_forgotten() {
    let mut fixture = Fixture::new();
    fixture.policy.power_cycles = Rate { count: 2, window: Duration::from_secs(400) };
    fixture.open(Phase::Waiting).status.cycles = vec![wall(100), wall(900)];
    fixture.policy.pods = Rate { count: 10, window: Duration::from_secs(60) };
    fixture.history.charge_pods("p", "n5", 10, at(900));
    assert_eq!(fixture.all_blockers(), GuardBlockers::default());
}

/// 8 of 10 went; this node has 5, and the list of them fails.
#[test]
fn pods_that_could_not_be_listed_are_not_none() {
    let mut fixture = Fixture::new();
    fixture.policy.pods = Rate { count: 10, window: Duration::from_secs(60) };
    fixture.history.charge_pods("p", "n5", 8, at(990));
    fixture.open(Phase::OffConfirmed);
    let pods = |fixture: &mut Fixture, pods| fixture.snapshot.gathered.get_mut("n0").unwrap().pods = pods;
    pods(&mut fixture, Some((at(999), vec![crate::facts::Pod::default(); 5])));
    assert_eq!(reasons(&fixture.all_blockers().power), ["PodRate"]);
    pods(&mut fixture, None);
    assert_eq!(reasons(&fixture.all_blockers().power), ["PodsUnknown"]);
    pods(&mut fixture, Some((at(999), vec![crate::facts::Pod::default(); 2])));
    assert_eq!(fixture.all_blockers(), GuardBlockers::default());
}

#[test]
fn a_node_with_more_pods_than_the_rate_goes_when_no_others_went() {
    let mut fixture = Fixture::new();
    fixture.policy.pods = Rate { count: 10, window: Duration::from_secs(60) };
    fixture.open(Phase::OffConfirmed);
    fixture.snapshot.gathered.get_mut("n0").unwrap().pods = Some((at(999), vec![crate::facts::Pod::default(); 50]));
    assert_eq!(fixture.all_blockers(), GuardBlockers::default());
    fixture.history.charge_pods("p", "n5", 1, at(990));
    assert_eq!(reasons(&fixture.all_blockers().power), ["PodRate"]);
}

#[test]
fn a_power_off_whose_record_was_deleted_counts() {
    let mut fixture = Fixture::new();
    fixture.policy.power_cycles = Rate { count: 1, window: Duration::from_secs(400) };
    let intended = Intent { op: IntendedOp::PowerOff, epoch: 1, at: wall(900), pods: 0 };
    fixture.open(Phase::PoweringOff).status.intent = Some(intended);
    fixture.all_blockers();
    assert_eq!(fixture.history.cycles_of("n0"), [], "its own record says it");
    fixture.fence = None;
    fixture.snapshot.fences.clear();
    assert_eq!(reasons(&fixture.all_blockers().power), ["PowerCycleLimit"]);
}

#[test]
fn power_cycles_of_closed_records_are_remembered() {
    let mut fixture = Fixture::new();
    let status = &mut fixture.open(Phase::Waiting).status;
    (status.earlier_cycles, status.cycles) = (vec![wall(500)], vec![wall(900)]);
    fixture.all_blockers();
    fixture.fence = None;
    fixture.snapshot.fences.clear();
    assert_eq!(reasons(&fixture.all_blockers().power), ["PowerCycleLimit"]);
}
