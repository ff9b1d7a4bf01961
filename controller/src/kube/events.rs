//! Events on Nodes: core/v1 in `default`, one object for each report, counted when it is repeated.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    time::Duration,
};

use jiff::Timestamp;
use nodewell_reconcile::api_error::ApiError;
use nodewell_remediation::action::EventDraft;
use serde_json::{Value, json};

use super::{FIELD_MANAGER, wire::Wire};

/// Events of cluster-scoped objects live here; `kubectl describe node` looks for them here.
const COLLECTION: &str = "/api/v1/namespaces/default/events";
const TRIES: u32 = 3;
const APART: Duration = Duration::from_millis(500);
/// What the server takes (`validation.ValidateEventCreate`).
const MESSAGE_LIMIT: usize = 1024;

/// Tries for a while and gives up: an Event that is not heard stops nothing.
pub(super) async fn emit(wire: &Wire, node: &str, uid: &str, draft: &EventDraft) {
    let event = event(node, uid, draft, Timestamp::now());
    let mut last = String::new();
    for attempt in 1..=TRIES {
        match once(wire, &event).await {
            Ok(()) => return,
            Err(error @ ApiError::NoAnswer(_)) => last = error.to_string(),
            Err(error) => {
                last = error.to_string();
                break;
            }
        }
        tokio::time::sleep(APART * attempt).await;
    }
    tracing::warn!(node, reason = draft.reason, error = last, "an Event was not taken by the API server");
}

async fn once(wire: &Wire, event: &Value) -> Result<(), ApiError> {
    match wire.create::<Value>(COLLECTION, event).await {
        Err(ApiError::Conflict(_)) => again(wire, event).await,
        outcome => outcome.map(drop),
    }
}

async fn again(wire: &Wire, event: &Value) -> Result<(), ApiError> {
    let path = format!("{COLLECTION}/{}", event["metadata"]["name"].as_str().unwrap_or_default());
    let before: Value = wire.get(&path).await?.ok_or(ApiError::NotFound)?;
    let count = before["count"].as_u64().unwrap_or(1) + 1;
    let patch = json!({ "count": count, "lastTimestamp": event["lastTimestamp"] });
    wire.merge::<Value>(&path, &patch).await.map(drop)
}

fn event(node: &str, uid: &str, draft: &EventDraft, now: Timestamp) -> Value {
    let message: String = draft.message.chars().take(MESSAGE_LIMIT).collect();
    let now = format!("{now:.0}");
    json!({
        "apiVersion": "v1", "kind": "Event",
        "metadata": { "name": name(node, uid, draft), "namespace": "default" },
        "involvedObject": { "apiVersion": "v1", "kind": "Node", "name": node, "uid": uid },
        "reason": draft.reason,
        "message": message,
        "type": if draft.warning { "Warning" } else { "Normal" },
        "source": { "component": FIELD_MANAGER },
        "reportingComponent": FIELD_MANAGER,
        "firstTimestamp": now, "lastTimestamp": now, "count": 1,
    })
}

/// The same message about the same Node has the same name, whichever replica leads.
fn name(node: &str, uid: &str, draft: &EventDraft) -> String {
    let mut hasher = DefaultHasher::new();
    (uid, &draft.reason, &draft.message, draft.warning).hash(&mut hasher);
    format!("{node}.{:016x}", hasher.finish())
}

#[cfg(test)]
mod tests {
    use nodewell_remediation::message::Message;

    use super::*;

    fn blocked(text: &str) -> EventDraft {
        EventDraft::warning(Message { reason: "Blocked".into(), text: text.into() })
    }

    #[test]
    fn the_same_message_is_one_event_and_another_is_another() {
        let now: Timestamp = "2026-01-02T03:04:05.6Z".parse().unwrap();
        let one = event("n", "u", &blocked("budget"), now);
        assert_eq!(one["type"], "Warning");
        assert_eq!(one["involvedObject"]["uid"], "u");
        assert_eq!(one["firstTimestamp"], "2026-01-02T03:04:05Z");
        let name = |message: &str, uid: &str| super::name("n", uid, &blocked(message));
        assert_eq!(one["metadata"]["name"], name("budget", "u"));
        assert_ne!(name("budget", "u"), name("storm", "u"));
        assert_ne!(name("budget", "u"), name("budget", "v"));
    }

    #[test]
    fn a_message_is_no_longer_than_the_server_takes() {
        let long = event("n", "u", &blocked(&"é".repeat(3000)), Timestamp::UNIX_EPOCH);
        assert_eq!(long["message"].as_str().unwrap().chars().count(), MESSAGE_LIMIT);
    }
}
