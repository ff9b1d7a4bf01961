//! A record without a policy: a person's, or another remediator's.

use super::*;
use crate::{
    api::{
        fence::{Confirmation, NodeFenceStatus},
        policy::{DrainStep, TaintStep},
    },
    facts::LeaseView,
};

/// The record of `n0` as it is when its machine was turned on again, and the node is Ready by a new boot since 1000.
fn returned(phase: Phase) -> Snapshot {
    let mut snapshot = snapshot_of(0, Vec::new());
    let node = snapshot.nodes.get_mut("n0").unwrap();
    node.boot_id = "boot-new".into();
    set_condition(node, "Ready", ConditionStatus::True, "KubeletReady", at(1000));
    let steps = vec![StepSpec { taint: Some(TaintStep::default()), ..StepSpec::default() }, cordon(), power_cycle()];
    let mut fence = serde_json::from_value::<NodeFence>(serde_json::json!({
        "metadata": { "name": "n0", "uid": "fence-n0", "resourceVersion": "7" },
        "spec": { "nodeName": "n0", "nodeUID": "uid-n0", "steps": steps },
    }))
    .unwrap();
    fence.status.phase = phase;
    fence.status.policy_step = 2;
    fence.status.boot_id = "boot-n0".into();
    fence.status.cycles = vec![wall(900)];
    fence.status.released_at = Some(wall(950));
    fence.status.off = Some(Confirmation {
        at: wall(940),
        reads: 2,
        by: vec!["bmc".into()],
        boot_id: "boot-n0".into(),
        already_off: false,
        epoch: 1,
    });
    snapshot.fences.insert("n0".into(), fence);
    snapshot
}

fn renew(snapshot: &mut Snapshot, second: u64) {
    let lease = LeaseView {
        resource_version: String::new(),
        holder: "n0".into(),
        renewed: None,
        duration: Duration::from_secs(40),
        change_seen_at: at(second),
    };
    snapshot.kubelet_leases.insert("n0".into(), lease);
}

/// The phases that are written from 1000 on, a decision each 10 s, as the real state machine has them.
fn phases(snapshot: &mut Snapshot, until: u64) -> Vec<Phase> {
    let (mut memory, mut phases) = (Memory::default(), Vec::new());
    for second in (1000..until).step_by(10) {
        renew(snapshot, second);
        let decision = decide(snapshot, memory, now(second));
        memory = decision.memory;
        for action in decision.actions {
            match action {
                Action::Save { fence, .. } => {
                    if snapshot.fences["n0"].status.phase != fence.status.phase {
                        phases.push(fence.status.phase);
                    }
                    snapshot.fences.insert("n0".into(), *fence);
                }
                Action::Close { .. } => return phases,
                Action::Open(_) | Action::Perform { .. } => panic!("{action:?}"),
            }
        }
    }
    phases
}

#[test]
fn a_record_without_a_policy_ends_once_its_node_is_back() {
    let mut snapshot = returned(Phase::Recovering);
    assert_eq!(phases(&mut snapshot, 1400), [Phase::Closed]);
}

#[test]
fn it_is_not_begun_again_for_a_node_that_came_back_late() {
    let mut snapshot = returned(Phase::Waiting);
    snapshot.fences.get_mut("n0").unwrap().status.off = None;
    assert_eq!(phases(&mut snapshot, 1600), [Phase::Recovering, Phase::Closed]);
}

/// What ends it is a new boot: a node that is Ready with the old one was never off.
#[test]
fn a_node_that_is_ready_with_its_old_boot_is_still_wanted() {
    let mut snapshot = returned(Phase::AwaitGuards);
    snapshot.nodes.get_mut("n0").unwrap().boot_id = "boot-n0".into();
    let fence = snapshot.fences.get_mut("n0").unwrap();
    (fence.status.off, fence.status.released_at) = (None, None);
    fence.spec.steps[1] = StepSpec { drain: Some(DrainStep::default()), ..StepSpec::default() };
    assert_eq!(phases(&mut snapshot, 1600), [], "it waits for guards, and does not end");
    renew(&mut snapshot, 1600);
    assert!(reasons(&decide(&snapshot, Memory::default(), now(1600)), "n0").contains(&"NodeReady"));
}

fn shows_predicate(input: &FenceInput<'_>) -> Next {
    Next::Wait { until: None, blockers: vec![Blocker::new(&format!("{:?}", input.predicate), "")] }
}

#[test]
fn what_a_person_asked_for_is_over_when_the_machine_was_cut_off_and_is_ready_with_another_boot() {
    type Change = fn(&mut NodeFenceStatus, &mut Node);
    let cases: [(&str, Change, bool); 11] = [
        ("as it came back", |_, _| {}, true),
        ("its Off is all that is known", |status, _| (status.released_at, status.cycles) = (None, vec![]), true),
        ("its release is", |status, _| (status.off, status.cycles) = (None, vec![]), true),
        ("its cycles are", |status, _| (status.off, status.released_at) = (None, None), true),
        (
            "it was never cut off",
            |status, _| *status = NodeFenceStatus { boot_id: "boot-n0".into(), ..<_>::default() },
            false,
        ),
        ("it is not Ready", |_, node| kill(node), false),
        ("the boot that was cut off", |status, _| status.off.as_mut().unwrap().boot_id = "boot-new".into(), false),
        ("the boot of the record", |status, _| (status.off, status.boot_id) = (None, "boot-new".into()), false),
        ("the one of Off is not known", |status, _| status.off.as_mut().unwrap().boot_id.clear(), true),
        (
            "neither is known",
            |status, _| {
                status.off = None;
                status.boot_id.clear();
            },
            false,
        ),
        ("the Node names none", |_, node| node.boot_id.clear(), false),
    ];
    for (case, change, is_over) in cases {
        let mut snapshot = returned(Phase::Waiting);
        change(&mut snapshot.fences.get_mut("n0").unwrap().status, snapshot.nodes.get_mut("n0").unwrap());
        let decision = decide_by(shows_predicate, &snapshot, Memory::default(), now(1100));
        let expected = if is_over { "No { since: Moment(1000s) }" } else { "Yes" };
        assert_eq!(reasons(&decision, "n0"), [expected], "{case}");
    }
}
