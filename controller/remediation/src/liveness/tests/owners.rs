//! Which writer owns a condition, and what follows where that is not known.

use super::*;

/// A client that may write a Node's metadata may empty the list of owners; that is no way to have old reports stand for
/// ever.
#[test]
fn conditions_whose_owners_were_emptied_are_spoken_for() {
    let mut snapshot = cluster(1, 1000);
    let beating = |kind: &str| condition(kind, ConditionStatus::False, SPOKE);
    let kinds = ["Ready", "DiskUnhealthy", "KernelDeadlock", "Shared"];
    snapshot.nodes.get_mut("n1").unwrap().conditions = kinds.map(beating).into();
    let quiet = SilenceMemory::default().observe(&snapshot, at(0)).observe(&snapshot, at(901));
    let early = SilenceMemory::default().observe(&snapshot, at(1));
    let judged = |evidence: &Evidence, memory: &SilenceMemory| {
        judge(&silence(), evidence, memory, &SilenceTimeouts::default(), at(901))
    };
    for emptied in [Value::Null, json!([]), json!([owned("before-first-apply", "Update", &["DiskUnhealthy"])])] {
        let mut evidence = evidence(reported());
        evidence.status.managed_fields = emptied;
        let LivenessAction::MarkUnknown(set) = judged(&evidence, &quiet) else { panic!("{evidence:?}") };
        let kinds: Vec<&str> = set.iter().map(|condition| condition["type"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["DiskUnhealthy", "KernelDeadlock"], "neither the kubelet's nor what no agent writes");
        assert!(set.iter().all(|condition| condition["status"] == "Unknown" && condition["reason"] == AGENT_SILENT));
        assert!(evidence.status.has_ownerless_conditions());
        // Who is heard of writes them, whatever its name was.
        let mut moved = snapshot.clone();
        moved.nodes.get_mut("n1").unwrap().conditions[2] =
            condition("KernelDeadlock", ConditionStatus::False, "2026-01-01T00:01:00Z");
        let beats = SilenceMemory::default().observe(&snapshot, at(0)).observe(&moved, at(300));
        let LivenessAction::MarkUnknown(set) = judged(&evidence, &beats) else { panic!("{evidence:?}") };
        assert_eq!(set.len(), 1, "{set:?}");
        for memory in [&SilenceMemory::default(), &early] {
            let expected = LivenessAction::Leave(LeaveReason::NoConditionOfAgent);
            assert_eq!(judged(&evidence, memory), expected, "not before it was seen for fifteen minutes");
        }
    }
    assert!(!evidence(reported()).status.has_ownerless_conditions());
}

#[test]
fn who_does_not_know_the_owners_writes_nothing() {
    let mut blind = evidence(reported());
    blind.status.managed_fields = json!({});
    assert_eq!(judged(&blind, 300), LivenessAction::Leave(LeaveReason::Owners(ConditionOwnersError::Missing)));
    let mut foreign = evidence(reported());
    foreign.status.managed_fields =
        json!([owned("node-problem-detector", "Update", &["DiskUnhealthy", "KernelDeadlock"])]);
    assert_eq!(judged(&foreign, 300), LivenessAction::Leave(LeaveReason::NoConditionOfAgent));
    let mut greedy = evidence(reported());
    let npd = owned("node-problem-detector", "Update", &["DiskUnhealthy", "KernelDeadlock"]);
    greedy.status.managed_fields = json!([owned(AGENT_FIELD_MANAGER, "Apply", &["Ready", "MemoryPressure"]), npd]);
    assert_eq!(
        judged(&greedy, 300),
        LivenessAction::Leave(LeaveReason::NoConditionOfAgent),
        "Ready is the kubelet's, whatever client applied it"
    );
}
