//! What holds for all owners and conditions.

use proptest::prelude::*;

use super::*;

/// Any JSON, some of it close to managedFields.
fn any_json() -> impl Strategy<Value = Value> {
    let key = prop_oneof![
        Just("f:status".to_owned()),
        Just("f:conditions".to_owned()),
        Just("fieldsV1".to_owned()),
        Just("manager".to_owned()),
        Just("k:{\"type\":\"DiskUnhealthy\"}".to_owned()),
        ".{0,6}",
    ];
    let leaf = prop_oneof![Just(Value::Null), any::<bool>().prop_map(Value::from), ".{0,8}".prop_map(Value::from)];
    leaf.prop_recursive(5, 40, 4, move |inner| {
        let object = prop::collection::btree_map(key.clone(), inner.clone(), 0..4);
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::from),
            object.prop_map(|fields| fields.into_iter().collect::<serde_json::Map<_, _>>().into()),
        ]
    })
}

const KINDS: [&str; 6] = ["Ready", "MemoryPressure", "DiskUnhealthy", "KernelDeadlock", "GpuUnhealthy", "Shared"];

fn subset() -> impl Strategy<Value = Vec<&'static str>> {
    prop::sample::subsequence(KINDS.to_vec(), 0..=KINDS.len())
}

proptest! {
    #[test]
    fn owners_are_read_from_any_json_without_a_panic(json in any_json()) {
        let _ = ConditionOwners::read(&json, KINDS.into_iter());
    }

    #[test]
    fn what_is_written_is_exactly_the_agents_and_only_its_own_words_change(
        agents in subset(), others in subset(), present in subset(), status in "True|False|Unknown",
    ) {
        let conditions: Vec<RawCondition> = present.iter().map(|kind| raw(kind, &status, "R", SPOKE)).collect();
        let mut all = evidence(conditions.clone());
        all.status.managed_fields = json!([owned(AGENT_FIELD_MANAGER, "Apply", &agents), owned("another", "Update", &others)]);
        let LivenessAction::MarkUnknown(set) = judged(&all, 300) else { return Ok(()) };
        let kinds: Vec<&str> = set.iter().map(|one| one["type"].as_str().unwrap()).collect();
        let expected: Vec<&str> = present.iter().copied()
            .filter(|kind| agents.contains(kind) && !KUBELET_CONDITIONS.contains(kind)).collect();
        prop_assert_eq!(&kinds, &expected, "the full set");
        for one in &set {
            let before = conditions.iter().find(|before| before["type"] == one["type"]).unwrap();
            if others.contains(&one["type"].as_str().unwrap()) {
                prop_assert_eq!(one, before);
            } else {
                prop_assert_eq!(&one["status"], "Unknown");
                prop_assert_eq!(&one["lastHeartbeatTime"], &before["lastHeartbeatTime"]);
            }
        }
        // Reported once, it is not reported again.
        let mut after = all.clone();
        after.status.conditions = set;
        prop_assert_eq!(judged(&after, 400), LivenessAction::Leave(LeaveReason::AlreadyUnknown));
    }
}
