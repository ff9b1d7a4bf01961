//! The conditions of an agent that was removed are collected.

use super::*;

#[test]
fn conditions_of_removed_agents_are_collected_but_for_what_others_say() {
    const DAY: u64 = 86_400;
    let marked = evidence(unknown_at("2026-01-01T00:00:00Z"));
    assert_eq!(
        judged(&marked, 7 * DAY - 1),
        LivenessAction::Leave(LeaveReason::AlreadyUnknown),
        "its Lease says that it will be back"
    );
    let collect = LivenessAction::Collect(vec![raw("Shared", "False", "Fine", SPOKE)]);
    assert_eq!(judged(&marked, 7 * DAY), collect);

    let unleased = Evidence { lease: None, ..marked };
    let silence = SilentAgent { sign: SilenceSign::Heartbeats, ..silence() };
    let mut snapshot = cluster(1, 0);
    snapshot.agent_leases.clear();
    let mut seen = node("n1");
    seen.conditions =
        ["DiskUnhealthy", "KernelDeadlock", "Shared"].map(|kind| condition(kind, ConditionStatus::False, SPOKE)).into();
    snapshot.nodes.insert("n1".into(), seen);
    let memory = SilenceMemory::default().observe(&snapshot, at(0));
    let judge_at = |now| judge(&silence, &unleased, &memory, &SilenceTimeouts::default(), at(now));
    assert_eq!(judge_at(DAY - 1), LivenessAction::Leave(LeaveReason::AlreadyUnknown));
    assert_eq!(judge_at(DAY), collect);
}

#[test]
fn a_lease_that_was_deleted_means_that_the_agent_left() {
    let mut snapshot = cluster(1, 0);
    snapshot.nodes.get_mut("n1").unwrap().conditions =
        ["DiskUnhealthy", "KernelDeadlock", "Shared"].map(|kind| condition(kind, ConditionStatus::False, SPOKE)).into();
    let memory = SilenceMemory::default().observe(&snapshot, at(0));
    snapshot.agent_leases.clear();
    let memory = memory.observe(&snapshot, at(1000));
    let evidence = Evidence { lease: None, ..evidence(unknown_at("2026-01-01T00:15:00Z")) };
    let silence = SilentAgent { sign: SilenceSign::Heartbeats, ..silence() };
    let judge_at = |now| judge(&silence, &evidence, &memory, &SilenceTimeouts::default(), at(now));
    assert_eq!(judge_at(1599), LivenessAction::Leave(LeaveReason::AlreadyUnknown));
    assert!(matches!(judge_at(1600), LivenessAction::Collect(_)));
}
