//! Dead nodes whose pods were not released, and why: what an operator is woken for. What is on its way wakes none: a node
//! that has time by its policy or by an announced reboot, and a fence in its first minutes.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use nodewell_metrics::Exposition;
use nodewell_remediation::{
    api::{
        OUT_OF_SERVICE,
        fence::{Blocker, NodeFence, Phase},
    },
    facts::Node,
    guard::reason::{BUSY, DUMPING, LEASE_MISSING, NEW_NODE, WITHIN_GRACE_PERIOD},
    node_report::{NodeReport, is_dead},
    policy::Policy,
    snapshot::Snapshot,
    time::{Moment, Now},
};

use super::table;

/// No policy is true of it.
const NO_POLICY: &str = "NoPolicy";
/// A policy is, and nothing blocks it.
const UNDER_WAY: &str = "UnderWay";
/// An act of ours, and times that a policy sets: `for`, a new node's, a crash dump's. They end by themselves.
const END_IN_TIME: [&str; 4] = [BUSY, WITHIN_GRACE_PERIOD, NEW_NODE, DUMPING];
/// A fence that goes well has released the pods so long after its record was opened (docs/times.md).
const FIRST_TRY: SignedDuration = SignedDuration::from_mins(3);

pub(super) fn show(page: &mut Exposition, snapshot: &Snapshot, node_reports: &[NodeReport], now: Now) {
    page.metric(&table::STRANDED_NODES);
    for (reason, count) in counts(snapshot, node_reports, now) {
        page.sample(&[("reason", reason)], count);
    }
}

/// While the cluster is not seen whole, no silence proves anything. A replica that does not lead knows of no reason.
fn counts<'r>(snapshot: &Snapshot, node_reports: &'r [NodeReport], now: Now) -> BTreeMap<&'r str, u64> {
    let mut counts = BTreeMap::new();
    if !snapshot.host.synced || snapshot.epoch == 0 {
        return counts;
    }
    let reports: BTreeMap<&str, &'r NodeReport> =
        node_reports.iter().map(|report| (report.node.as_str(), report)).collect();
    for node in snapshot.nodes.values() {
        let report = reports.get(node.name.as_str()).copied();
        let is_down = is_dead(snapshot, node, now.moment) || report.is_some_and(waits_for_lease);
        if is_down && !is_released(node) && !has_time(snapshot, &node.name, report, now) {
            *counts.entry(report.map_or(NO_POLICY, reason)).or_default() += 1;
        }
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

/// Nothing is wrong yet, and whether anything is will be known without a person.
fn has_time(snapshot: &Snapshot, node: &str, report: Option<&NodeReport>, now: Now) -> bool {
    is_rebooting(snapshot, node, report, now.moment)
        || report.is_some_and(|report| is_on_its_way(report, snapshot.fences.get(node), now.wall))
}

/// It announced that and has its grace period still, whatever else blocks it. Where no policy is true of it, that is the
/// default one.
fn is_rebooting(snapshot: &Snapshot, node: &str, report: Option<&NodeReport>, now: Moment) -> bool {
    let Some(since) = snapshot.shutdowns.get(node) else { return false };
    let name = report.and_then(|report| report.policy.as_ref());
    let policy = snapshot.policies.iter().find(|policy| Some(&policy.name) == name);
    let grace = policy.map_or_else(|| Policy::default().reboot_grace_period, |policy| policy.reboot_grace_period);
    now.since(*since) < grace
}

fn is_on_its_way(report: &NodeReport, fence: Option<&NodeFence>, wall: Timestamp) -> bool {
    let has_grace = report.blockers.iter().any(|blocker| blocker.reason != BUSY);
    let goes_on = || fence.is_some_and(|fence| waits_for_next_step(fence) || is_first_try(fence, wall));
    lasting(report).is_none() && (has_grace || goes_on())
}

/// The times of a drain and of `thenWait` are the policy's. After the last step nothing is waited for that would free its
/// pods.
fn waits_for_next_step(fence: &NodeFence) -> bool {
    let is_last = fence.status.policy_step + 1 >= fence.spec.steps.len();
    matches!(fence.status.phase, Phase::Draining | Phase::Waiting) && !is_last
}

/// One that is opened in the future was opened by another clock: nothing is known of its age.
fn is_first_try(fence: &NodeFence, wall: Timestamp) -> bool {
    let age = fence.metadata.creation_timestamp.map(|opened| wall.duration_since(opened));
    fence.status.failures == 0 && age.is_some_and(|age| !age.is_negative() && age < FIRST_TRY)
}

/// The first that does not end by itself in a time that is known.
fn lasting(report: &NodeReport) -> Option<&Blocker> {
    report.blockers.iter().find(|blocker| !END_IN_TIME.contains(&blocker.reason.as_str()))
}

fn reason(report: &NodeReport) -> &str {
    match lasting(report) {
        Some(blocker) => &blocker.reason,
        None if report.policy.is_some() || report.phase.is_some() => UNDER_WAY,
        None => NO_POLICY,
    }
}

#[cfg(test)]
mod tests;
