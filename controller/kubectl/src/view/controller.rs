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

/// What a controller decides of these nodes now: nothing where none decides.
pub(crate) fn decisions(facts: &Facts, now: Timestamp) -> &[NodeReport] {
    report(facts).filter(|report| report.is_fresh(now)).map(|report| report.nodes.as_slice()).unwrap_or_default()
}

/// What it decides of one node.
pub(crate) fn decision<'a>(facts: &'a Facts, node: &str, now: Timestamp) -> Option<&'a NodeReport> {
    decisions(facts, now).iter().find(|report| report.node == node)
}

#[cfg(test)]
mod tests {
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
}
