//! What the API server has of a fleet, cut down to what is shown. It is read from JSON as it came: a field that is
//! missing is nothing, and no error.

mod event;
mod node;
mod record;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use jiff::Timestamp;
use nodewell_remediation::leader_report::{KEY, Report};
use serde_json::Value;

pub(crate) use self::{
    event::EventFacts,
    node::{ConditionFacts, Cordon, NodeFacts, Origin, TaintFacts},
    record::RecordFacts,
};

/// Everything that was read.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(crate) nodes: Vec<NodeFacts>,
    /// The agents' Leases, by node.
    pub(crate) leases: BTreeMap<String, AgentLease>,
    /// Open records, and copies of those that ended.
    pub(crate) records: Vec<RecordFacts>,
    /// Names of records that this version cannot read.
    pub(crate) unread_records: BTreeSet<String>,
    pub(crate) events: Vec<EventFacts>,
    pub(crate) controller: ControllerFacts,
    /// What could not be read, and what to do about it: a line each.
    pub(crate) notes: Vec<String>,
}

/// What came of a question.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) enum Reading<T> {
    There(T),
    /// The API server has no such thing.
    Absent,
    #[default]
    Unread,
}

/// What there is of `nodewell-controller`.
#[derive(Debug, Default)]
pub(crate) struct ControllerFacts {
    /// Its kinds.
    pub(crate) kinds: Reading<()>,
    pub(crate) report: Reading<Report>,
    /// The reason in the ConfigMap that pauses everything, if that is there.
    pub(crate) paused: Option<String>,
}

/// The Lease of one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AgentLease {
    pub(crate) renewed: Option<Timestamp>,
    pub(crate) duration: Duration,
}

impl AgentLease {
    /// Nothing without a name.
    pub(crate) fn read(raw: &Value) -> Option<(String, Self)> {
        let spec = &raw["spec"];
        let duration = Duration::from_secs(spec["leaseDurationSeconds"].as_u64().unwrap_or_default());
        Some((text(&raw["metadata"]["name"])?, Self { renewed: time(&spec["renewTime"]), duration }))
    }
}

impl Facts {
    pub(crate) fn node(&self, name: &str) -> Option<&NodeFacts> {
        self.nodes.iter().find(|node| node.name == name)
    }

    /// The record of `node` that is open.
    pub(crate) fn open_record(&self, node: &str) -> Option<&RecordFacts> {
        self.records.iter().find(|record| !record.has_ended && record.node() == node)
    }

    /// All records of `node`.
    pub(crate) fn records_of(&self, node: &str) -> impl Iterator<Item = &RecordFacts> {
        self.records.iter().filter(move |record| record.node() == node)
    }

    /// Whether a record of `node` that is open is among those that were read.
    pub(crate) fn knows_records_of(&self, node: &str) -> bool {
        self.controller.kinds == Reading::There(()) && !self.unread_records.contains(node)
    }

    /// One record. What this version cannot read is a note: a newer controller may have written it.
    pub(crate) fn add_record(&mut self, raw: Value) {
        let name = text(&raw["metadata"]["name"]).unwrap_or_default();
        match RecordFacts::read(raw) {
            Ok(record) => self.records.push(record),
            Err(error) => {
                let why = format!("NodeFence {name} cannot be read by this version ({error})");
                self.notes.push(format!("{why}; install the controller's kubectl-nodewell"));
                self.unread_records.insert(name);
            }
        }
    }

    /// The ConfigMap with the leader's report.
    pub(crate) fn set_report(&mut self, map: &Value) {
        let report = map["data"][KEY].as_str().map(serde_json::from_str);
        self.controller.report = match report {
            Some(Ok(report)) => Reading::There(report),
            Some(Err(error)) => {
                let why = format!("what the controller reports cannot be read by this version ({error})");
                self.notes.push(format!("{why}; install the controller's kubectl-nodewell"));
                Reading::Unread
            }
            None => Reading::Absent,
        };
    }

    /// The ConfigMap that pauses everything: it does so without a reason as well.
    pub(crate) fn set_paused(&mut self, map: &Value) {
        let reason = text(&map["data"]["reason"]);
        self.controller.paused = Some(reason.unwrap_or_else(|| "no reason is given".to_owned()));
    }
}

/// A text that is not empty.
fn text(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

fn time(value: &Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_lease_is_read_to_the_microsecond_and_without_its_fields() {
        let raw = json!({ "metadata": { "name": "n1" },
            "spec": { "renewTime": "2026-01-01T00:00:00.000001Z", "leaseDurationSeconds": 240 } });
        let (name, lease) = AgentLease::read(&raw).unwrap();
        assert_eq!((name.as_str(), lease.duration), ("n1", Duration::from_secs(240)));
        assert_eq!(lease.renewed, Some("2026-01-01T00:00:00.000001Z".parse().unwrap()));
        let (_, bare) = AgentLease::read(&json!({ "metadata": { "name": "n1" } })).unwrap();
        assert_eq!(bare, AgentLease { renewed: None, duration: Duration::ZERO });
        assert!(AgentLease::read(&json!({})).is_none());
    }

    #[test]
    fn a_record_of_a_later_version_is_a_note_and_no_end() {
        let mut facts = Facts::default();
        let spec = json!({ "nodeName": "n1", "nodeUID": "u" });
        facts.add_record(json!({ "metadata": { "name": "n1" }, "spec": spec }));
        let later = json!({ "nodeName": "n2", "nodeUID": "u", "ofTheFuture": 1 });
        facts.add_record(json!({ "metadata": { "name": "n2" }, "spec": later }));
        assert!(facts.open_record("n1").is_some() && facts.open_record("n2").is_none());
        assert!(facts.notes[0].starts_with("NodeFence n2 cannot be read by this version ("), "{:?}", facts.notes);
    }

    #[test]
    fn a_report_that_is_not_there_is_absent_and_one_that_cannot_be_read_is_not() {
        let mut facts = Facts::default();
        facts.set_report(&json!({ "data": {} }));
        assert_eq!(facts.controller.report, Reading::Absent);
        facts.set_report(&json!({ "data": { KEY: "{\"host\": 1}" } }));
        assert_eq!((&facts.controller.report, facts.notes.len()), (&Reading::Unread, 1));
        facts.set_report(&json!({ "data": { KEY: "{\"host\": \"cp-1\"}" } }));
        assert!(matches!(&facts.controller.report, Reading::There(report) if report.host == "cp-1"));
    }
}
