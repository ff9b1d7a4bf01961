//! Snapshots for tests.

use std::time::Duration;

use jiff::Timestamp;

use crate::{
    facts::{Condition, ConditionStatus, Node},
    time::{Moment, Now},
};

/// Wall time at moment 0; Nodes of tests are a day older.
pub(crate) const EPOCH: i64 = 1_800_000_000;

pub(crate) fn at(seconds: u64) -> Moment {
    Moment(Duration::from_secs(seconds))
}

pub(crate) fn wall(seconds: i64) -> Timestamp {
    Timestamp::from_second(EPOCH + seconds).unwrap()
}

pub(crate) fn now(seconds: u64) -> Now {
    Now { moment: at(seconds), wall: wall(i64::try_from(seconds).unwrap()) }
}

/// A node that is well.
pub(crate) fn node(name: &str) -> Node {
    let mut node = Node {
        name: name.into(),
        uid: format!("uid-{name}"),
        resource_version: "1".into(),
        created: wall(-86_400),
        labels: [("kubernetes.io/hostname".to_owned(), name.to_owned())].into(),
        boot_id: format!("boot-{name}"),
        ..Node::default()
    };
    set_condition(&mut node, "Ready", ConditionStatus::True, "KubeletReady", at(0));
    node
}

pub(crate) fn set_condition(
    node: &mut Node,
    kind: &str,
    status: ConditionStatus,
    reason: &str,
    change_seen_at: Moment,
) {
    node.conditions.retain(|condition| condition.kind != kind);
    let (kind, reason) = (kind.to_owned(), reason.to_owned());
    node.conditions.push(Condition { kind, status, reason, change_seen_at, ..Condition::default() });
}
