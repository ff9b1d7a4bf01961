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
/// What was last seen longer before a remediation than this has not led to it. The API server keeps Events as long.
const BEFORE: Duration = Duration::from_hours(1);
/// An agent may see the same of forty devices: of its warnings the last are enough to know where to look, and leave room for what
/// was done.
const WARNINGS: usize = 5;

pub(super) fn history(facts: &Facts, node: &str) -> Vec<Entry> {
    let records: Vec<&RecordFacts> = facts.records.iter().filter(|record| record.node() == node).collect();
    let mut all: Vec<Entry> = records.iter().flat_map(|record| of_record(record)).collect();
    let of_node: Vec<&EventFacts> = facts.events.iter().filter(|event| event.node == node).collect();
    let warnings = warnings(&of_node, &records);
    let events = of_node.into_iter().filter(|event| is_of_interest(event) || warnings.contains(event));
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

/// What the agent has warned of before one of these remediations was begun: what led to it is among that. Of many the
/// last.
fn warnings<'a>(events: &[&'a EventFacts], records: &[&RecordFacts]) -> Vec<&'a EventFacts> {
    let is_one = |event: &&EventFacts| {
        event.is_of_agent() && event.is_warning && records.iter().any(|record| came_before(event, record))
    };
    let mut all: Vec<&EventFacts> = events.iter().copied().filter(is_one).collect();
    all.sort_by_key(|event| Reverse(event.last));
    all.truncate(WARNINGS);
    all
}

/// By the node's clock, which may be ahead of the API server's. One that is counted goes on being seen.
fn came_before(event: &EventFacts, record: &RecordFacts) -> bool {
    let (Some(first), Some(last), Some(begun)) = (event.first, event.last, record.begun()) else { return false };
    let was_seen = first <= begun || are_near(Some(first), Some(begun));
    was_seen && (last >= begun || begun.duration_since(last).unsigned_abs() <= BEFORE)
}

/// A record's log, oldest first, after why it was opened.
fn of_record(record: &RecordFacts) -> Vec<Entry> {
    let source = format!("nodefence {}", record.name());
    let because = words::because(&record.fence.spec.cause);
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
        term: term(event),
        source: "event".to_owned(),
        count: event.count,
    }
}

/// An Event of a phase is called as the phase is, and as a record's log has it: the same act has one name, before and after
/// its record is gone.
fn term(event: &EventFacts) -> String {
    let phase = event.reason.strip_prefix("Fence").filter(|_| event.is_of_controller());
    let phase = phase.filter(|phase| serde_json::from_value::<Phase>(Value::from(*phase)).is_ok());
    phase.unwrap_or(&event.reason).to_owned()
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
        assert_eq!(terms, ["Closed", "NodeNotSchedulable", "Blocked"], "a phase has one name");
        assert!(history(&facts, "n2").is_empty());
    }

    fn warning(first: &str, last: &str, component: &str) -> EventFacts {
        let at = |text: &str| Some(text.parse().unwrap());
        let event = event("MediumError", "sdb: 3 unreadable sectors", last, component);
        EventFacts { is_warning: true, first: at(first), last: at(last), ..event }
    }

    fn shown(events: Vec<EventFacts>) -> Vec<String> {
        let entries = history(&Facts { events, ..facts() }, "n1").into_iter();
        entries
            .filter(|entry| entry.source == "event")
            .map(|entry| format!("{} {}", entry.at.unwrap(), entry.what))
            .collect()
    }

    #[test]
    fn what_the_agent_warned_of_before_it_was_begun_is_there() {
        let (agent, minute) = ("nodewell", |minute: &str| format!("2026-01-01T00:{minute}:00Z"));
        let events = vec![
            warning(&minute("08"), &minute("09"), agent),
            // It goes on, and was there before.
            warning(&minute("07"), &minute("11"), agent),
            // The node's clock is ahead.
            warning("2026-01-01T00:10:04Z", "2026-01-01T00:10:04Z", agent),
            // Long before, during it, of another client, and no warning.
            warning("2025-12-31T23:00:00Z", "2025-12-31T23:09:59Z", agent),
            warning(&minute("20"), &minute("30"), agent),
            warning(&minute("08"), &minute("09"), "node-problem-detector"),
            EventFacts { is_warning: false, ..warning(&minute("08"), &minute("09"), agent) },
        ];
        let expected = ["00:11:00", "00:10:04", "00:09:00"]
            .map(|time| format!("2026-01-01T{time}Z sdb: 3 unreadable sectors (nodewell)"));
        assert_eq!(shown(events), expected);
    }

    #[test]
    fn of_many_warnings_the_last_are_there() {
        let at = |second: usize| format!("2026-01-01T00:09:{second:02}Z");
        let shown = shown((0..30).map(|second| warning(&at(second), &at(second), "nodewell")).collect());
        assert_eq!(shown.len(), WARNINGS);
        assert!(shown[0].starts_with(&at(29)) && shown[WARNINGS - 1].starts_with(&at(25)), "{shown:?}");
    }

    #[test]
    fn a_message_with_a_colon_is_no_phase() {
        assert_eq!(split("PoweringOff: level 1: ipmi"), (Some(Phase::PoweringOff), "level 1: ipmi"));
        assert_eq!(split("level 1: ipmi"), (None, "level 1: ipmi"));
        assert_eq!(split("done"), (None, "done"));
    }
}
