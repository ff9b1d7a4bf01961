//! Whether a controller acts on this cluster, and which.

use jiff::Timestamp;
use nodewell_remediation::{leader_report::Report, node_report::NodeReport};
use serde::Serialize;

use crate::facts::{Facts, Reading};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum ControllerState {
    Leads,
    /// It decides and reports, and does nothing.
    DryRun,
    /// One has decided, and does so no more.
    Gone,
    /// Its kinds are there, and none has decided anything.
    Undecided,
    NotInstalled,
    /// It could not be asked.
    Unread,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ControllerView {
    pub(crate) state: ControllerState,
    /// What its configuration calls the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cluster: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) host: Option<String>,
    /// When it wrote its report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) decided: Option<Timestamp>,
    /// Why nothing is begun, on no node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) paused: Option<String>,
}

impl ControllerView {
    pub(crate) fn of(facts: &Facts, now: Timestamp) -> Self {
        let controller = &facts.controller;
        let report = report(facts);
        let state = match (&controller.report, &controller.kinds) {
            (Reading::There(report), _) if !report.is_fresh(now) => ControllerState::Gone,
            (Reading::There(report), _) if report.dry_run => ControllerState::DryRun,
            (Reading::There(_), _) => ControllerState::Leads,
            (Reading::Absent | Reading::Unread, Reading::Absent) => ControllerState::NotInstalled,
            (Reading::Absent, Reading::There(())) => ControllerState::Undecided,
            (Reading::Unread, _) | (_, Reading::Unread) => ControllerState::Unread,
        };
        Self {
            state,
            cluster: report.and_then(|report| report.cluster.clone()),
            host: report.map(|report| report.host.clone()),
            decided: report.map(|report| report.written),
            paused: controller.paused.clone(),
        }
    }
}

fn report(facts: &Facts) -> Option<&Report> {
    match &facts.controller.report {
        Reading::There(report) => Some(report),
        Reading::Absent | Reading::Unread => None,
    }
}

/// What a controller decides of one node now: nothing where none decides, and nothing of what it decided before the
/// records of the node became what they are.
pub(crate) fn decision<'a>(facts: &'a Facts, node: &str, now: Timestamp) -> Option<&'a NodeReport> {
    let report = report(facts).filter(|report| report.is_fresh(now))?;
    let decided = report.nodes.iter().find(|decided| decided.node == node)?;
    (!is_outdated(facts, report.written, decided)).then_some(decided)
}

/// A record was opened, has ended or is in another phase since. The time of the report is in whole seconds.
fn is_outdated(facts: &Facts, written: Timestamp, decided: &NodeReport) -> bool {
    let is_another = match facts.open_record(&decided.node) {
        Some(record) => decided.phase != Some(record.fence.status.phase),
        None => decided.phase.is_some() && facts.knows_records_of(&decided.node),
    };
    let mut changes = facts.records_of(&decided.node).filter_map(|record| record.fence.status.since);
    is_another || changes.any(|since| since.as_second() > written.as_second())
}

#[cfg(test)]
mod tests {
    use nodewell_remediation::api::fence::Phase;
    use serde_json::json;

    use super::*;
    use crate::facts::ControllerFacts;

    fn state(kinds: Reading<()>, report: Reading<Report>) -> ControllerState {
        let facts = Facts { controller: ControllerFacts { kinds, report, paused: None }, ..Facts::default() };
        ControllerView::of(&facts, "2026-01-01T00:01:00Z".parse().unwrap()).state
    }

    #[test]
    fn what_is_unread_is_not_taken_for_absent() {
        let report = |written: &str, dry_run| {
            Reading::There(Report { written: written.parse().unwrap(), dry_run, ..Report::default() })
        };
        let (fresh, old) = ("2026-01-01T00:00:50Z", "2025-12-31T00:00:00Z");
        assert_eq!(state(Reading::There(()), report(fresh, false)), ControllerState::Leads);
        assert_eq!(state(Reading::Unread, report(fresh, true)), ControllerState::DryRun);
        assert_eq!(state(Reading::There(()), report(old, false)), ControllerState::Gone);
        assert_eq!(state(Reading::There(()), Reading::Absent), ControllerState::Undecided);
        assert_eq!(state(Reading::Absent, Reading::Absent), ControllerState::NotInstalled);
        assert_eq!(state(Reading::Absent, Reading::Unread), ControllerState::NotInstalled);
        assert_eq!(state(Reading::Unread, Reading::Absent), ControllerState::Unread);
        assert_eq!(state(Reading::There(()), Reading::Unread), ControllerState::Unread);
    }

    /// What the leader decided of n1 at 00:00:50, in a phase, and the records of n1: name, phase, and since when.
    fn is_shown(decided: Option<Phase>, records: &[(&str, Phase, &str)], kinds: Reading<()>) -> bool {
        let node = NodeReport { node: "n1".into(), phase: decided, ..NodeReport::default() };
        let written = "2026-01-01T00:00:50Z".parse().unwrap();
        let report = Reading::There(Report { written, nodes: vec![node], ..Report::default() });
        let mut facts = Facts { controller: ControllerFacts { kinds, report, paused: None }, ..Facts::default() };
        for (name, phase, since) in records {
            facts.add_record(json!({ "metadata": { "name": name }, "spec": { "nodeName": "n1", "nodeUID": "u" },
                "status": { "phase": phase, "since": format!("2026-01-01T00:{since}Z") } }));
        }
        decision(&facts, "n1", "2026-01-01T00:01:00Z".parse().unwrap()).is_some()
    }

    #[test]
    fn what_was_decided_before_a_record_became_what_it_is_is_not_shown() {
        use Phase::{AwaitGuards, Closed, Recovering, Waiting};
        let there = || Reading::There(());
        assert!(is_shown(None, &[], there()));
        assert!(is_shown(Some(Waiting), &[("n1", Waiting, "00:40")], there()));
        assert!(!is_shown(Some(Waiting), &[("n1", AwaitGuards, "00:40")], there()), "it is in another phase");
        assert!(!is_shown(Some(Waiting), &[("n1", Waiting, "00:51")], there()), "it has come back to it");
        assert!(!is_shown(None, &[("n1", Waiting, "00:40")], there()), "it was opened since");
        let ended = |since| ("n1-ended-0a1b2c3d", Closed, since);
        assert!(!is_shown(Some(Recovering), &[ended("00:50")], there()), "it has ended");
        assert!(!is_shown(None, &[ended("00:55")], there()), "it was opened and has ended since");
        assert!(is_shown(None, &[ended("00:50.9")], there()), "it would begin again");
        assert!(is_shown(Some(Recovering), &[], Reading::Unread), "whether it has ended is not known");
    }
}
