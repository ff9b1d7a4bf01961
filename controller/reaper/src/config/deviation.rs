//! What is done otherwise than by node-reaper, and configurations with which the controller does not start.

use nodewell_remediation::{
    facts::{Condition, ConditionStatus, Node},
    snapshot::Snapshot,
    time::{Moment, Now},
};

use super::{
    decision::PredicateEvaluation,
    keys::{Compat, ReaperConfig},
};

const ALWAYS: [&str; 9] = [
    "drain: drainTimeoutSeconds is the total; node-reaper restarts it for each pod that ends",
    "drain: nothing is called after a drain has failed; node-reaper goes on evicting in the background",
    "drain: evictions name the pod's UID, static pods are left alone, refused evictions are tried less and less often",
    "drain: pods without an owner are evicted; node-reaper lets them die with the machine",
    "drain: the forced retry has up to 30 s after drainTimeoutSeconds, and leaves a second to pods with an identity or \
     a volume of one writer",
    "reapPredicate: our own cordon does not count as Cordoned, or a failed drain would wedge the node",
    "reap: plug-ins are programs (type, reap, status), not .so files; a reap counts when status says that it is gone",
    "limits: the guards of every policy hold as well (storms, rates, one at a time, control plane never)",
    "Cordoned nodes are uncordoned when they are well again, if we cordoned them",
];

const FIXED: [&str; 6] = [
    "fixed: the zone is topology.kubernetes.io/zone, else the beta label; nodes without either are one zone",
    "fixed: maxNodesUnhealthyInSameZone as a percentage is of the zone, not of the cluster",
    "fixed: Conditions.OutOfDisk is 'False' while no node has that condition",
    "fixed: control-plane nodes are never reaped",
    "fixed: predicates that cannot be compiled are refused at the start, not once for each node",
    "fixed: only observes with dryRun: false while a predicate would take control-plane nodes, or all nodes",
];

const STRICT: [&str; 3] = [
    "strict: nodes without the label failure-domain.beta.kubernetes.io/zone are never reaped",
    "strict: a node whose drain failed is not reaped, as in node-reaper's code, whatever its README says",
    "strict: still only observes with dryRun: false while a predicate would take control-plane nodes, or all nodes",
];

/// A line for each, to be reported at the start.
#[must_use]
pub fn deviations(config: &ReaperConfig) -> Vec<String> {
    let of_mode: &[&str] = match config.compat {
        Compat::Fixed => &FIXED,
        Compat::Strict => &STRICT,
    };
    let mut lines: Vec<_> = ALWAYS.iter().chain(of_mode).map(|line| (*line).to_owned()).collect();
    if config.reap_even_if_drain_failed {
        lines.push("reapEvenIfDrainFailed: pods that could not be evicted die with the machine".to_owned());
    }
    lines
}

/// Why the controller does not act on this configuration in this cluster; none while `dryRun` is true.
#[must_use]
pub(crate) fn refusals(config: &ReaperConfig, snapshot: &Snapshot, now: Now) -> Vec<String> {
    if config.dry_run {
        return Vec::new();
    }
    let mut refusals = Vec::new();
    if config.unhealthy.text.trim().is_empty() {
        refusals
            .push("unhealthyPredicate is empty: it fails on every node, so nothing would ever be reaped".to_owned());
    }
    refusals.extend(control_plane(config, snapshot, now));
    refusals.extend(everything(config, snapshot, now));
    refusals
}

/// Control-plane nodes are usually healthy when the controller starts: what counts is the predicate's answer for them once
/// they are not.
fn control_plane(config: &ReaperConfig, snapshot: &Snapshot, now: Now) -> Option<String> {
    let evaluation = PredicateEvaluation::new(config, snapshot, now);
    let taken = |node: &&Node| in_usual_failures(node).iter().any(|node| evaluation.is_reapable(node) == Ok(true));
    let names: Vec<_> = snapshot
        .nodes
        .values()
        .filter(|node| node.is_control_plane())
        .filter(taken)
        .map(|node| node.name.as_str())
        .collect();
    (!names.is_empty()).then(|| {
        format!(
            "dryRun: false, and reapPredicate is true of control-plane nodes that are unhealthy ({}); add \
             `&& [Labels.node-role.kubernetes.io/control-plane] == ()` to it",
            names.join(", ")
        )
    })
}

/// The node as it is, and with its conditions as in the usual failures.
fn in_usual_failures(node: &Node) -> Vec<Node> {
    let with = |ready: ConditionStatus, others: ConditionStatus| {
        let status = |condition: &Condition| if condition.kind == "Ready" { ready } else { others };
        let turned = |condition: &Condition| Condition {
            status: status(condition),
            change_seen_at: Moment::default(),
            ..condition.clone()
        };
        let conditions = node.conditions.iter().map(turned).collect();
        Node { unschedulable: false, conditions, ..node.clone() }
    };
    vec![
        node.clone(),
        with(ConditionStatus::Unknown, ConditionStatus::Unknown),
        with(ConditionStatus::False, ConditionStatus::False),
        with(ConditionStatus::Unknown, ConditionStatus::False),
        with(ConditionStatus::False, ConditionStatus::True),
        with(ConditionStatus::True, ConditionStatus::True),
    ]
}

/// A predicate that is true of every node does not separate the well from the unhealthy.
fn everything(config: &ReaperConfig, snapshot: &Snapshot, now: Now) -> Option<String> {
    let evaluation = PredicateEvaluation::new(config, snapshot, now);
    let all = snapshot.nodes.len();
    let every = all > 1 && snapshot.nodes.values().all(|node| evaluation.is_reapable(node) == Ok(true));
    every.then(|| format!("dryRun: false, and reapPredicate is true of all {all} nodes now"))
}
