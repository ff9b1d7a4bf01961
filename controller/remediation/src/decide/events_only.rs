//! Whether a predicate is true by Events alone: a client that may write Events may write any about any Node.
//!
//! The question is asked again of the same node, had it reported itself well. If the predicate is still true, with the
//! Events that are there and without any, then nothing that the node itself reports is needed for it. What a node
//! itself reports is what no other client could write: conditions under the field manager of its own agent or kubelet,
//! and the silence of its kubelet's Lease.

use crate::{
    facts::{Condition, ConditionStatus, LeaseView, Node, kubelet},
    guard::life,
    policy::Policy,
    snapshot::Snapshot,
    time::{Moment, Now},
};

/// Of a predicate that is true of `node`.
pub(super) fn by_events_alone(policy: &Policy, node: &Node, snapshot: &Snapshot, now: Now) -> bool {
    if policy.trust_events || !policy.when.uses_events() {
        return false;
    }
    let visible = visible_to(snapshot, &node.name);
    let without_events = Snapshot { events: Default::default(), ..visible.clone() };
    let well = healthy_version(node, visible.kubelet_leases.get(&node.name), now.moment);
    let needs_own_report = |visible: &Snapshot| {
        policy.when.judge(node, visible, now) == Ok(true)
            && policy.when.judge(&well, &with_lease_renewed(visible, &node.name, now.moment), now) != Ok(true)
    };
    // Once more without any Event: a client may have pushed out those that the predicate needs to be absent.
    !needs_own_report(&visible) && !needs_own_report(&without_events)
}

/// What an expression over this node can see.
fn visible_to(snapshot: &Snapshot, name: &str) -> Snapshot {
    let mut visible = Snapshot::default();
    visible.kubelet_leases.extend(snapshot.kubelet_leases.get_key_value(name).map(owned));
    visible.agent_leases.extend(snapshot.agent_leases.get_key_value(name).map(owned));
    visible.events.extend(snapshot.events.get_key_value(name).map(owned));
    visible
}

fn owned<T: Clone>((name, value): (&String, &T)) -> (String, T) {
    (name.clone(), value.clone())
}

/// The node, had it reported itself well: what it reports of itself is turned round, what others report of it stays.
fn healthy_version(node: &Node, lease: Option<&LeaseView>, now: Moment) -> Node {
    let mut well = node.clone();
    // kube-controller-manager writes Ready for a silent kubelet, and no client but the kubelet can be silent for it.
    let is_silent = lease.is_some_and(|lease| life::has_expired(lease, now));
    for condition in &mut well.conditions {
        let is_ready = condition.kind == "Ready";
        if is_unwell(condition) && (condition.is_own_report || is_ready && is_silent) {
            condition.status = if is_ready { ConditionStatus::True } else { ConditionStatus::False };
            condition.reason.clear();
            condition.message.clear();
        }
    }
    well
}

/// By the convention of all but Ready, True is what is wrong.
fn is_unwell(condition: &Condition) -> bool {
    match condition.kind.as_str() {
        "Ready" => condition.status != ConditionStatus::True,
        _ => condition.status == ConditionStatus::True,
    }
}

/// The kubelet, had it renewed its Lease; a renewal that is not late yet proves nothing.
fn with_lease_renewed(visible: &Snapshot, name: &str, now: Moment) -> Snapshot {
    let mut visible = visible.clone();
    visible
        .kubelet_leases
        .get_mut(name)
        .filter(|lease| lease.stale_for(now) > kubelet::OVERDUE_AFTER)
        .into_iter()
        .for_each(|lease| lease.change_seen_at = now);
    visible
}
