//! An Event on a Node, written by either API of Events.

use jiff::Timestamp;
use nodewell_remediation::{api::CONTROLLER_FIELD_MANAGER, liveness::AGENT_FIELD_MANAGER};
use serde_json::Value;

use super::{text, time};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EventFacts {
    pub(crate) node: String,
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) is_warning: bool,
    /// The part of a program that reports, by its own claim.
    pub(crate) source: String,
    /// The program, by its own claim.
    pub(crate) component: String,
    /// When it happened first and last, by its reporter's clock.
    pub(crate) first: Option<Timestamp>,
    pub(crate) last: Option<Timestamp>,
    pub(crate) count: u64,
}

impl EventFacts {
    /// Nothing if it is about something else, or gives no reason.
    pub(crate) fn read(raw: &Value) -> Option<Self> {
        let (about, series) = (&raw["involvedObject"], &raw["series"]);
        if about["kind"] != "Node" {
            return None;
        }
        let source = text(&raw["source"]["component"]).unwrap_or_default();
        let created = time(&raw["metadata"]["creationTimestamp"]);
        let first = time(&raw["firstTimestamp"]).or_else(|| time(&raw["eventTime"])).or(created);
        let last = time(&raw["lastTimestamp"]).or_else(|| time(&series["lastObservedTime"])).or(first);
        let counts = [&raw["count"], &series["count"]].into_iter().filter_map(Value::as_u64);
        Some(Self {
            node: text(&about["name"])?,
            reason: text(&raw["reason"])?,
            message: text(&raw["message"]).unwrap_or_default(),
            is_warning: raw["type"] == "Warning",
            component: text(&raw["reportingComponent"]).unwrap_or_else(|| source.clone()),
            source,
            first,
            last,
            count: counts.max().unwrap_or(1).max(1),
        })
    }

    pub(crate) fn is_of_controller(&self) -> bool {
        self.component == CONTROLLER_FIELD_MANAGER
    }

    pub(crate) fn is_of_agent(&self) -> bool {
        self.component == AGENT_FIELD_MANAGER
    }

    /// Of the agent or the controller.
    pub(crate) fn is_ours(&self) -> bool {
        self.is_of_controller() || self.is_of_agent()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn times_and_counts_of_both_apis_are_read() {
        let about = json!({ "kind": "Node", "name": "n1" });
        let meta = json!({ "creationTimestamp": "2026-01-01T00:00:00Z" });
        for (more, last, count) in [
            (json!({}), "2026-01-01T00:00:00Z", 1),
            (json!({ "lastTimestamp": "2026-01-01T01:00:00Z", "count": 3 }), "2026-01-01T01:00:00Z", 3),
            (
                json!({ "eventTime": "2026-01-01T00:00:00.500000Z",
                    "series": { "count": 7, "lastObservedTime": "2026-01-01T02:00:00.000000Z" } }),
                "2026-01-01T02:00:00Z",
                7,
            ),
        ] {
            let mut raw = json!({ "metadata": meta, "involvedObject": about, "reason": "R" });
            raw.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let event = EventFacts::read(&raw).unwrap();
            assert_eq!((event.last, event.count), (Some(last.parse().unwrap()), count), "{raw}");
        }
    }

    #[test]
    fn the_component_is_who_reports() {
        let event = |more: Value| {
            let mut raw = json!({ "involvedObject": { "kind": "Node", "name": "n1" }, "reason": "R" });
            raw.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            EventFacts::read(&raw).unwrap()
        };
        let agent = event(json!({ "reportingComponent": "nodewell", "source": { "component": "disk-monitor" } }));
        assert!(agent.is_ours() && !agent.is_of_controller() && agent.source == "disk-monitor");
        assert!(event(json!({ "source": { "component": "nodewell-controller" } })).is_of_controller());
        assert!(!event(json!({ "reportingComponent": "kubelet" })).is_ours());
        assert!(
            EventFacts::read(&json!({ "involvedObject": { "kind": "Pod", "name": "n1" }, "reason": "R" })).is_none()
        );
    }
}
