//! When an agent counts as silent, and what exactly is then written in its name.

mod laws;
mod owners;
mod removed;
mod silent;
mod unknown;

use jiff::SignedDuration;
use serde_json::{Value, json};

use super::*;
use crate::{
    facts::{Condition, ConditionStatus},
    snapshot::{Absence, HostView},
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
    Condition {
        kind: kind.into(),
        status,
        reason: "R".into(),
        heartbeat,
        change_seen_at: secs(0),
        ..Condition::default()
    }
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
        change_seen_at: seen,
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
        owned(AGENT_FIELD_MANAGER, "Apply", &["DiskUnhealthy", "KernelDeadlock", "Shared"]),
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

fn silence() -> SilentAgent {
    SilentAgent {
        node: "n1".into(),
        uid: "uid-n1".into(),
        since: secs(0),
        sign: SilenceSign::Lease { renewed: Some(SPOKE.parse().unwrap()) },
    }
}

fn judged(evidence: &Evidence, now: u64) -> LivenessAction {
    judge(&silence(), evidence, &SilenceMemory::default(), &SilenceTimeouts::default(), at(now))
}

fn unknown_at(since: &str) -> Vec<RawCondition> {
    let mut set = reported();
    for one in &mut set[1..3] {
        one.insert("status".into(), "Unknown".into());
        one.insert("reason".into(), AGENT_SILENT.into());
        one.insert("lastTransitionTime".into(), since.into());
    }
    set
}
