//! When an agent counts as silent, and what exactly is then written in its name.

use jiff::SignedDuration;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::{
    api::fence::NodeFence,
    facts::{Condition, ConditionStatus},
    snapshot::HostView,
};

const SPOKE: &str = "2026-01-01T00:00:00Z";

fn secs(seconds: u64) -> Moment {
    Moment(Duration::from_secs(seconds))
}

fn at(seconds: u64) -> Now {
    let wall = SPOKE.parse::<Timestamp>().unwrap().checked_add(SignedDuration::from_secs(seconds as i64)).unwrap();
    Now { moment: secs(seconds), wall }
}

fn condition(kind: &str, status: ConditionStatus, heartbeat: &str) -> Condition {
    let heartbeat = Some(heartbeat.parse().unwrap());
    Condition { kind: kind.into(), status, reason: "R".into(), heartbeat, seen: secs(0), ..Condition::default() }
}

fn node(name: &str) -> Node {
    Node {
        name: name.into(),
        uid: format!("uid-{name}"),
        resource_version: "7".into(),
        created: SPOKE.parse().unwrap(),
        conditions: vec![
            condition("Ready", ConditionStatus::True, SPOKE),
            condition("DiskUnhealthy", ConditionStatus::False, SPOKE),
        ],
        boot_id: "boot-1".into(),
        ..Node::default()
    }
}

fn lease(seen: Moment, duration: u64) -> LeaseView {
    LeaseView {
        resource_version: String::new(),
        holder: "x".into(),
        renewed: Some(SPOKE.parse().unwrap()),
        duration: Duration::from_secs(duration),
        seen,
    }
}

/// `count` nodes whose kubelets are fresh at `now` and whose agents were heard of at the start.
fn cluster(count: usize, now: u64) -> Snapshot {
    let names: Vec<String> = (1..=count).map(|number| format!("n{number}")).collect();
    let of = |seen: Moment, duration| names.iter().map(move |name| (name.clone(), lease(seen, duration)));
    Snapshot {
        nodes: names.iter().map(|name| (name.clone(), node(name))).collect(),
        kubelet_leases: of(secs(now), 40).collect(),
        agent_leases: of(secs(0), 240).collect(),
        host: HostView { synced: true, ..HostView::default() },
        epoch: 3,
        ..Snapshot::default()
    }
}

fn renew(snapshot: &mut Snapshot, names: &[&str], now: u64) {
    for name in names {
        snapshot.agent_leases.get_mut(*name).unwrap().seen = secs(now);
    }
}

fn look(snapshot: &Snapshot, now: u64) -> Survey {
    let memory = SilenceMemory::default().observe(snapshot, at(0)).observe(snapshot, at(now));
    survey(snapshot, &memory, &SilenceTimeouts::default(), at(now))
}

fn names(survey: &Survey) -> Vec<&str> {
    survey.silent.iter().map(|silence| silence.node.as_str()).collect()
}

/// A condition of the API: type, status, reason, time of transition.
fn raw(kind: &str, status: &str, reason: &str, since: &str) -> RawCondition {
    let value = json!({ "type": kind, "status": status, "reason": reason, "message": "sda: bad",
        "lastTransitionTime": since, "lastHeartbeatTime": SPOKE });
    value.as_object().unwrap().clone()
}

fn owned(manager: &str, operation: &str, kinds: &[&str]) -> Value {
    let fields = json!({ "f:type": {}, "f:status": {}, "f:reason": {}, "f:message": {},
        "f:lastTransitionTime": {}, "f:lastHeartbeatTime": {} });
    let conditions: serde_json::Map<String, Value> =
        kinds.iter().map(|kind| (format!("k:{{\"type\":\"{kind}\"}}"), fields.clone())).collect();
    json!({ "manager": manager, "operation": operation, "subresource": "status",
        "fieldsV1": { "f:status": { "f:conditions": conditions } } })
}

fn evidence(conditions: Vec<RawCondition>) -> Evidence {
    let managed_fields = json!([
        owned("kubelet", "Update", &["Ready"]),
        owned(AGENT, "Apply", &["DiskUnhealthy", "KernelDeadlock", "Shared"]),
        owned("node-problem-detector", "Update", &["Shared"]),
    ]);
    let status = StatusView { uid: "uid-n1".into(), resource_version: "9".into(), managed_fields, conditions };
    Evidence { status, lease: Some(Some(SPOKE.parse().unwrap())) }
}

fn reported() -> Vec<RawCondition> {
    vec![
        raw("Ready", "True", "KubeletReady", SPOKE),
        raw("DiskUnhealthy", "True", "MediumError", SPOKE),
        raw("KernelDeadlock", "Unknown", "MonitorStale", SPOKE),
        raw("Shared", "False", "Fine", SPOKE),
    ]
}

fn silence() -> Silence {
    Silence {
        node: "n1".into(),
        uid: "uid-n1".into(),
        since: secs(0),
        sign: Sign::Lease { renewed: Some(SPOKE.parse().unwrap()) },
    }
}

fn judged(evidence: &Evidence, now: u64) -> LivenessAction {
    judge(&silence(), evidence, &SilenceMemory::default(), &SilenceTimeouts::default(), at(now))
}

#[test]
fn a_lease_that_ran_out_before_our_eyes_is_silence() {
    let mut snapshot = cluster(5, 241);
    renew(&mut snapshot, &["n2", "n3", "n4", "n5"], 200);
    assert_eq!(names(&look(&snapshot, 241)), ["n1"]);
    assert_eq!(names(&look(&snapshot, 240)), [""; 0], "not a moment earlier");
}

#[test]
fn without_a_lease_heartbeats_are_given_fifteen_minutes_of_our_own_clock() {
    let mut snapshot = cluster(5, 901);
    renew(&mut snapshot, &["n2", "n3", "n4", "n5"], 900);
    snapshot.agent_leases.remove("n1");
    assert_eq!(names(&look(&snapshot, 901)), ["n1"]);
    assert!(look(&snapshot, 900).silent.is_empty());
    // Its own clock may show whatever it likes: what moves is alive.
    let memory = SilenceMemory::default().observe(&snapshot, at(0));
    snapshot.nodes.get_mut("n1").unwrap().conditions[1].heartbeat = Some("2020-01-01T00:00:00Z".parse().unwrap());
    let memory = memory.observe(&snapshot, at(600));
    assert!(survey(&snapshot, &memory, &SilenceTimeouts::default(), at(901)).silent.is_empty());
}

#[test]
fn more_than_half_at_once_is_our_own_blindness() {
    let mut snapshot = cluster(5, 241);
    renew(&mut snapshot, &["n4", "n5"], 200);
    let survey = look(&snapshot, 241);
    assert!(survey.silent.is_empty());
    assert!(survey.blocked.unwrap().starts_with("3 of 5 agents went silent"));
    renew(&mut snapshot, &["n3"], 200);
    assert_eq!(names(&look(&snapshot, 241)), ["n1", "n2"], "two of five are no storm");
}

#[test]
fn the_only_agent_may_be_silent_while_its_kubelet_is_heard() {
    assert_eq!(names(&look(&cluster(1, 241), 241)), ["n1"]);
    let mut deaf = cluster(1, 241);
    deaf.kubelet_leases.clear();
    assert!(look(&deaf, 241).blocked.is_some());
}

#[test]
fn who_does_not_lead_or_does_not_see_does_nothing() {
    let spoils: [fn(&mut Snapshot); 3] =
        [|s| s.epoch = 0, |s| s.host.synced = false, |s| s.stopped = Some("rack 4".into())];
    for spoil in spoils {
        let mut snapshot = cluster(1, 241);
        spoil(&mut snapshot);
        let survey = look(&snapshot, 241);
        assert!(survey.silent.is_empty() && survey.blocked.is_some());
    }
}

#[test]
fn a_node_that_restarts_is_given_ten_minutes() {
    let mut snapshot = cluster(4, 300);
    renew(&mut snapshot, &["n2", "n3", "n4"], 300);
    snapshot.kubelet_leases.insert("n1".into(), lease(secs(0), 40));
    assert!(look(&snapshot, 300).silent.is_empty(), "the kubelet is silent too");
    renew(&mut snapshot, &["n2", "n3", "n4"], 600);
    assert_eq!(names(&look(&snapshot, 600)), ["n1"], "that is no reboot any more");

    let mut booted = cluster(4, 300);
    renew(&mut booted, &["n2", "n3", "n4"], 300);
    let memory = SilenceMemory::default().observe(&booted, at(0));
    booted.nodes.get_mut("n1").unwrap().boot_id = "boot-2".into();
    let memory = memory.observe(&booted, at(299));
    assert!(survey(&booted, &memory, &SilenceTimeouts::default(), at(300)).silent.is_empty(), "it has just started");
}

#[test]
fn a_node_that_we_power_on_is_left_alone() {
    let mut snapshot = cluster(4, 241);
    renew(&mut snapshot, &["n2", "n3", "n4"], 200);
    let mut fence: NodeFence = serde_json::from_value(json!({
        "metadata": { "name": "n1" },
        "spec": { "nodeName": "n1", "nodeUID": "uid-n1", "policy": "p" },
    }))
    .unwrap_or_else(|error| panic!("{error}"));
    fence.status.phase = Phase::AwaitReady;
    snapshot.fences.insert("n1".into(), fence);
    assert!(look(&snapshot, 241).silent.is_empty());
}

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
    assert_eq!(judged(&renewed, 300), LivenessAction::Leave(Leave::Back));
    let mut gone = evidence(reported());
    gone.lease = None;
    assert_eq!(judged(&gone, 300), LivenessAction::Leave(Leave::Back));
    let mut another = evidence(reported());
    another.status.uid = "other".into();
    assert_eq!(judged(&another, 300), LivenessAction::Leave(Leave::AnotherNode));
}

/// A client that may write a Node's metadata may empty the list of owners; that is no way to have old reports stand for
/// ever.
#[test]
fn conditions_whose_owners_were_emptied_are_spoken_for() {
    let mut snapshot = cluster(1, 1000);
    let beating = |kind: &str| condition(kind, ConditionStatus::False, SPOKE);
    let kinds = ["Ready", "DiskUnhealthy", "KernelDeadlock", "Shared"];
    snapshot.nodes.get_mut("n1").unwrap().conditions = kinds.map(beating).into();
    let quiet = SilenceMemory::default().observe(&snapshot, at(0)).observe(&snapshot, at(901));
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
        assert!(evidence.status.has_lost_owners());
        // Who is heard of writes them, whatever its name was.
        let mut moved = snapshot.clone();
        moved.nodes.get_mut("n1").unwrap().conditions[2] =
            condition("KernelDeadlock", ConditionStatus::False, "2026-01-01T00:01:00Z");
        let beats = SilenceMemory::default().observe(&snapshot, at(0)).observe(&moved, at(300));
        let LivenessAction::MarkUnknown(set) = judged(&evidence, &beats) else { panic!("{evidence:?}") };
        assert_eq!(set.len(), 1, "{set:?}");
        assert_eq!(
            judged(&evidence, &SilenceMemory::default()),
            LivenessAction::Leave(Leave::NothingOfOurs),
            "not before it was seen"
        );
    }
    assert!(!evidence(reported()).status.has_lost_owners());
}

#[test]
fn who_does_not_know_the_owners_writes_nothing() {
    let mut blind = evidence(reported());
    blind.status.managed_fields = json!({});
    assert_eq!(judged(&blind, 300), LivenessAction::Leave(Leave::Owners(OwnershipError::Missing)));
    let mut foreign = evidence(reported());
    foreign.status.managed_fields =
        json!([owned("node-problem-detector", "Update", &["DiskUnhealthy", "KernelDeadlock"])]);
    assert_eq!(judged(&foreign, 300), LivenessAction::Leave(Leave::NothingOfOurs));
    let mut greedy = evidence(reported());
    let npd = owned("node-problem-detector", "Update", &["DiskUnhealthy", "KernelDeadlock"]);
    greedy.status.managed_fields = json!([owned(AGENT, "Apply", &["Ready", "MemoryPressure"]), npd]);
    assert_eq!(
        judged(&greedy, 300),
        LivenessAction::Leave(Leave::NothingOfOurs),
        "Ready is the kubelet's, whatever client applied it"
    );
}

fn silenced_at(since: &str) -> Vec<RawCondition> {
    let mut set = reported();
    for one in &mut set[1..3] {
        one.insert("status".into(), "Unknown".into());
        one.insert("reason".into(), AGENT_SILENT.into());
        one.insert("lastTransitionTime".into(), since.into());
    }
    set
}

#[test]
fn what_was_reported_is_not_reported_again() {
    assert_eq!(judged(&evidence(silenced_at("2026-01-01T00:05:00Z")), 400), LivenessAction::Leave(Leave::Done));
}

#[test]
fn conditions_of_removed_agents_are_collected_but_for_what_others_say() {
    const DAY: u64 = 86_400;
    let marked = evidence(silenced_at("2026-01-01T00:00:00Z"));
    assert_eq!(judged(&marked, 7 * DAY - 1), LivenessAction::Leave(Leave::Done), "its Lease says that it will be back");
    let collect = LivenessAction::Collect(vec![raw("Shared", "False", "Fine", SPOKE)]);
    assert_eq!(judged(&marked, 7 * DAY), collect);

    let unleased = Evidence { lease: None, ..marked };
    let silence = Silence { sign: Sign::Heartbeats, ..silence() };
    let mut snapshot = cluster(1, 0);
    snapshot.agent_leases.clear();
    let mut seen = node("n1");
    seen.conditions =
        ["DiskUnhealthy", "KernelDeadlock", "Shared"].map(|kind| condition(kind, ConditionStatus::False, SPOKE)).into();
    snapshot.nodes.insert("n1".into(), seen);
    let memory = SilenceMemory::default().observe(&snapshot, at(0));
    let judge_at = |now| judge(&silence, &unleased, &memory, &SilenceTimeouts::default(), at(now));
    assert_eq!(judge_at(DAY - 1), LivenessAction::Leave(Leave::Done));
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
    let evidence = Evidence { lease: None, ..evidence(silenced_at("2026-01-01T00:15:00Z")) };
    let silence = Silence { sign: Sign::Heartbeats, ..silence() };
    let judge_at = |now| judge(&silence, &evidence, &memory, &SilenceTimeouts::default(), at(now));
    assert_eq!(judge_at(1599), LivenessAction::Leave(Leave::Done));
    assert!(matches!(judge_at(1600), LivenessAction::Collect(_)));
}

#[test]
fn a_node_that_was_looked_at_rests_until_its_agent_is_heard_of() {
    let mut snapshot = cluster(4, 2000);
    renew(&mut snapshot, &["n2", "n3", "n4"], 2000);
    let mut memory = SilenceMemory::default().observe(&snapshot, at(0));
    memory.recheck_after("n1", secs(3000));
    assert!(survey(&snapshot, &memory, &SilenceTimeouts::default(), at(2000)).silent.is_empty());
    snapshot.nodes.get_mut("n1").unwrap().conditions[1].heartbeat = Some("2026-01-01T00:10:00Z".parse().unwrap());
    let memory = memory.observe(&snapshot, at(2000));
    assert_eq!(names(&survey(&snapshot, &memory, &SilenceTimeouts::default(), at(2000))), ["n1"]);
}

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
        let _ = Ownership::read(&json, KINDS.into_iter());
    }

    #[test]
    fn what_is_written_is_exactly_the_agents_and_only_its_own_words_change(
        agents in subset(), others in subset(), present in subset(), status in "True|False|Unknown",
    ) {
        let conditions: Vec<RawCondition> = present.iter().map(|kind| raw(kind, &status, "R", SPOKE)).collect();
        let mut all = evidence(conditions.clone());
        all.status.managed_fields = json!([owned(AGENT, "Apply", &agents), owned("another", "Update", &others)]);
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
        prop_assert_eq!(judged(&after, 400), LivenessAction::Leave(Leave::Done));
    }
}
