//! A predicate has to hold for the whole grace period of its policy.

use super::*;
use crate::api::policy::RemediationPolicy;

#[test]
fn evidence_has_to_hold_without_a_break() {
    let mut snapshot =
        snapshot_of(1, vec![Policy { held_for: Duration::from_secs(60), ..policy("p", vec![cordon()]) }]);
    let first = run(&snapshot, Memory::default(), 1000);
    assert_eq!(reasons(&first, "n0"), ["WithinGracePeriod"]);
    assert_eq!(first.requeue_at, Some(at(1001)));
    let later = run(&snapshot, first.memory.clone(), 1059);
    assert_eq!(reasons(&later, "n0"), ["WithinGracePeriod"]);
    assert_eq!(opened(&run(&snapshot, later.memory.clone(), 1060)), ["n0"]);

    let dead = snapshot.nodes["n0"].clone();
    let mut back = node("n0");
    back.resource_version = "5".into();
    snapshot.nodes.insert("n0".into(), back);
    let well = run(&snapshot, later.memory, 1059);
    snapshot.nodes.insert("n0".into(), dead);
    assert_eq!(reasons(&run(&snapshot, well.memory, 1060), "n0"), ["WithinGracePeriod"], "the break counts");
}

#[test]
fn another_predicate_or_another_node_begins_again() {
    let mut snapshot =
        snapshot_of(1, vec![Policy { held_for: Duration::from_secs(60), ..policy("p", vec![cordon()]) }]);
    let first = run(&snapshot, Memory::default(), 1000);
    let mut edited = snapshot.clone();
    edited.policies[0].when = Predicate::Cel(cel::Expression::compile("!(node.ready)").unwrap());
    assert_eq!(reasons(&run(&edited, first.memory.clone(), 1060), "n0"), ["WithinGracePeriod"]);
    snapshot.nodes.get_mut("n0").unwrap().uid = "another".into();
    assert_eq!(reasons(&run(&snapshot, first.memory, 1060), "n0"), ["WithinGracePeriod"]);
}

#[test]
fn the_shipped_policy_for_dead_nodes_waits_for_the_lease_only() {
    let text = include_str!("../../../../../docs/examples/policies/dead-nodes.yaml");
    let mut shipped: RemediationPolicy = serde_saphyr::from_str(text).unwrap();
    shipped.spec.mode = Mode::Enforce;
    let mut snapshot = snapshot_of(0, vec![Policy::compile(&shipped).unwrap()]);
    snapshot.nodes = (0..100).map(|number| format!("n{number:03}")).map(|name| (name.clone(), node(&name))).collect();
    let lease = |second| crate::facts::LeaseView {
        resource_version: String::new(),
        holder: String::new(),
        renewed: None,
        duration: Duration::from_secs(40),
        change_seen_at: at(second),
    };
    snapshot.kubelet_leases = snapshot.nodes.keys().map(|name| (name.clone(), lease(1000))).collect();
    snapshot.kubelet_leases.insert("n007".into(), lease(990));
    let first = run(&snapshot, Memory::default(), 1005);
    assert_eq!(first.actions, []);
    assert_eq!(opened(&run(&snapshot, first.memory, 1006)), ["n007"]);
}
