//! Requests of other remediators: each as its client writes it, and what comes of it.

mod conditions;
mod customers;
mod examples;
mod laws;
mod machines;
mod requests;
mod steps;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    next::{Act, Next, Target, View, next},
    request::{Request, Source},
};
use crate::{
    api::{
        fence::{Blocker, Confirmation, IntendedOp, Intent, NodeFence, Phase},
        request::{Condition, ConditionWord, FINALIZER, REQUESTED_BY},
    },
    facts::{ConditionStatus, Node},
    testing::{at, node, set_condition, wall},
};

/// Each that a record may be in.
const PHASES: [Phase; 17] = [
    Phase::Pending,
    Phase::Isolating,
    Phase::Draining,
    Phase::Waiting,
    Phase::AwaitGuards,
    Phase::KdumpWait,
    Phase::PoweringOff,
    Phase::OffConfirmed,
    Phase::PodsReleased,
    Phase::PoweringOn,
    Phase::AwaitReady,
    Phase::Reaping,
    Phase::Recovering,
    Phase::Closed,
    Phase::InDoubt,
    Phase::Failed,
    Phase::Quarantined,
];

/// As node-healthcheck-operator makes it for `n0`, with our finalizer.
fn raw() -> Value {
    json!({
        "metadata": {
            "name": "n0", "namespace": "ops", "uid": "u-1", "resourceVersion": "5", "finalizers": [FINALIZER],
            "annotations": {
                "remediation.medik8s.io/node-name": "n0", "remediation.medik8s.io/template-name": "fence",
            },
            "labels": { "app.kubernetes.io/part-of": "node-healthcheck-controller" },
            "ownerReferences": [{ "apiVersion": "remediation.medik8s.io/v1alpha1", "kind": "NodeHealthCheck",
                "name": "workers", "uid": "nhc-1", "controller": false }],
        },
        "spec": {},
    })
}

fn read(raw: &Value) -> Request {
    Request::read(Source::Cluster, raw).unwrap()
}

/// Not Ready, and silent.
fn dead() -> Node {
    let mut node = node("n0");
    set_condition(&mut node, "Ready", ConditionStatus::Unknown, "NodeStatusUnknown", at(0));
    node
}

/// The record of the request `u-1`, in this phase.
fn record(phase: Phase) -> NodeFence {
    let mut fence: NodeFence = serde_json::from_value(json!({
        "metadata": { "name": "n0", "uid": "fence-1", "resourceVersion": "9",
            "annotations": { REQUESTED_BY: "cluster/ops/n0/u-1" } },
        "spec": { "nodeName": "n0", "nodeUID": "uid-n0", "steps": [{ "powerCycle": {} }] },
    }))
    .unwrap();
    fence.status.phase = phase;
    fence
}

fn released(phase: Phase) -> NodeFence {
    let mut fence = record(phase);
    fence.status.released_at = Some(wall(50));
    fence.status.off = Some(Confirmation {
        at: wall(40),
        reads: 2,
        by: Vec::new(),
        boot_id: "b".into(),
        already_off: false,
        epoch: 1,
    });
    fence
}

fn blocked(mut fence: NodeFence, reason: &str) -> NodeFence {
    fence.status.blocked_by = vec![Blocker::new(reason, "why")];
    fence
}

/// A cluster of one node, its request and what there is of records.
#[derive(Debug)]
struct Fixture {
    request: Value,
    node: Option<Node>,
    record: Option<NodeFence>,
    ended: Option<NodeFence>,
    heir: Option<&'static str>,
    general: Vec<Blocker>,
}

impl Fixture {
    fn new() -> Self {
        Self { request: raw(), node: Some(dead()), record: None, ended: None, heir: None, general: Vec::new() }
    }

    fn with(record: NodeFence) -> Self {
        Self { record: Some(record), ..Self::new() }
    }

    fn next(&self) -> Next {
        let target = self.node.as_ref().map_or_else(|| Target::missing("n0"), Target::Node);
        let view = View {
            request: &read(&self.request),
            target,
            record: self.record.as_ref(),
            ended: self.ended.as_ref(),
            heir: self.heir,
            general: &self.general,
        };
        next(&view, now())
    }

    /// Decides, and stores what becomes of the request and its record.
    fn step(&mut self) -> Option<Act> {
        let Next { act, status } = self.next();
        self.request["status"] = json!(status);
        match &act {
            Some(Act::AddFinalizer) => self.request["metadata"]["finalizers"] = json!([FINALIZER]),
            Some(Act::RemoveFinalizer) => self.request["metadata"]["finalizers"] = json!([]),
            Some(Act::Open(record)) => {
                let mut record = (**record).clone();
                (record.metadata.uid, record.metadata.resource_version) = ("fence-1".into(), "1".into());
                self.record = Some(record);
            }
            Some(Act::Abort(record)) => {
                let mut record = (**record).clone();
                record.spec.abort = true;
                self.record = Some(record);
            }
            Some(Act::Close(record)) => (self.ended, self.record) = (Some((**record).clone()), None),
            Some(Act::HandOver(record, to)) => {
                let mut record = (**record).clone();
                record.metadata.annotations.insert(REQUESTED_BY.into(), to.clone());
                self.record = Some(record);
            }
            None => {}
        }
        act
    }

    fn delete(&mut self) {
        self.request["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    }

    fn time_out(&mut self) {
        self.request["metadata"]["annotations"]["remediation.medik8s.io/nhc-timed-out"] = json!("2026-01-01T00:00:00Z");
    }

    fn enters(&mut self, phase: Phase) {
        self.record.as_mut().unwrap().status.phase = phase;
    }

    /// `Processing`, `Succeeded` and their reason, as they are stored.
    fn shown(&self) -> (ConditionWord, ConditionWord, String) {
        shown(&read(&self.request).status.conditions)
    }
}

fn now() -> Timestamp {
    wall(100)
}

fn shown(conditions: &[Condition]) -> (ConditionWord, ConditionWord, String) {
    let of = |kind: &str| conditions.iter().find(|one| one.kind == kind).unwrap();
    (of("Processing").status, of("Succeeded").status, of("Succeeded").reason.clone())
}

const TRUE: ConditionWord = ConditionWord::True;
const FALSE: ConditionWord = ConditionWord::False;
const UNKNOWN: ConditionWord = ConditionWord::Unknown;

fn is(processing: ConditionWord, succeeded: ConditionWord, reason: &str) -> (ConditionWord, ConditionWord, String) {
    (processing, succeeded, reason.to_owned())
}

fn releasing(mut fence: NodeFence) -> NodeFence {
    fence.status.intent = Some(Intent { op: IntendedOp::Release, epoch: 1, at: wall(60), pods: 3 });
    fence
}
