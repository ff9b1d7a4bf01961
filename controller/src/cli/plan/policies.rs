//! What each policy reports of one node.

use nodewell_remediation::{
    decide::Memory,
    facts::Node,
    policy::{Policy, duration::show, selector},
    snapshot::Snapshot,
    time::Moment,
};
use serde_json::{Value, json};

/// What one policy makes of the node.
pub(super) struct PolicyResult {
    pub(super) policy: String,
    pub(super) text: String,
}

pub(super) fn of(snapshot: &Snapshot, memory: &Memory, node: &Node, now: Moment) -> Vec<PolicyResult> {
    let result = |policy: &Policy| PolicyResult {
        policy: policy.name.clone(),
        text: format!("{:?}, {}", policy.mode, text(policy, memory, node, now)),
    };
    let unreadable = snapshot.unreadable_policies.iter();
    let unreadable =
        unreadable.map(|(name, why)| PolicyResult { policy: name.clone(), text: format!("cannot be read: {why}") });
    let mut all: Vec<PolicyResult> = snapshot.policies.iter().map(result).chain(unreadable).collect();
    all.sort_by(|a, b| a.policy.cmp(&b.policy));
    all
}

fn text(policy: &Policy, memory: &Memory, node: &Node, now: Moment) -> String {
    if !selector::matches(&policy.selector, &node.labels) {
        return "does not select it".to_owned();
    }
    let age = |since: Moment| show(std::time::Duration::from_secs(now.since(since).as_secs()));
    match memory.result(&policy.name, &node.name) {
        Some((Ok(true), since)) => {
            let by = if memory.is_by_events_alone(&policy.name, &node.name) {
                ", by Events alone: it opens nothing"
            } else {
                ""
            };
            format!("true of it for {}{by}", age(since))
        }
        Some((Ok(false), _)) => "selects it, is not true of it".to_owned(),
        Some((Err(error), _)) => format!("cannot be judged of it: {error}"),
        None => "has not been asked".to_owned(),
    }
}

pub(super) fn as_json(all: &[PolicyResult]) -> Value {
    all.iter().map(|result| json!({ "policy": result.policy, "result": result.text })).collect()
}
