//! What happened to a node: the logs of its records and what Events add to them, the newest first.

use std::{cmp::Reverse, time::Duration};

use jiff::Timestamp;
use nodewell_remediation::api::fence::{LogEntry, Phase};
use serde_json::Value;

use super::{super::words, Entry};
use crate::facts::{EventFacts, Facts, RecordFacts};

/// An Event follows what it reports within so long.
const SAME_WITHIN: Duration = Duration::from_secs(10);
/// Of the kubelet, which sees cordons of any client, and of the node lifecycle controller.
const OF_KUBERNETES: [&str; 4] = ["NodeNotSchedulable", "NodeSchedulable", "NodeNotReady", "NodeReady"];
/// The Event of a record that is opened; the record has the same.
const OPENED: &str = "RemediationOpened";

pub(super) fn history(facts: &Facts, node: &str) -> Vec<Entry> {
    let records: Vec<&RecordFacts> = facts.records.iter().filter(|record| record.node() == node).collect();
    let mut all: Vec<Entry> = records.iter().flat_map(|record| of_record(record)).collect();
    let events = facts.events.iter().filter(|event| event.node == node && is_of_interest(event));
    let news: Vec<Entry> = events.filter(|event| !is_in_records(event, &records)).map(of_event).collect();
    all.extend(news);
    // What happened in the same second stays in the order in which it was written, newest first.
    all.reverse();
    all.sort_by_key(|entry| Reverse(entry.at));
    all
}

fn is_of_interest(event: &EventFacts) -> bool {
    event.is_of_controller() || OF_KUBERNETES.contains(&event.reason.as_str())
}

/// A record's log, oldest first, after why it was opened.
fn of_record(record: &RecordFacts) -> Vec<Entry> {
    let source = format!("nodefence {}", record.name());
    let cause = &record.fence.spec.cause;
    let because = if cause.is_empty() { String::new() } else { format!(": {cause}") };
    let opened = Entry {
        at: record.begun(),
        what: format!("a remediation was begun, asked for by {}{because}", words::asked_by(record)),
        term: OPENED.to_owned(),
        source: source.clone(),
        count: 1,
    };
    let entries = record.fence.status.log.iter().map(|entry| of_log(entry, &source));
    [opened].into_iter().chain(entries).chain(closed(record)).collect()
}

/// Of a record that was closed before it came to its own end, which its log would have.
fn closed(record: &RecordFacts) -> Option<Entry> {
    let phase = record.fence.status.phase;
    let at = record.ended().filter(|_| phase != Phase::Closed)?;
    Some(Entry {
        at: Some(at),
        what: format!("the remediation was ended before its time, in the phase {phase:?}"),
        term: format!("{:?}", Phase::Closed),
        source: format!("nodefence {}", record.name()),
        count: 1,
    })
}

/// An entry is `Phase: why` where a phase was entered, and a message alone where it was not.
fn of_log(entry: &LogEntry, source: &str) -> Entry {
    let (phase, rest) = split(&entry.text);
    let what = phase.map_or_else(|| rest.to_owned(), |phase| format!("{}: {rest}", words::phase(phase)));
    let term = phase.map(|phase| format!("{phase:?}")).unwrap_or_default();
    Entry { at: Some(entry.at), what, term, source: source.to_owned(), count: 1 }
}

fn split(text: &str) -> (Option<Phase>, &str) {
    let parts = text.split_once(": ");
    let phase = parts.and_then(|(head, _)| serde_json::from_value::<Phase>(Value::from(head)).ok());
    match (phase, parts) {
        (Some(phase), Some((_, rest))) => (Some(phase), rest),
        (_, _) => (None, text),
    }
}

/// The records have it: the reason why one was opened, or all of the messages that the Event joins.
fn is_in_records(event: &EventFacts, records: &[&RecordFacts]) -> bool {
    let is_opened = |record: &RecordFacts| event.reason == OPENED && are_near(record.begun(), event.first);
    let is_logged =
        |entry: &LogEntry| are_near(Some(entry.at), event.last) && event.message.contains(split(&entry.text).1);
    event.is_of_controller()
        && (records.iter().any(|record| is_opened(record))
            || records.iter().flat_map(|record| &record.fence.status.log).any(is_logged))
}

fn are_near(one: Option<Timestamp>, other: Option<Timestamp>) -> bool {
    let (Some(one), Some(other)) = (one, other) else { return false };
    one.duration_since(other).unsigned_abs() <= SAME_WITHIN
}

fn of_event(event: &EventFacts) -> Entry {
    let by = if event.is_of_controller() { String::new() } else { format!(" ({})", event.component) };
    Entry {
        at: event.last,
        what: format!("{}{by}", event.message),
        term: event.reason.clone(),
        source: "event".to_owned(),
        count: event.count,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn facts() -> Facts {
        let mut facts = Facts::default();
        facts.add_record(json!({
            "metadata": { "name": "n1-ended-0a1b2c3d", "creationTimestamp": "2026-01-01T01:00:00Z" },
            "spec": { "nodeName": "n1", "nodeUID": "u", "policy": "lost", "cause": "its Lease is silent" },
            "status": { "phase": "Closed", "log": [
                { "at": "2026-01-01T00:10:00Z", "epoch": 1, "text": "Isolating: opened; next is step 1: cordon" },
                { "at": "2026-01-01T00:10:00Z", "epoch": 1, "text": "the Node is cordoned" },
                { "at": "2026-01-01T00:59:58Z", "epoch": 1, "text": "Closed: the node is healthy" },
            ] },
        }));
        facts
    }

    fn event(reason: &str, message: &str, at: &str, component: &str) -> EventFacts {
        EventFacts::read(&json!({ "involvedObject": { "kind": "Node", "name": "n1" }, "reason": reason,
            "message": message, "lastTimestamp": at, "firstTimestamp": at, "reportingComponent": component }))
        .unwrap()
    }

    #[test]
    fn the_newest_comes_first_and_phases_are_in_plain_words() {
        let history = history(&facts(), "n1");
        let shown: Vec<&str> = history.iter().map(|entry| entry.what.as_str()).collect();
        let expected = [
            "the remediation has ended: the node is healthy",
            "the Node is cordoned",
            "new pods are kept off it, by a taint or a cordon: opened; next is step 1: cordon",
            "a remediation was begun, asked for by policy lost: its Lease is silent",
        ];
        assert_eq!(shown, expected);
        assert_eq!((history[0].term.as_str(), history[0].source.as_str()), ("Closed", "nodefence n1-ended-0a1b2c3d"));
    }

    #[test]
    fn an_event_that_a_record_has_is_shown_once() {
        let controller = "nodewell-controller";
        let mut facts = facts();
        facts.events = vec![
            event("RemediationOpened", "policy lost: its Lease is silent", "2026-01-01T00:10:01Z", controller),
            event("FenceClosed", "the node is healthy", "2026-01-01T00:59:59Z", controller),
            event("Blocked", "zone a has 2 of 1", "2026-01-01T00:05:00Z", controller),
            event("NodeNotSchedulable", "Node n1 status is now: NodeNotSchedulable", "2026-01-01T00:10:05Z", "kubelet"),
            event("Rebooted", "it has rebooted", "2026-01-01T00:20:00Z", "kubelet"),
            // A day later it is another one, whatever its message.
            event("FenceClosed", "the node is healthy", "2026-01-02T00:59:59Z", controller),
        ];
        let terms: Vec<String> =
            history(&facts, "n1").into_iter().filter(|entry| entry.source == "event").map(|entry| entry.term).collect();
        assert_eq!(terms, ["FenceClosed", "NodeNotSchedulable", "Blocked"]);
        assert!(history(&facts, "n2").is_empty());
    }

    #[test]
    fn a_message_with_a_colon_is_no_phase() {
        assert_eq!(split("PoweringOff: level 1: ipmi"), (Some(Phase::PoweringOff), "level 1: ipmi"));
        assert_eq!(split("level 1: ipmi"), (None, "level 1: ipmi"));
        assert_eq!(split("done"), (None, "done"));
    }
}
