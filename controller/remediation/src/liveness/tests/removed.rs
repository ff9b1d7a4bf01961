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

#[test]
fn conditions_count_as_reported_unknown_from_the_last_of_the_agents_own() {
    const DAY: u64 = 86_400;
    let marked = evidence(unknown_at("2026-01-01T00:05:00Z"));
    assert_eq!(judged(&marked, 7 * DAY + 299), LivenessAction::Leave(LeaveReason::AlreadyUnknown));
    assert!(matches!(judged(&marked, 7 * DAY + 300), LivenessAction::Collect(_)));
}

#[test]
fn there_is_something_to_collect_if_a_condition_is_the_agents_alone() {
    let judged = |manager: &[&str]| {
        let mut snapshot = cluster(1, 0);
        let kinds = ["DiskUnhealthy", "KernelDeadlock", "Shared"];
        snapshot.nodes.get_mut("n1").unwrap().conditions =
            kinds.map(|kind| condition(kind, ConditionStatus::False, SPOKE)).into();
        let memory = SilenceMemory::default().observe(&snapshot, at(0));
        snapshot.agent_leases.clear();
        let memory = memory.observe(&snapshot, at(1000));
        let mut evidence = Evidence { lease: None, ..evidence(unknown_at("2026-01-01T00:15:00Z")) };
        evidence.status.managed_fields[2] = owned("node-problem-detector", "Update", manager);
        let silence = SilentAgent { sign: SilenceSign::Heartbeats, ..silence() };
        judge(&silence, &evidence, &memory, &SilenceTimeouts::default(), at(1600))
    };
    let LivenessAction::Collect(left) = judged(&["DiskUnhealthy", "Shared"]) else { panic!() };
    assert_eq!(left.len(), 2, "{left:?}");
    let all = ["DiskUnhealthy", "KernelDeadlock", "Shared"];
    assert_eq!(judged(&all), LivenessAction::Leave(LeaveReason::AlreadyUnknown));
}
