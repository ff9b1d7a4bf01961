//! An Event on a Node, emitted by either API of Events.

use jiff::Timestamp;
use k8s_openapi::api::core::v1 as core;
use nodewell_reconcile::cache::NodeEvent;

/// Nothing if it is about something else. The latest of its times counts, among them that of its making: that one is the API
/// server's own. `now` for one that has none.
pub fn event(raw: core::Event, now: Timestamp) -> Option<NodeEvent> {
    let (about, series) = (raw.involved_object, raw.series.unwrap_or_default());
    if about.kind.as_deref() != Some("Node") {
        return None;
    }
    let times = [raw.metadata.creation_timestamp, raw.last_timestamp, raw.first_timestamp];
    let micro = [raw.event_time, series.last_observed_time];
    let times = times.into_iter().flatten().map(|time| time.0).chain(micro.into_iter().flatten().map(|time| time.0));
    let counts = [raw.count, series.count].into_iter().flatten();
    Some(NodeEvent {
        uid: raw.metadata.uid?,
        node: about.name?,
        node_uid: about.uid.unwrap_or_default(),
        reason: raw.reason?,
        reporter: reporter(raw.reporting_component, raw.source.and_then(|source| source.component)),
        count: counts.filter_map(|count| u64::try_from(count).ok()).max().unwrap_or(1).max(1),
        last: times.max().unwrap_or(now),
    })
}

/// Who wrote it, by its own claim; of both APIs' names the newer one's.
fn reporter(component: Option<String>, source: Option<String>) -> String {
    component.filter(|name| !name.is_empty()).or(source).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(value: Value) -> Option<(u64, String)> {
        let found = event(serde_json::from_value(value).unwrap(), Timestamp::UNIX_EPOCH)?;
        Some((found.count, found.last.to_string()))
    }

    #[test]
    fn a_reporter_has_the_name_that_it_claims() {
        for (rest, name) in [
            (json!({}), ""),
            (json!({ "source": { "component": "kubelet" }, "reportingComponent": "" }), "kubelet"),
            (json!({ "source": { "component": "disk-monitor" }, "reportingComponent": "nodewell" }), "nodewell"),
        ] {
            let mut raw =
                json!({ "metadata": { "uid": "e" }, "involvedObject": { "kind": "Node", "name": "n" }, "reason": "R" });
            raw.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
            let found = event(serde_json::from_value(raw).unwrap(), Timestamp::UNIX_EPOCH).unwrap();
            assert_eq!(found.reporter, name);
        }
    }

    #[test]
    fn counts_and_times_of_both_apis_are_read() {
        let about = json!({ "kind": "Node", "name": "n" });
        let created = "2026-01-01T00:00:00Z";
        let meta = json!({ "uid": "e", "creationTimestamp": created });
        for (rest, count, last) in [
            (json!({}), 1, created),
            (json!({ "count": 3, "lastTimestamp": "2026-01-01T01:00:00Z" }), 3, "2026-01-01T01:00:00Z"),
            // A reporter whose clock is behind: it cannot be older than the object.
            (json!({ "count": 1, "lastTimestamp": "2020-01-01T01:00:00Z" }), 1, created),
            (
                json!({ "eventTime": "2026-01-01T00:00:00.500000Z",
                    "series": { "count": 7, "lastObservedTime": "2026-01-01T02:00:00.000000Z" } }),
                7,
                "2026-01-01T02:00:00Z",
            ),
        ] {
            let mut event = json!({ "metadata": meta, "involvedObject": about, "reason": "R" });
            event.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
            assert_eq!(read(event), Some((count, last.to_owned())));
        }
        let other = json!({ "metadata": meta, "involvedObject": { "kind": "Pod", "name": "n" }, "reason": "R" });
        assert_eq!(read(other), None);
    }
}
