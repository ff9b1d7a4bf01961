//! Dead nodes whose pods were not released, and why: what an operator is woken for.

use std::collections::BTreeMap;

use nodewell_metrics::Exposition;
use nodewell_remediation::{
    api::OUT_OF_SERVICE,
    facts::Node,
    guard::reason::LEASE_MISSING,
    node_report::{NodeReport, is_dead},
    snapshot::Snapshot,
    time::Moment,
};

use super::table;

/// No policy is true of it.
const NO_POLICY: &str = "NoPolicy";
/// A policy is, and nothing blocks it.
const UNDER_WAY: &str = "UnderWay";

pub(super) fn show(page: &mut Exposition, snapshot: &Snapshot, node_reports: &[NodeReport], now: Moment) {
    page.metric(&table::STRANDED_NODES);
    for (reason, count) in counts(snapshot, node_reports, now) {
        page.sample(&[("reason", reason)], count);
    }
}

/// While the cluster is not seen whole, no silence proves anything.
fn counts<'r>(snapshot: &Snapshot, node_reports: &'r [NodeReport], now: Moment) -> BTreeMap<&'r str, u64> {
    let mut counts = BTreeMap::new();
    if !snapshot.host.synced {
        return counts;
    }
    let reports: BTreeMap<&str, &NodeReport> =
        node_reports.iter().map(|report| (report.node.as_str(), report)).collect();
    let is_off = |node: &Node| reports.get(node.name.as_str()).is_some_and(|report| waits_for_lease(report));
    let is_stranded = |node: &&Node| (is_dead(snapshot, node, now) || is_off(node)) && !is_released(node);
    for node in snapshot.nodes.values().filter(is_stranded) {
        *counts.entry(reports.get(node.name.as_str()).map_or(NO_POLICY, |report| reason(report))).or_default() += 1;
    }
    counts
}

/// Without a Lease it is not known for dead, and its machine is off all the same.
fn waits_for_lease(report: &NodeReport) -> bool {
    report.blockers.iter().any(|blocker| blocker.reason == LEASE_MISSING)
}

fn is_released(node: &Node) -> bool {
    node.taints.iter().any(|taint| taint.key == OUT_OF_SERVICE)
}

fn reason(report: &NodeReport) -> &str {
    match report.blockers.first() {
        Some(blocker) => &blocker.reason,
        None if report.policy.is_some() || report.phase.is_some() => UNDER_WAY,
        None => NO_POLICY,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use nodewell_remediation::{
        api::fence::Blocker,
        facts::{Condition, ConditionStatus, Effect, LeaseView, Taint},
        snapshot::HostView,
    };

    use super::*;

    fn dead(name: &str) -> Node {
        let ready = Condition { kind: "Ready".into(), status: ConditionStatus::Unknown, ..Condition::default() };
        Node { name: name.into(), conditions: vec![ready], ..Node::default() }
    }

    fn snapshot(nodes: Vec<Node>, silent: u64) -> Snapshot {
        let lease = |node: &Node| LeaseView {
            resource_version: String::new(),
            holder: node.name.clone(),
            renewed: None,
            duration: Duration::from_secs(40),
            change_seen_at: Moment(Duration::from_secs(1000 - silent)),
        };
        Snapshot {
            kubelet_leases: nodes.iter().map(|node| (node.name.clone(), lease(node))).collect(),
            nodes: nodes.into_iter().map(|node| (node.name.clone(), node)).collect(),
            host: HostView { synced: true, ..HostView::default() },
            ..Snapshot::default()
        }
    }

    fn counted(snapshot: &Snapshot, reports: &[NodeReport]) -> Vec<(String, u64)> {
        let counts = counts(snapshot, reports, Moment(Duration::from_secs(1000)));
        counts.into_iter().map(|(reason, count)| (reason.to_owned(), count)).collect()
    }

    #[test]
    fn a_dead_node_counts_by_what_blocks_it_until_it_is_released() {
        let mut released = dead("released");
        released.taints.push(Taint { key: OUT_OF_SERVICE.into(), value: String::new(), effect: Effect::NoExecute });
        let all = vec![dead("a"), dead("b"), dead("c"), released];
        let blocked = NodeReport {
            node: "a".into(),
            policy: Some("p".into()),
            blockers: vec![Blocker::new("Observe", ""), Blocker::new("BudgetZone", "")],
            ..NodeReport::default()
        };
        let under_way = NodeReport { node: "b".into(), policy: Some("p".into()), ..NodeReport::default() };
        let expected =
            [("NoPolicy", 1), ("Observe", 1), ("UnderWay", 1)].map(|(reason, count)| (reason.to_owned(), count));
        assert_eq!(counted(&snapshot(all.clone(), 60), &[blocked.clone(), under_way]), expected);
        assert_eq!(counted(&snapshot(all.clone(), 20), &[]), [], "its Lease is not over");
        let mut without = snapshot(all.clone(), 60);
        without.kubelet_leases.clear();
        let waits = |reason| NodeReport { blockers: vec![Blocker::new(reason, "")], ..blocked.clone() };
        assert_eq!(counted(&without, &[waits("LeaseMissing")]), [("LeaseMissing".to_owned(), 1)]);
        assert_eq!(counted(&without, &[waits("NodeReady")]), []);
        let mut blind = snapshot(all, 60);
        blind.host.synced = false;
        assert_eq!(counted(&blind, &[]), [], "who sees nothing reports no deaths");
    }
}
