//! A replica knows whether its own host needs remediation, and does not change its mind at every turn.

use super::*;
use crate::{
    api::{
        SKIP_REMEDIATION,
        fence::{NodeFenceSpec, NodeFenceStatus},
        policy::ControlPlane,
    },
    facts::CONTROL_PLANE,
};

/// The controller runs on `n0`, which a policy is true of.
fn own_host_is_dead() -> Snapshot {
    let mut snapshot = snapshot_of(1, vec![policy("p", vec![cordon()])]);
    snapshot.host.node = Some("n0".into());
    snapshot
}

fn after(snapshot: &Snapshot, seconds: std::ops::RangeInclusive<u64>) -> bool {
    let mut own_host = OwnHost::default();
    seconds.map(|second| own_host.observe(snapshot, now(second))).last().unwrap()
}

#[test]
fn a_host_that_a_policy_is_true_of_is_in_need_after_three_seconds() {
    let snapshot = own_host_is_dead();
    assert!(!after(&snapshot, 1000..=1002));
    assert!(after(&snapshot, 1000..=1003));
}

#[test]
fn a_host_that_no_replica_would_act_on_is_not_in_need() {
    type Change = fn(&mut Snapshot);
    let cases: [(&str, Change); 9] = [
        ("another host", |snapshot| snapshot.host.node = Some("n1".into())),
        ("not known", |snapshot| snapshot.host.node = None),
        ("observed only", |snapshot| snapshot.policies[0].mode = Mode::Observe),
        ("skipped", |snapshot| {
            snapshot.nodes.get_mut("n0").unwrap().annotations.insert(SKIP_REMEDIATION.into(), "yes".into());
        }),
        ("control plane", |snapshot| {
            snapshot.nodes.get_mut("n0").unwrap().labels.insert(CONTROL_PLANE[0].into(), String::new());
        }),
        ("not selected", |snapshot| {
            snapshot.policies[0].selector.match_labels.insert("a".into(), "b".into());
        }),
        ("by an error", |snapshot| snapshot.policies[0].when = Predicate::Other(std::sync::Arc::new(Fails))),
        ("not synced", |snapshot| snapshot.host.synced = false),
        ("its kubelet may be late", |snapshot| {
            snapshot.host.absence = Some(Absence { since: at(1050), until: at(1071) });
        }),
    ];
    for (case, change) in cases {
        let mut snapshot = own_host_is_dead();
        change(&mut snapshot);
        assert!(!after(&snapshot, 1000..=1100), "{case}");
    }
    let mut plane = own_host_is_dead();
    plane.nodes.get_mut("n0").unwrap().labels.insert(CONTROL_PLANE[0].into(), String::new());
    plane.policies[0].control_plane = ControlPlane::OneAtATime;
    assert!(after(&plane, 1000..=1003), "a policy that remediates control planes");
}

#[test]
fn a_record_under_way_is_need_whatever_policies_say_and_one_that_was_given_up_is_none() {
    let mut snapshot = snapshot_of(0, Vec::new());
    snapshot.host.node = Some("n0".into());
    let spec = NodeFenceSpec { node_name: "n0".into(), node_uid: "uid-n0".into(), ..NodeFenceSpec::default() };
    let status = NodeFenceStatus { phase: Phase::Draining, ..NodeFenceStatus::default() };
    snapshot.fences.insert("n0".into(), NodeFence { metadata: Default::default(), spec, status });
    assert!(after(&snapshot, 1000..=1003));
    snapshot.fences.get_mut("n0").unwrap().status.phase = Phase::Quarantined;
    assert!(!after(&snapshot, 1000..=1003));
}

/// Neither is evidence from a kubelet.
#[test]
fn a_late_kubelet_delays_neither_a_record_nor_a_network_that_is_not_reached() {
    let absence = Some(Absence { since: at(950), until: at(999) });
    let mut isolated = snapshot_of(0, Vec::new());
    isolated.host.node = Some("n0".into());
    isolated.host.absence = absence;
    isolated.host.unreachable = vec!["10.0.0.1".into()];
    assert!(after(&isolated, 1000..=1003));
    let mut recorded = own_host_is_dead();
    recorded.host.absence = absence;
    assert!(!after(&recorded, 1000..=1003), "it may be late");
    let spec = NodeFenceSpec { node_name: "n0".into(), node_uid: "uid-n0".into(), ..NodeFenceSpec::default() };
    let fence = NodeFence { metadata: Default::default(), spec, status: NodeFenceStatus::default() };
    recorded.fences.insert("n0".into(), fence);
    assert!(after(&recorded, 1000..=1003));
}

#[test]
fn a_host_that_cannot_reach_its_own_network_is_in_need() {
    let mut snapshot = snapshot_of(0, Vec::new());
    snapshot.host.unreachable = vec!["10.0.0.1:22".into()];
    assert!(after(&snapshot, 1000..=1003));
}

#[test]
fn a_host_that_flaps_stays_in_need_until_it_was_well_for_a_minute() {
    let (ill, mut well) = (own_host_is_dead(), own_host_is_dead());
    well.nodes.insert("n0".into(), node("n0"));
    let mut own_host = OwnHost::default();
    let mut changes = 0;
    let mut before = false;
    for second in 1000..2000 {
        // Well for 50 s, ill for 10.
        let is = own_host.observe(if second % 60 < 10 { &ill } else { &well }, now(second));
        changes += u32::from(is != before);
        before = is;
    }
    assert_eq!((changes, before), (1, true));
    // Well since 1990.
    assert!((2000..2050).all(|second| own_host.observe(&well, now(second))));
    assert!(!own_host.observe(&well, now(2050)));
    // A moment of illness is no need.
    assert!((2051..3000).all(|second| !own_host.observe(if second % 10 < 2 { &ill } else { &well }, now(second))));
}
