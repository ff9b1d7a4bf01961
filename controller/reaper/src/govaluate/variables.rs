//! What a node's variables are.

use nodewell_remediation::{
    facts::Node,
    snapshot::Snapshot,
    time::{Moment, Now},
};

use super::value::Value;

/// node-reaper's own (`Cordoned`, `Labels.KEY`, `Conditions.TYPE`) and ours; nil for what the node has not. Ages are in
/// seconds; those of conditions and of the Lease count from when this controller first saw them so.
pub(super) fn of(name: &str, node: &Node, snapshot: &Snapshot, now: Now) -> Value {
    match name {
        "Cordoned" => Value::Bool(node.unschedulable),
        "Ready" => Value::Bool(node.is_ready()),
        "Zone" => text(node.zone()),
        "Age" => Value::Number(now.wall.duration_since(node.created).as_secs_f64().max(0.0)),
        "LeaseAge" => {
            snapshot.kubelet_leases.get(&node.name).map_or(Value::Nil, |lease| seconds(lease.change_seen_at, now))
        }
        _ => name.split_once('.').map_or(Value::Nil, |(family, key)| member(family, key, node, now)),
    }
}

fn member(family: &str, key: &str, node: &Node, now: Now) -> Value {
    // Of two conditions of one type the last counts, as in node-reaper.
    let condition = || node.conditions.iter().rfind(|condition| condition.kind == key);
    match family {
        "Labels" => text(node.labels.get(key)),
        "Annotations" => text(node.annotations.get(key)),
        "Taints" => taints(node, key),
        "Conditions" => text(condition().map(|condition| condition.status.to_string())),
        "ConditionReason" => text(condition().map(|condition| &condition.reason)),
        "ConditionAge" => condition().map_or(Value::Nil, |condition| seconds(condition.change_seen_at, now)),
        _ => Value::Nil,
    }
}

/// The taint's effect; several of one key with a comma between them.
fn taints(node: &Node, key: &str) -> Value {
    let mut effects: Vec<_> =
        node.taints.iter().filter(|taint| taint.key == key).map(|taint| taint.effect.to_string()).collect();
    effects.sort();
    text((!effects.is_empty()).then(|| effects.join(",")))
}

fn text(found: Option<impl ToString>) -> Value {
    found.map_or(Value::Nil, |found| Value::Text(found.to_string()))
}

fn seconds(since: Moment, now: Now) -> Value {
    Value::Number(now.moment.since(since).as_secs_f64())
}
