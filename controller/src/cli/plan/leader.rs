//! The report of the controller that decides, in the place of what would be decided here.

use std::collections::BTreeMap;

use jiff::Timestamp;
use nodewell_remediation::node_report::NodeReport;
use serde_json::{Value, json};

use super::super::look::one_line;
use crate::{
    config::Config,
    kube::KubeCluster,
    report::{self, Report},
};

/// The report that is shown, if one is, and a sentence about who decided.
pub(super) struct Decided {
    pub(super) report: Option<Report>,
    pub(super) sentence: String,
}

impl Decided {
    /// Whether what is shown is of a dry run.
    pub(super) fn is_dry_run(&self, config: &Config) -> bool {
        self.report.as_ref().map_or(config.dry_run, |report| report.dry_run)
    }
}

pub(super) async fn find(cluster: &KubeCluster, config: &Config, asked_here: bool, now: Timestamp) -> Decided {
    if asked_here {
        return here("as this host's configuration would decide, whatever a leader does");
    }
    let stored = report::stored(cluster.wire(), &config.leader.namespace).await;
    let why = match stored {
        Ok(Some(report)) if report.is_fresh(now) => {
            return Decided { sentence: by(&report, now), report: Some(report) };
        }
        Ok(Some(report)) => {
            format!("no controller decides now: {} was the last, {} ago", one_line(&report.host), ago(&report, now))
        }
        Ok(None) => "no controller has decided anything yet".to_owned(),
        Err(error) => format!("what the leader decides cannot be read ({})", one_line(&error.to_string())),
    };
    here(&format!("{why}; as this host's configuration would decide"))
}

fn here(sentence: &str) -> Decided {
    Decided { report: None, sentence: sentence.to_owned() }
}

fn by(report: &Report, now: Timestamp) -> String {
    let host = one_line(&report.host);
    let who = if report.dry_run { format!("{host}, in a dry run,") } else { format!("{host}, which leads,") };
    let more = match report.left_out {
        0 => String::new(),
        more => format!("; {more} more nodes with less to do are not shown"),
    };
    format!("as {who} decided {} ago{more}", ago(report, now))
}

fn ago(report: &Report, now: Timestamp) -> String {
    let secs = now.duration_since(report.written).as_secs().max(0);
    if secs < 120 { format!("{secs} s") } else { format!("{} min", secs / 60) }
}

/// Nodes of which it reports nothing have nothing to do.
pub(super) fn take_over(report: &Report, node_reports: &mut [NodeReport]) {
    let mut reported: BTreeMap<&str, &NodeReport> =
        report.nodes.iter().map(|node| (node.node.as_str(), node)).collect();
    for here in node_reports {
        *here = match reported.remove(here.node.as_str()) {
            Some(there) => there.clone(),
            None => NodeReport { node: here.node.clone(), ..NodeReport::default() },
        };
    }
}

pub(super) fn as_json(report: &Report) -> Value {
    json!({
        "host": report.host, "term": report.term, "written": report.written, "version": report.version,
        "configuration": report.configuration, "leftOut": report.left_out,
    })
}

#[cfg(test)]
mod tests {
    use nodewell_remediation::api::fence::Blocker;

    use super::*;

    fn node(name: &str, blocker: &str) -> NodeReport {
        let blockers = vec![Blocker::new(blocker, "")];
        NodeReport { node: name.into(), policy: Some("p".into()), blockers, ..NodeReport::default() }
    }

    #[test]
    fn what_the_leader_decided_is_shown_and_not_what_would_be_decided_here() {
        let report = Report { nodes: vec![node("a", "EtcdQuorum")], ..Report::default() };
        let mut shown = [node("a", "EtcdUnknown"), node("b", "DryRun")];
        take_over(&report, &mut shown);
        assert_eq!(shown[0].blockers[0].reason, "EtcdQuorum");
        assert_eq!((shown[1].node.as_str(), shown[1].is_quiet()), ("b", true), "the leader has nothing to do there");
    }

    #[test]
    fn who_decided_and_when_is_one_sentence() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let written = at("2026-01-01T00:00:00Z");
        let report = Report { host: "cp-1".into(), written, ..Report::default() };
        let now = at("2026-01-01T00:00:07Z");
        assert_eq!(by(&report, now), "as cp-1, which leads, decided 7 s ago");
        let rehearsed = Report { dry_run: true, left_out: 3, ..report };
        let sentence = by(&rehearsed, now);
        assert!(sentence.starts_with("as cp-1, in a dry run, decided 7 s ago; 3 more nodes"), "{sentence}");
    }
}
