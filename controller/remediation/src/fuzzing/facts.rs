//! The node that the fuzzer's predicates are asked about, and what the cluster knows of it.

use std::time::Duration;

use jiff::Timestamp;

use crate::{
    facts::{Condition, ConditionStatus, Effect, LeaseView, Node, Taint, ZONE},
    snapshot::{EventsSeen, Snapshot},
    time::{Moment, Now},
};

/// Wall time at moment 0; the Node is a day older.
const EPOCH: Timestamp = Timestamp::constant(1_800_000_000, 0);
const NAME: &str = "n1";

pub(super) fn now(secs: u64) -> Now {
    let since = Duration::from_secs(secs);
    Now { moment: Moment(since), wall: EPOCH + since }
}

/// One that has something of everything.
pub(super) fn node() -> Node {
    let text = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
    let condition = |(kind, status)| Condition { kind: String::from(kind), status, ..Condition::default() };
    let conditions = [
        ("Ready", ConditionStatus::False),
        ("GpuUnhealthy", ConditionStatus::True),
        ("ReadonlyFilesystem", ConditionStatus::Unknown),
    ];
    Node {
        name: NAME.into(),
        uid: "u1".into(),
        created: EPOCH - Duration::from_hours(24),
        labels: [("gpu", "a100"), ("kubernetes.io/hostname", NAME), (ZONE, "z1")].map(text).into(),
        annotations: [("note", "2026-01-02T03:04:05Z")].map(text).into(),
        taints: vec![Taint { key: "k".into(), value: "v".into(), effect: Effect::NoSchedule }],
        provider_id: "aws:///eu-west-1a/i-1".into(),
        conditions: conditions.map(condition).into(),
        ..Node::default()
    }
}

pub(super) fn snapshot() -> Snapshot {
    let lease = LeaseView {
        resource_version: String::new(),
        holder: NAME.into(),
        renewed: None,
        duration: Duration::from_secs(40),
        change_seen_at: now(945).moment,
    };
    let seen = EventsSeen {
        count: 3,
        last: now(990).moment,
        age_when_seen: Duration::ZERO,
        reporters: ["kubelet".to_owned()].into(),
    };
    Snapshot {
        kubelet_leases: [(NAME.to_owned(), lease)].into(),
        events: [(NAME.to_owned(), [("Rebooted".to_owned(), seen)].into())].into(),
        ..Snapshot::default()
    }
}
