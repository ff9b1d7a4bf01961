//! The JSON of the Node's conditions: what one server-side apply carries.

use std::collections::BTreeMap;

use jiff::Timestamp;
use nodewell_model::{ConditionStatus, Name};
use serde_json::{Value, json};

use super::schedule::{ConditionContent, WantedConditions};
use crate::exporters::apiserver::{
    connection::{Call, FIELD_MANAGER, Fields, seconds},
    stats::RequestKind,
};

/// What one apply carries of each condition.
pub(super) type ApplyPatch = BTreeMap<Name, Fields>;

/// All fields of all conditions, their heartbeat at `now`.
pub(super) fn patch(wanted: &WantedConditions, now: Timestamp) -> ApplyPatch {
    wanted.iter().map(|(name, content)| (name.clone(), fields(name, content, now))).collect()
}

fn fields(name: &Name, content: &ConditionContent, now: Timestamp) -> Fields {
    let pairs = [
        ("type", name.as_str().to_owned()),
        ("status", content.status.as_str().to_owned()),
        ("reason", content.reason.as_str().to_owned()),
        ("message", content.message.clone()),
        ("lastTransitionTime", seconds(content.transition)),
        ("lastHeartbeatTime", seconds(now)),
    ];
    pairs.into_iter().map(|(key, value)| (key.to_owned(), Value::from(value))).collect()
}

/// Of the Node as the server showed it, with `version`: what changed since is another look's.
pub(super) fn take_over_conditions(node: &str, patch: &ApplyPatch, version: u64) -> Call {
    apply(node, patch, json!({"name": node, "resourceVersion": version.to_string()}), "force=true")
}

/// The same, but these conditions with content that no other client has written.
pub(super) fn taken_over(patch: &ApplyPatch, names: &[Name], now: Timestamp) -> ApplyPatch {
    let content = ConditionContent {
        status: ConditionStatus::Unknown,
        reason: Name::fixed("ConditionTakenOver"),
        message: "its other writer has gone silent".to_owned(),
        transition: now,
        problems_hash: 0,
    };
    let mut taken = patch.clone();
    for (name, fields) in taken.iter_mut().filter(|(name, _)| names.contains(name)) {
        *fields = self::fields(name, &content, now);
    }
    taken
}

/// A server-side apply of `patch` on the Node's status. JSON is YAML. `force` takes fields from other managers.
pub(super) fn apply_conditions(node: &str, patch: &ApplyPatch, force: bool) -> Call {
    apply(node, patch, json!({"name": node}), &format!("force={force}"))
}

/// Changes nothing: the answer shows which Node object there is. A client that may write the status may not always read
/// it.
pub(super) fn look_at_node(node: &str) -> Call {
    Call {
        kind: RequestKind::LookAtNode,
        path: format!("/api/v1/nodes/{node}/status?fieldManager={FIELD_MANAGER}"),
        content_type: "application/merge-patch+json",
        body: b"{}".to_vec(),
        whole_answer: false,
    }
}

/// The same as a question: would the server take it, whichever manager owns the fields now?
pub(super) fn try_conditions(node: &str, patch: &ApplyPatch) -> Call {
    apply(node, patch, json!({"name": node}), "force=true&dryRun=All")
}

fn apply(node: &str, patch: &ApplyPatch, metadata: Value, how: &str) -> Call {
    let conditions: Vec<&Fields> = patch.values().collect();
    let body = json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata,
        "status": {"conditions": conditions},
    });
    Call {
        kind: RequestKind::PatchNodeStatus,
        path: format!("/api/v1/nodes/{node}/status?fieldManager={FIELD_MANAGER}&{how}"),
        content_type: "application/apply-patch+yaml",
        body: body.to_string().into_bytes(),
        whole_answer: false,
    }
}

#[cfg(test)]
mod tests {
    use nodewell_model::view::ConditionView;

    use super::*;
    use crate::exporters::apiserver::NODE_MESSAGE_LIMIT_BYTES;

    #[test]
    fn an_apply_names_the_node_and_nothing_but_our_conditions() {
        let content = ConditionContent {
            status: ConditionStatus::True,
            reason: Name::fixed("IOError"),
            message: "sda".into(),
            transition: "2026-01-02T03:04:05.678Z".parse().unwrap(),
            problems_hash: 0,
        };
        let wanted = WantedConditions::from([(Name::fixed("DiskUnhealthy"), content)]);
        let call = apply_conditions("n1", &patch(&wanted, "2026-01-02T04:00:00Z".parse().unwrap()), false);
        assert_eq!(call.path, "/api/v1/nodes/n1/status?fieldManager=nodewell&force=false");
        let body: Value = serde_json::from_slice(&call.body).unwrap();
        let condition = json!({"type": "DiskUnhealthy", "status": "True", "reason": "IOError", "message": "sda",
            "lastTransitionTime": "2026-01-02T03:04:05Z", "lastHeartbeatTime": "2026-01-02T04:00:00Z"});
        let expected = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"},
            "status": {"conditions": [condition]}});
        assert_eq!(body, expected);
    }

    /// Whatever a log line, a plug-in or a client wrote.
    #[test]
    fn every_message_is_one_line_within_its_limit() {
        for message in ["\n".repeat(5000), "oops:\n Call Trace\r\n\t<TASK>\n".repeat(300), "ä\u{1b}".repeat(2000)] {
            let view = ConditionView {
                condition: Name::fixed("DiskUnhealthy"),
                status: ConditionStatus::True,
                reason: Name::fixed("IOError"),
                message,
                transition: Timestamp::UNIX_EPOCH,
                problems: Vec::new(),
            };
            let wanted = WantedConditions::from([(view.condition.clone(), ConditionContent::of(&view))]);
            let applied = apply_conditions("n1", &patch(&wanted, Timestamp::UNIX_EPOCH), false);
            let body: Value = serde_json::from_slice(&applied.body).unwrap();
            is_line(&body["status"]["conditions"][0]["message"], NODE_MESSAGE_LIMIT_BYTES);
        }
    }

    fn is_line(message: &Value, limit_bytes: usize) {
        let message = message.as_str().unwrap();
        assert!(message.len() <= limit_bytes && !message.contains(nodewell_printable::is_hidden), "{message:?}");
    }
}
