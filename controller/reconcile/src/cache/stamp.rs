//! Since when we have seen what we see.

use std::time::Duration;

use nodewell_remediation::{
    facts::{Condition, ConditionStatus, LeaseView, Node, kubelet},
    time::Moment,
};

/// A watch that is later than this counts as dead.
const OVERTAKEN: Duration = Duration::from_secs(20);

pub(super) fn is_older(node: &Node, known: &Node) -> bool {
    node.uid == known.uid && is_before(&node.resource_version, &known.resource_version)
}

/// The watch may bring a renewal that a read has overtaken: it is none before our eyes. Not for long: if the cluster's store
/// was set back to a backup all versions are older, and kubelets that renew must not look dead.
pub(super) fn is_overtaken(lease: &LeaseView, known: &LeaseView, now: Moment) -> bool {
    is_before(&lease.resource_version, &known.resource_version) && known.stale_for(now) < OVERTAKEN
}

/// Versions are numbers that grow; what is no number is taken as it comes.
fn is_before(version: &str, known: &str) -> bool {
    number(version).zip(number(known)).is_some_and(|(new, known)| new < known)
}

pub(super) fn number(version: &str) -> Option<u128> {
    version.parse().ok()
}

/// Stamps the conditions; true if a decision should follow at once.
pub(super) fn node(before: Option<&Node>, node: &mut Node, now: Moment) -> bool {
    let before = before.filter(|before| before.uid == node.uid);
    for condition in &mut node.conditions {
        let known = before.and_then(|before| before.condition(&condition.kind));
        condition.change_seen_at =
            known.filter(|known| known.status == condition.status).map_or(now, |known| known.change_seen_at);
    }
    before.is_none_or(|before| differs(before, node))
}

/// Heartbeats and versions change all the time and mean nothing.
fn differs(before: &Node, node: &Node) -> bool {
    before.deleting != node.deleting
        || before.unschedulable != node.unschedulable
        || before.taints != node.taints
        || before.boot_id != node.boot_id
        || before.volumes_attached != node.volumes_attached
        || before.labels != node.labels
        || before.annotations != node.annotations
        || reported_conditions(before).ne(reported_conditions(node))
}

fn reported_conditions(node: &Node) -> impl Iterator<Item = (&str, ConditionStatus, &str)> {
    node.conditions.iter().map(|Condition { kind, status, reason, .. }| (kind.as_str(), *status, reason.as_str()))
}

/// Stamps the Lease; true if a decision should follow at once.
pub(super) fn lease(before: Option<&LeaseView>, lease: &mut LeaseView, now: Moment) -> bool {
    let Some(before) = before else {
        lease.change_seen_at = now;
        return true;
    };
    let moved = before.renewed != lease.renewed || before.holder != lease.holder;
    lease.change_seen_at = if moved { now } else { before.change_seen_at };
    moved && before.stale_for(now) > kubelet::OVERDUE_AFTER
}
