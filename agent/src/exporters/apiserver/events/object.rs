//! The JSON of Events: each is made once, then counted by a small patch.

use nodewell_model::{Severity, text};
use serde_json::json;

use super::aggregate::Delivery;
use crate::exporters::apiserver::{
    ApiserverConfig,
    connection::{Call, FIELD_MANAGER, seconds},
    stats::RequestKind,
};

/// The longest name of an object (a DNS subdomain).
const OBJECT_NAME_LIMIT_BYTES: usize = 253;

/// A new Event about the Node with this UID.
pub(super) fn create_event(config: &ApiserverConfig, uid: &str, delivery: &Delivery) -> Call {
    let ApiserverConfig { node_name, event_namespace, .. } = config;
    let record = &delivery.first;
    let body = json!({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": event_name(node_name, delivery), "namespace": event_namespace},
        "involvedObject": {"apiVersion": "v1", "kind": "Node", "name": node_name, "uid": uid},
        "type": if record.severity == Severity::Info { "Normal" } else { "Warning" },
        "reason": record.reason,
        "message": shown(delivery),
        "source": {"component": record.source, "host": node_name},
        "reportingComponent": FIELD_MANAGER,
        "reportingInstance": node_name,
        "firstTimestamp": seconds(record.time),
        "lastTimestamp": seconds(delivery.last_time),
        "count": count(delivery),
    });
    Call {
        kind: RequestKind::CreateEvent,
        path: format!("/api/v1/namespaces/{event_namespace}/events?fieldManager={FIELD_MANAGER}"),
        content_type: "application/json",
        body: body.to_string().into_bytes(),
        whole_answer: false,
    }
}

/// What it is about, and what happened, in one line.
fn shown(delivery: &Delivery) -> String {
    text::line(&text::about(delivery.first.subject.as_deref(), &delivery.message), text::MESSAGE_LIMIT_BYTES)
}

/// The absolute count: sent twice it has the same effect.
pub(super) fn count_event(config: &ApiserverConfig, delivery: &Delivery) -> Call {
    let body = json!({
        "message": shown(delivery),
        "lastTimestamp": seconds(delivery.last_time),
        "count": count(delivery),
    });
    Call { body: body.to_string().into_bytes(), whole_answer: false, ..look_at_event(config, delivery) }
}

/// Changes nothing: the answer is the Event as it stands. A client that may write Events may not always read them.
pub(super) fn look_at_event(config: &ApiserverConfig, delivery: &Delivery) -> Call {
    let ApiserverConfig { node_name, event_namespace, .. } = config;
    let name = event_name(node_name, delivery);
    Call {
        kind: RequestKind::PatchEvent,
        path: format!("/api/v1/namespaces/{event_namespace}/events/{name}?fieldManager={FIELD_MANAGER}"),
        content_type: "application/merge-patch+json",
        body: b"{}".to_vec(),
        whole_answer: true,
    }
}

/// The same record always makes the same name, so that a repeated POST finds its own Event.
fn event_name(node: &str, delivery: &Delivery) -> String {
    let node = text::cut(node, OBJECT_NAME_LIMIT_BYTES - 17).trim_end_matches(['.', '-']);
    format!("{node}.{:016x}", delivery.hash)
}

/// The field is an int32.
fn count(delivery: &Delivery) -> u64 {
    delivery.count.min(i32::MAX.unsigned_abs().into())
}

#[cfg(test)]
mod tests {
    use std::{path::PathBuf, time::Duration};

    use jiff::Timestamp;
    use nodewell_ledger::Now;
    use nodewell_model::{BootId, EventRecord, Name, Origin};
    use serde_json::Value;

    use super::*;
    use crate::exporters::apiserver::events::aggregate::{Aggregate, EventLimits, Next};

    /// Whatever a log line, a plug-in or a client wrote.
    #[test]
    fn every_message_is_one_line_within_its_limit() {
        for message in ["\n".repeat(5000), "oops:\n Call Trace\r\n\t<TASK>\n".repeat(300), "ä\u{1b}".repeat(2000)] {
            let delivery = delivery(message);
            let config = ApiserverConfig::new(PathBuf::from("/kubeconfig"), "n1");
            for call in [create_event(&config, "uid", &delivery), count_event(&config, &delivery)] {
                let body: Value = serde_json::from_slice(&call.body).unwrap();
                is_line(&body["message"], text::MESSAGE_LIMIT_BYTES);
            }
        }
    }

    fn delivery(message: String) -> Delivery {
        let time = Timestamp::UNIX_EPOCH;
        let record = EventRecord {
            id: 1,
            origin: Origin::Agent { boot_id: BootId::default(), started_ns: 0, sequence: 1 },
            boot_id: None,
            severity: Severity::Error,
            time,
            last_time: time,
            reason: Name::fixed("IOError"),
            message,
            subject: None,
            source: "kernel-monitor".into(),
            pod_uid: None,
            from_peer: false,
            condition: None,
            count: 1,
            test: false,
        };
        let mut aggregate = Aggregate::new(EventLimits::default());
        aggregate.add(record, Now { wall: time, boottime: Duration::ZERO });
        let Next::Send(delivery) = aggregate.next(Duration::ZERO) else { panic!("nothing holds it back") };
        *delivery
    }

    fn is_line(message: &Value, limit_bytes: usize) {
        let message = message.as_str().unwrap();
        assert!(message.len() <= limit_bytes && !message.contains(nodewell_printable::is_hidden), "{message:?}");
    }
}
