//! The JSON that goes to the API server: the apply patch for the Node's conditions, Events and their counts.

use std::collections::BTreeMap;

use jiff::Timestamp;
use nodewell_model::Name;
use serde_json::{Map, Value, json};

use super::{
    connection::Call,
    schedule::{ApplySet, Words},
    stats::Verb,
};

/// The name under which the server keeps what is ours.
pub const FIELD_MANAGER: &str = "nodewell";

/// One condition as it is applied.
pub(super) type Fields = Map<String, Value>;
/// What one apply says of each condition.
pub(super) type Draft = BTreeMap<Name, Fields>;

/// All fields of all conditions, their heartbeat at `now`.
pub(super) fn draft(set: &ApplySet, now: Timestamp) -> Draft {
    set.iter().map(|(name, words)| (name.clone(), fields(name, words, now))).collect()
}

fn fields(name: &Name, words: &Words, now: Timestamp) -> Fields {
    let pairs = [
        ("type", name.as_str().to_owned()),
        ("status", words.status.as_str().to_owned()),
        ("reason", words.reason.as_str().to_owned()),
        ("message", words.message.clone()),
        ("lastTransitionTime", seconds(words.since)),
        ("lastHeartbeatTime", seconds(now)),
    ];
    pairs.into_iter().map(|(key, value)| (key.to_owned(), Value::from(value))).collect()
}

/// A server-side apply of `draft` on the Node's status. JSON is YAML. `force` takes fields from other managers.
pub(super) fn apply_conditions(node: &str, draft: &Draft, force: bool) -> Call {
    let conditions: Vec<&Fields> = draft.values().collect();
    let body = json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": node},
        "status": {"conditions": conditions},
    });
    Call {
        verb: Verb::PatchNodeStatus,
        path: format!("/api/v1/nodes/{node}/status?fieldManager={FIELD_MANAGER}&force={force}"),
        content_type: "application/apply-patch+yaml",
        body: body.to_string().into_bytes(),
    }
}

/// RFC 3339 in whole seconds, the only form `metav1.Time` takes.
pub(super) fn seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use nodewell_model::ConditionStatus;

    use super::*;

    #[test]
    fn an_apply_names_the_node_and_nothing_but_our_conditions() {
        let words = Words {
            status: ConditionStatus::True,
            reason: Name::fixed("IOError"),
            message: "sda".into(),
            since: "2026-01-02T03:04:05.678Z".parse().unwrap(),
        };
        let set = ApplySet::from([(Name::fixed("DiskUnhealthy"), words)]);
        let call = apply_conditions("n1", &draft(&set, "2026-01-02T04:00:00Z".parse().unwrap()), false);
        assert_eq!(call.path, "/api/v1/nodes/n1/status?fieldManager=nodewell&force=false");
        let body: Value = serde_json::from_slice(&call.body).unwrap();
        let condition = json!({"type": "DiskUnhealthy", "status": "True", "reason": "IOError", "message": "sda",
            "lastTransitionTime": "2026-01-02T03:04:05Z", "lastHeartbeatTime": "2026-01-02T04:00:00Z"});
        let expected = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"},
            "status": {"conditions": [condition]}});
        assert_eq!(body, expected);
    }
}
