//! What is written of a silent agent: its own conditions become Unknown, and nothing else changes.

use super::*;

#[test]
fn its_own_conditions_become_unknown_and_others_stay() {
    let LivenessAction::MarkUnknown(set) = judged(&evidence(reported()), 300) else { panic!() };
    let kinds: Vec<&str> = set.iter().map(|one| one["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["DiskUnhealthy", "KernelDeadlock", "Shared"], "the full set, and Ready is not in it");
    assert_eq!(set[0]["status"], "Unknown");
    assert_eq!(set[0]["reason"], AGENT_SILENT);
    let message =
        "no report from this node's agent since 2026-01-01T00:00:00Z; before that True: MediumError: sda: bad";
    assert_eq!(set[0]["message"], message);
    assert_eq!(set[0]["lastTransitionTime"], "2026-01-01T00:05:00Z");
    assert_eq!(set[0]["lastHeartbeatTime"], SPOKE, "its last word stays its last word");
    assert_eq!(set[1]["lastTransitionTime"], SPOKE, "it was Unknown before");
    assert_eq!(set[2], raw("Shared", "False", "Fine", SPOKE), "another client writes it too");
}

#[test]
fn the_apply_names_the_node_that_was_read() {
    let evidence = evidence(reported());
    let LivenessAction::MarkUnknown(set) = judged(&evidence, 300) else { panic!() };
    let body = apply_body("n1", &evidence.status, &set);
    assert_eq!(body["metadata"], json!({ "name": "n1", "uid": "uid-n1", "resourceVersion": "9" }));
    assert_eq!(body["status"]["conditions"].as_array().unwrap().len(), 3);
    assert_eq!(body["status"].as_object().unwrap().len(), 1);
}

#[test]
fn a_long_message_is_cut_on_a_character() {
    let mut conditions = reported();
    conditions[1].insert("message".into(), "ü".repeat(400).into());
    let LivenessAction::MarkUnknown(set) = judged(&evidence(conditions), 300) else { panic!() };
    let message = set[0]["message"].as_str().unwrap();
    assert!(message.len() <= 256 && message.ends_with("ü…"));
}

#[test]
fn an_agent_that_is_back_is_left_alone() {
    let mut renewed = evidence(reported());
    renewed.lease = Some(Some("2026-01-01T00:04:59Z".parse().unwrap()));
    assert_eq!(judged(&renewed, 300), LivenessAction::Leave(LeaveReason::AgentReported));
    let mut gone = evidence(reported());
    gone.lease = None;
    assert_eq!(judged(&gone, 300), LivenessAction::Leave(LeaveReason::AgentReported));
    let mut another = evidence(reported());
    another.status.uid = "other".into();
    assert_eq!(judged(&another, 300), LivenessAction::Leave(LeaveReason::AnotherNode));
}

#[test]
fn what_was_reported_is_not_reported_again() {
    assert_eq!(
        judged(&evidence(unknown_at("2026-01-01T00:05:00Z")), 400),
        LivenessAction::Leave(LeaveReason::AlreadyUnknown)
    );
}

#[test]
fn a_condition_is_reported_unknown_by_its_reason_and_its_status() {
    for (name, value) in [("status", "True"), ("status", "False"), ("reason", "MonitorStale")] {
        let mut set = unknown_at("2026-01-01T00:05:00Z");
        set[2].insert(name.into(), value.into());
        assert!(matches!(judged(&evidence(set), 400), LivenessAction::MarkUnknown(_)), "{name} {value}");
    }
}

/// Those that another client wrote into the condition would be a conflict.
#[test]
fn of_a_shared_condition_only_the_agents_own_fields_are_applied() {
    let mut evidence = evidence(reported());
    let shared = "k:{\"type\":\"Shared\"}";
    evidence.status.managed_fields[1]["fieldsV1"]["f:status"]["f:conditions"][shared] =
        json!({ "f:status": {}, "f:reason": {} });
    let LivenessAction::MarkUnknown(set) = judged(&evidence, 300) else { panic!() };
    assert_eq!(json!(set[2]), json!({ "type": "Shared", "status": "False", "reason": "Fine" }));
}

/// Without a Lease, by the heartbeat that this controller saw last.
#[test]
fn heartbeats_are_given_fifteen_minutes_from_when_they_were_seen() {
    let mut snapshot = cluster(1, 0);
    let kinds = ["DiskUnhealthy", "KernelDeadlock", "Shared"];
    snapshot.nodes.get_mut("n1").unwrap().conditions =
        kinds.map(|kind| condition(kind, ConditionStatus::False, SPOKE)).into();
    let memory = SilenceMemory::default().observe(&snapshot, at(100));
    let evidence = Evidence { lease: None, ..evidence(reported()) };
    let silence = SilentAgent { sign: SilenceSign::Heartbeats, ..silence() };
    let judge_at = |now| judge(&silence, &evidence, &memory, &SilenceTimeouts::default(), at(now));
    assert_eq!(judge_at(1000), LivenessAction::Leave(LeaveReason::AgentReported));
    assert!(matches!(judge_at(1001), LivenessAction::MarkUnknown(_)));
}

/// Node Problem Detector lives; its heartbeat of a condition that both write is no sign of the agent.
#[test]
fn what_another_client_beats_is_no_report_of_the_agent() {
    const LATER: &str = "2026-01-01T00:15:00Z";
    let mut snapshot = cluster(1, 0);
    let kinds = ["DiskUnhealthy", "KernelDeadlock", "Shared"];
    snapshot.nodes.get_mut("n1").unwrap().conditions =
        kinds.map(|kind| condition(kind, ConditionStatus::False, SPOKE)).into();
    let memory = SilenceMemory::default().observe(&snapshot, at(0));
    snapshot.nodes.get_mut("n1").unwrap().conditions[2].heartbeat = Some(LATER.parse().unwrap());
    let memory = memory.observe(&snapshot, at(900));
    let mut conditions = reported();
    conditions[3].insert("lastHeartbeatTime".into(), LATER.into());
    let evidence = Evidence { lease: None, ..evidence(conditions) };
    let silence = SilentAgent { sign: SilenceSign::Heartbeats, ..silence() };
    let judge = |evidence: &Evidence| judge(&silence, evidence, &memory, &SilenceTimeouts::default(), at(901));
    assert!(matches!(judge(&evidence), LivenessAction::MarkUnknown(_)));
    let mut all = evidence;
    all.status.managed_fields[2] = owned("node-problem-detector", "Update", &kinds);
    assert_eq!(judge(&all), LivenessAction::Leave(LeaveReason::AgentReported), "none of them shows whether it lives");
}
