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

/// Another try of it is the same cycle; the ones before count.
#[test]
fn the_cycle_that_a_record_has_begun_does_not_stand_in_its_own_way() {
    let mut fixture = Fixture::new();
    fixture.policy.power_cycles = Rate { count: 2, window: Duration::from_secs(900) };
    let mut is_limited = |cycles: &[i64], begun| {
        let status = &mut fixture.open(Phase::AwaitGuards).status;
        status.cycles = cycles.iter().map(|at| wall(*at)).collect();
        status.cycle_begun = begun;
        reasons(&fixture.all_blockers().power).contains(&"PowerCycleLimit")
    };
    assert!(!is_limited(&[500, 900], true));
    assert!(is_limited(&[500, 900], false));
    assert!(is_limited(&[400, 500, 900], true));
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

/// Records of these nodes, opened in this order, each with so many pods and nothing that speaks against it but the rate.
fn waiting(fixture: &mut Fixture, nodes: &[(&str, usize)]) {
    for (second, (name, pods)) in (900..).zip(nodes) {
        let mut fence = record(name, Phase::OffConfirmed);
        fence.metadata.creation_timestamp = Some(wall(second));
        fence.status.blocked_by = vec![Blocker::new("PodRate", "")];
        let gathered = fixture.snapshot.gathered.entry((*name).to_owned()).or_default();
        gathered.pods = Some((at(999), vec![crate::facts::Pod::default(); *pods]));
        if *name == "n0" {
            fixture.fence = Some(fence.clone());
        }
        fixture.snapshot.fences.insert((*name).to_owned(), fence);
    }
}

#[test]
fn a_node_with_more_pods_than_the_rate_is_not_passed_over_for_ever_by_smaller_ones() {
    let mut fixture = Fixture::new();
    fixture.policy.pods = Rate { count: 10, window: Duration::from_secs(60) };
    waiting(&mut fixture, &[("n1", 50), ("n0", 2)]);
    let blockers = fixture.all_blockers();
    assert_eq!(reasons(&blockers.power), ["PodRate"], "there is room for two, and n1 needs a window of its own");
    assert!(blockers.power[0].message.contains("n1 has 50 pods"), "{blockers:?}");
    // What has begun goes on, or its release would be in doubt.
    fixture.history.charge_pods("p", "n0", 2, at(990));
    assert_eq!(fixture.all_blockers(), GuardBlockers::default());
}

#[test]
fn a_larger_node_has_no_turn_before_its_own() {
    let mut fixture = Fixture::new();
    fixture.policy.pods = Rate { count: 10, window: Duration::from_secs(60) };
    waiting(&mut fixture, &[("n0", 2), ("n1", 50)]);
    assert_eq!(fixture.all_blockers(), GuardBlockers::default(), "it was opened later");
    waiting(&mut fixture, &[("n1", 10), ("n0", 2)]);
    assert_eq!(fixture.all_blockers(), GuardBlockers::default(), "it is not larger than the rate");
    waiting(&mut fixture, &[("n1", 50), ("n0", 2)]);
    fixture.snapshot.fences.get_mut("n1").unwrap().status.blocked_by.push(Blocker::new("RemediationSkipped", ""));
    assert_eq!(fixture.all_blockers(), GuardBlockers::default(), "it waits for more than pods");
    fixture.snapshot.fences.get_mut("n1").unwrap().status.blocked_by.pop();
    fixture.snapshot.fences.get_mut("n1").unwrap().spec.policy = "q".into();
    assert_eq!(fixture.all_blockers(), GuardBlockers::default(), "each policy has a rate of its own");
}

/// What blocked it when a person skipped it stays in its record: nothing is written there.
#[test]
fn a_larger_node_that_a_person_skips_has_no_turn() {
    let skips: [fn(&mut Fixture); 2] = [
        |fixture| {
            let node = fixture.snapshot.nodes.get_mut("n1").unwrap();
            node.annotations.insert(crate::api::SKIP_REMEDIATION.into(), "eva".into());
        },
        |fixture| {
            let fence = fixture.snapshot.fences.get_mut("n1").unwrap();
            fence.metadata.annotations.insert(crate::api::SKIP_REMEDIATION.into(), "eva".into());
        },
    ];
    for skip in skips {
        let mut fixture = Fixture::new();
        fixture.policy.pods = Rate { count: 10, window: Duration::from_secs(60) };
        waiting(&mut fixture, &[("n1", 50), ("n0", 2)]);
        assert_eq!(reasons(&fixture.all_blockers().power), ["PodRate"]);
        skip(&mut fixture);
        assert_eq!(fixture.all_blockers(), GuardBlockers::default());
    }
}

#[test]
fn several_nodes_with_more_pods_than_the_rate_go_one_after_another() {
    let mut fixture = Fixture::new();
    fixture.policy.pods = Rate { count: 10, window: Duration::from_secs(60) };
    waiting(&mut fixture, &[("n1", 50), ("n2", 50), ("n0", 50)]);
    assert_eq!(reasons(&fixture.all_blockers().power), ["PodRate"], "n1 is first");
    for gone in ["n1", "n2"] {
        fixture.snapshot.fences.remove(gone);
        fixture.history.charge_pods("p", gone, 50, at(950));
        assert_eq!(reasons(&fixture.all_blockers().power), ["PodRate"], "{gone} went less than a minute ago");
        fixture.history.charge_pods("p", gone, 50, at(940));
        let is_last = gone == "n2";
        assert_eq!(fixture.all_blockers().power.is_empty(), is_last, "{gone} went a minute ago");
    }
}
