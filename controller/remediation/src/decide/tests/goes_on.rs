//! How a record that is open goes on.

use super::*;
use crate::api::policy::{DrainStep, ReapStep};

#[test]
fn a_record_goes_on_by_its_policy_and_no_other() {
    let mut snapshot = snapshot_of(1, vec![policy("p", vec![cordon(), power_cycle()])]);
    let first = run(&snapshot, Memory::default(), 1000);
    store(&mut snapshot, &first, 1000);
    let go_on = |snapshot: &Snapshot| run(snapshot, first.memory.clone(), 1010);
    assert!(matches!(
        &go_on(&snapshot).actions[..],
        [Action::Perform { op: Op::Reversible(ReversibleOp::Cordon), .. }]
    ));
    snapshot.fences.get_mut("n0").unwrap().status.policy_step = 1;
    assert!(matches!(&go_on(&snapshot).actions[..], [Action::Save { .. }]));

    let mut broken = snapshot.clone();
    broken.policies.clear();
    broken.unreadable_policies.insert("p".into(), "line 3".into());
    let blocked = go_on(&broken);
    assert_eq!((blocked.actions.len(), reasons(&blocked, "n0")), (0, vec!["PolicyUnreadable"]));
    broken.unreadable_policies.clear();
    assert_eq!(reasons(&go_on(&broken), "n0"), ["PolicyUnreadable"], "a policy that is gone cannot be asked either");

    let mut by_hand = broken;
    by_hand.fences.get_mut("n0").unwrap().spec.policy = String::new();
    assert_eq!(go_on(&by_hand).actions.len(), 1, "a person's record needs none");
}

#[test]
fn nothing_is_given_out_for_a_busy_or_skipped_node() {
    let mut snapshot = snapshot_of(1, vec![policy("p", vec![cordon()])]);
    let first = run(&snapshot, Memory::default(), 1000);
    store(&mut snapshot, &first, 1000);
    let mut busy = snapshot.clone();
    busy.busy.insert("n0".into());
    let decision = run(&busy, first.memory.clone(), 1001);
    assert_eq!((decision.actions.len(), reasons(&decision, "n0")), (0, vec!["Busy"]));
    busy.fences.clear();
    assert_eq!(run(&busy, first.memory.clone(), 1001).actions, [], "its record is being made");
    snapshot.nodes.get_mut("n0").unwrap().annotations.insert(crate::api::SKIP_REMEDIATION.into(), "mine".into());
    let decision = run(&snapshot, first.memory, 1001);
    assert_eq!((decision.actions.len(), reasons(&decision, "n0")), (0, vec!["RemediationSkipped"]));
}

#[test]
fn what_is_needed_of_a_node_is_asked_for() {
    let mut snapshot = snapshot_of(1, vec![policy("p", vec![cordon(), power_cycle()])]);
    let first = run(&snapshot, Memory::default(), 1000);
    assert!(first.gather.is_empty(), "nothing before a record is open");
    store(&mut snapshot, &first, 1000);
    let request = run(&snapshot, first.memory.clone(), 1001).gather["n0"];
    assert_eq!(
        request,
        GatherRequest {
            pods: true,
            attachments: None,
            methods: true,
            power: Some(Duration::from_secs(2)),
            reach: false
        }
    );
    // Volumes are looked at once pods were released, and often when the taint waits for them.
    let attachments = |snapshot: &Snapshot| run(snapshot, first.memory.clone(), 1001).gather["n0"].attachments;
    let status = |snapshot: &mut Snapshot, out_of_service, phase| {
        let status = &mut snapshot.fences.get_mut("n0").unwrap().status;
        (status.out_of_service, status.phase) = (out_of_service, phase);
    };
    status(&mut snapshot, true, Phase::PodsReleased);
    assert_eq!(attachments(&snapshot), Some(Duration::from_secs(30)));
    status(&mut snapshot, true, Phase::Recovering);
    assert_eq!(attachments(&snapshot), Some(Duration::from_secs(2)));
    status(&mut snapshot, false, Phase::Isolating);
    snapshot.fences.get_mut("n0").unwrap().spec.steps.pop();
    assert_eq!(run(&snapshot, first.memory, 1001).gather["n0"], GatherRequest::default(), "a cordon needs nothing");
}

#[test]
fn what_moves_pods_needs_a_list_of_them_and_power_is_asked_for_often_once_it_is_waited_for() {
    let drain = || StepSpec { drain: Some(DrainStep::default()), ..StepSpec::default() };
    let reap = || StepSpec { reap: Some(ReapStep::default()), ..StepSpec::default() };
    for (steps, moves_pods) in [(vec![cordon()], false), (vec![drain()], true), (vec![cordon(), reap()], true)] {
        let mut snapshot = snapshot_of(1, vec![policy("p", steps.clone())]);
        let first = run(&snapshot, Memory::default(), 1000);
        store(&mut snapshot, &first, 1000);
        let request = run(&snapshot, first.memory, 1001).gather["n0"];
        assert_eq!((request.pods, request.methods, request.power), (moves_pods, moves_pods, None), "{steps:?}");
    }
    for (is_ready, phase, seconds) in [
        (true, Phase::Isolating, 30),
        (true, Phase::Waiting, 30),
        (true, Phase::AwaitGuards, 2),
        (true, Phase::PoweringOff, 2),
        (false, Phase::Isolating, 2),
    ] {
        let mut snapshot = snapshot_of(1, vec![policy("p", vec![cordon(), power_cycle()])]);
        let first = run(&snapshot, Memory::default(), 1000);
        store(&mut snapshot, &first, 1000);
        if is_ready {
            snapshot.nodes.insert("n0".into(), node("n0"));
        }
        snapshot.fences.get_mut("n0").unwrap().status.phase = phase;
        let request = run(&snapshot, first.memory, 1001).gather["n0"];
        assert_eq!(request.power, Some(Duration::from_secs(seconds)), "{is_ready} {phase:?}");
    }
}

#[test]
fn a_phase_is_entered_when_it_is_first_seen() {
    fn wait(input: &FenceInput<'_>) -> Next {
        Next::Wait { until: Some(input.entered.plus(Duration::from_secs(60))), blockers: Vec::new() }
    }
    let mut snapshot = snapshot_of(1, vec![policy("p", vec![cordon()])]);
    let first = run(&snapshot, Memory::default(), 1000);
    store(&mut snapshot, &first, 1000);
    let wake = |snapshot: &Snapshot, memory: Memory, second| decide_by(wait, snapshot, memory, now(second));
    let second = wake(&snapshot, first.memory, 1010);
    assert_eq!(second.requeue_at, Some(at(1070)));
    let third = wake(&snapshot, second.memory, 1020);
    assert_eq!(third.requeue_at, Some(at(1070)), "it goes on counting");
    snapshot.fences.get_mut("n0").unwrap().status.phase = Phase::Waiting;
    let fourth = wake(&snapshot, third.memory, 1030);
    assert_eq!(fourth.requeue_at, Some(at(1090)));
    snapshot.fences.get_mut("n0").unwrap().status.drain_begun_at = Some(wall(1039));
    assert_eq!(wake(&snapshot, fourth.memory, 1040).requeue_at, Some(at(1100)), "a drain's time counts from its begin");
}
