//! What a dry run logs: what it would do to each node, or what speaks against that, once for each change.

use std::collections::BTreeMap;

use nodewell_remediation::{
    guard::reason::{CACHE_NOT_SYNCED, DRY_RUN},
    node_report::NodeReport,
};

/// What was logged last, by node.
#[derive(Debug, Default)]
pub(super) struct Rehearsal {
    logged: BTreeMap<String, Key>,
}

/// What makes a node_report another one. Numbers in messages do not: they change every second.
#[derive(Debug, PartialEq, Eq)]
struct Key {
    policy: Option<String>,
    phase: Option<String>,
    next: Option<String>,
    reasons: Vec<String>,
}

impl Rehearsal {
    /// Nodes with a change to log, and the message.
    pub(super) fn news(&mut self, node_reports: &[NodeReport]) -> Vec<(String, String)> {
        if node_reports
            .iter()
            .flat_map(|node_report| &node_report.blockers)
            .any(|blocker| blocker.reason == CACHE_NOT_SYNCED)
        {
            // Nothing is known for sure; what was logged stands.
            return Vec::new();
        }
        let before = std::mem::take(&mut self.logged);
        let mut news = Vec::new();
        for node_report in node_reports.iter().filter(|node_report| is_of_interest(node_report)) {
            let key = Key::of(node_report);
            if before.get(&node_report.node) != Some(&key) {
                news.push((node_report.node.clone(), message(node_report)));
            }
            self.logged.insert(node_report.node.clone(), key);
        }
        let over = before.into_keys().filter(|node| !self.logged.contains_key(node));
        news.extend(over.map(|node| (node, "would do nothing any more".to_owned())));
        news
    }
}

fn is_of_interest(node_report: &NodeReport) -> bool {
    node_report.policy.is_some() || node_report.phase.is_some() || !node_report.errors.is_empty()
}

impl Key {
    fn of(node_report: &NodeReport) -> Self {
        let blockers = node_report.blockers.iter().map(|blocker| blocker.reason.clone());
        let mut reasons: Vec<String> =
            blockers.chain(node_report.errors.iter().map(|(policy, _)| policy.clone())).collect();
        reasons.sort_unstable();
        reasons.dedup();
        let phase = node_report.phase.map(|phase| format!("{phase:?}"));
        Self { policy: node_report.policy.clone(), phase, next: node_report.next.clone(), reasons }
    }
}

fn message(node_report: &NodeReport) -> String {
    let next = node_report.next.as_deref().unwrap_or("do nothing");
    let mut text = match node_report.phase {
        Some(phase) => format!("would go on from {phase:?} with {next}"),
        None => format!("would {next}"),
    };
    if let Some(policy) = &node_report.policy {
        text = format!("{text} by policy {policy}");
    }
    let blockers = node_report.blockers.iter().filter(|blocker| blocker.reason != DRY_RUN);
    let blockers = blockers.map(|blocker| format!("{}: {}", blocker.reason, blocker.message));
    let errors = node_report.errors.iter().map(|(policy, error)| format!("policy {policy} cannot be judged: {error}"));
    let against: Vec<String> = blockers.chain(errors).collect();
    if against.is_empty() { text } else { format!("{text}, but {}", against.join("; ")) }
}

#[cfg(test)]
mod tests {
    use nodewell_remediation::api::fence::{Blocker, Phase};

    use super::*;

    fn node_report(node: &str, blockers: &[(&str, &str)]) -> NodeReport {
        NodeReport {
            node: node.into(),
            policy: Some("lost".into()),
            next: Some("cordon".into()),
            blockers: blockers.iter().map(|(reason, message)| Blocker::new(reason, *message)).collect(),
            ..NodeReport::default()
        }
    }

    fn well(node: &str) -> NodeReport {
        NodeReport { node: node.into(), ..NodeReport::default() }
    }

    #[test]
    fn each_node_report_is_logged_once_and_again_when_it_changes() {
        let mut rehearsal = Rehearsal::default();
        let young = |seconds: u32| {
            let text = format!("true for {seconds}s");
            [node_report("a", &[("DryRun", "only logs"), ("WithinGracePeriod", &text)]), well("b")]
        };
        let news = rehearsal.news(&young(1));
        assert_eq!(news, [("a".into(), "would cordon by policy lost, but WithinGracePeriod: true for 1s".into())]);
        assert_eq!(rehearsal.news(&young(2)), [], "another number is no news");
        let free = [node_report("a", &[("DryRun", "only logs")]), well("b")];
        assert_eq!(rehearsal.news(&free), [("a".into(), "would cordon by policy lost".into())]);
        assert_eq!(rehearsal.news(&free), []);
        assert_eq!(rehearsal.news(&[well("a"), well("b")]), [("a".into(), "would do nothing any more".into())]);
        assert_eq!(rehearsal.news(&[well("a"), well("b")]), []);
    }

    #[test]
    fn who_knows_too_little_says_nothing_new() {
        let mut rehearsal = Rehearsal::default();
        let free = [node_report("a", &[("DryRun", "only logs")])];
        assert_eq!(rehearsal.news(&[node_report("a", &[("DryRun", ""), ("CacheNotSynced", "")])]), []);
        assert_eq!(rehearsal.news(&free).len(), 1);
        assert_eq!(rehearsal.news(&[node_report("a", &[("DryRun", ""), ("CacheNotSynced", "")])]), []);
        assert_eq!(rehearsal.news(&free), [], "it was logged before");
    }

    #[test]
    fn a_record_and_a_predicate_that_fails_are_told_too() {
        let open = NodeReport { phase: Some(Phase::AwaitGuards), ..node_report("a", &[("DryRun", "only logs")]) };
        let broken = NodeReport { errors: vec![("gpu".into(), "no such key".into())], ..well("b") };
        let news = Rehearsal::default().news(&[open, broken]);
        assert_eq!(news[0].1, "would go on from AwaitGuards with cordon by policy lost");
        assert_eq!(news[1].1, "would do nothing, but policy gpu cannot be judged: no such key");
    }
}
