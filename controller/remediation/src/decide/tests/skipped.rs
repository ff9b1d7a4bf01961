//! A node that a person skips keeps the cordon of the controller: theirs beside it would leave no trace.

use super::*;
use crate::{
    api::{
        CORDONED_BY, SKIP_REMEDIATION,
        fence::{NodeFenceSpec, NodeFenceStatus, OwnChanges},
    },
    facts::LeaseView,
};

/// `n0` is well again, and its record is about to uncordon it.
fn recovering() -> Snapshot {
    let mut snapshot = snapshot_of(0, vec![policy("p", vec![cordon()])]);
    let node = snapshot.nodes.get_mut("n0").unwrap();
    node.unschedulable = true;
    node.annotations.insert(CORDONED_BY.into(), "p".into());
    let own_changes = OwnChanges { cordon: true, ..OwnChanges::default() };
    let status = NodeFenceStatus { phase: Phase::Recovering, own_changes, ..NodeFenceStatus::default() };
    let spec = NodeFenceSpec {
        node_name: "n0".into(),
        node_uid: "uid-n0".into(),
        policy: "p".into(),
        steps: vec![cordon()],
        ..NodeFenceSpec::default()
    };
    snapshot.fences.insert("n0".into(), NodeFence { metadata: Default::default(), spec, status });
    snapshot.kubelet_leases.insert("n0".into(), lease(1000));
    snapshot
}

fn lease(second: u64) -> LeaseView {
    LeaseView {
        resource_version: String::new(),
        holder: "n0".into(),
        renewed: None,
        duration: Duration::from_secs(40),
        change_seen_at: at(second),
    }
}

fn uncordons(snapshot: &Snapshot) -> bool {
    let first = decide(snapshot, Memory::default(), now(1000));
    let later = decide(snapshot, first.memory, now(1400));
    [first.actions, later.actions]
        .concat()
        .iter()
        .any(|action| matches!(action, Action::Perform { op: Op::Reversible(ReversibleOp::Uncordon), .. }))
}

#[test]
fn a_node_that_a_person_skips_stays_cordoned_until_they_skip_it_no_more() {
    let mut snapshot = recovering();
    assert!(uncordons(&snapshot));
    let annotations = |snapshot: &mut Snapshot| snapshot.nodes.get_mut("n0").unwrap().annotations.clone();
    let mut skipped = annotations(&mut snapshot);
    skipped.insert(SKIP_REMEDIATION.into(), "rack 4 is rewired".into());
    snapshot.nodes.get_mut("n0").unwrap().annotations = skipped;
    assert!(!uncordons(&snapshot));
    // Without its record the mark is not taken up either.
    let fence = snapshot.fences.remove("n0").unwrap();
    let first = decide(&snapshot, Memory::default(), now(1000));
    snapshot.kubelet_leases.insert("n0".into(), lease(1400));
    assert_eq!(opened(&decide(&snapshot, first.memory, now(1400))), [""; 0]);
    snapshot.fences.insert("n0".into(), fence);
    snapshot.nodes.get_mut("n0").unwrap().annotations.remove(SKIP_REMEDIATION);
    assert!(uncordons(&snapshot));
}
