//! What a policy can never do in a cluster: limits under which a step is begun on no node, whatever happens to it.

use std::collections::BTreeMap;

use super::stage::{DisruptionLevel, disruption_level};
use crate::{
    api::policy::{ControlPlane, StepSpec},
    facts::Node,
    policy::{Budget, CountOrPercent, Policy, PolicyDiagnostic, selector, step_name},
    snapshot::{REACH_SAMPLE, Snapshot},
};

/// Of each policy that can be read, by name: every field for which it, or one of its steps, never acts in this cluster.
/// Nothing of a cluster in which no node is known.
#[must_use]
pub fn in_cluster(snapshot: &Snapshot) -> BTreeMap<String, Vec<PolicyDiagnostic>> {
    let of_policy = |policy: &Policy| {
        let nodes = snapshot.nodes.len();
        let mut found = by_limits(policy, nodes);
        found.extend(reachable(policy, nodes));
        found.extend(nodes_at_all(policy, snapshot));
        (policy.name.clone(), found)
    };
    let found = snapshot.policies.iter().filter(|_| !snapshot.nodes.is_empty()).map(of_policy);
    found.filter(|(_, found)| !found.is_empty()).collect()
}

/// By its own limits alone: what holds in every cluster.
#[must_use]
pub fn anywhere(policy: &Policy) -> Vec<PolicyDiagnostic> {
    by_limits(policy, usize::MAX)
}

fn by_limits(policy: &Policy, nodes: usize) -> Vec<PolicyDiagnostic> {
    let isolating = steps(policy, |level| level == DisruptionLevel::Isolate);
    let moving = steps(policy, |level| level != DisruptionLevel::Isolate);
    let cutting = steps(policy, |level| level == DisruptionLevel::Power);
    let mut found = Vec::new();
    for (field, budget, steps) in
        [("spec.cordonBudget", &policy.cordon_budget, &isolating), ("spec.budget", &policy.budget, &moving)]
    {
        let zero = zero_of_budget(budget, nodes).into_iter();
        found.extend(zero.flat_map(|(name, why)| never(&format!("{field}.{name}"), &why, steps)));
    }
    if policy.storm.unhealthy.of(nodes) == 0 {
        found.extend(never("spec.storm.unhealthy", "0: one unhealthy node is a storm", &all(policy)));
    }
    if policy.power_cycles.count == 0 {
        found.extend(never("spec.powerCycles.count", "0: no power cycle is allowed", &cutting));
    }
    if policy.pods.count == 0 {
        found.extend(never("spec.pods.count", "0: no pod may be moved", &moving));
    }
    found
}

/// The node that is remediated is unavailable itself: a limit of 0 has no room for it.
fn zero_of_budget(budget: &Budget, nodes: usize) -> Vec<(String, String)> {
    let is_zero = |amount: CountOrPercent| amount.of(nodes) == 0;
    let mut zero = Vec::new();
    if is_zero(budget.cluster) && is_zero(budget.dead) {
        zero.push(("maxUnavailable".to_owned(), "0, and maxDead is 0 too".to_owned()));
    }
    if is_zero(budget.zone) {
        zero.push((
            "maxUnavailablePerZone".to_owned(),
            "0: each node is in a zone, or in that of all without one".into(),
        ));
    }
    for (label, quota) in budget.topology.iter().filter(|(_, quota)| is_zero(*quota)) {
        zero.push(("topology".to_owned(), format!("maxUnavailable {quota} for each value of {label}")));
    }
    if budget.max_concurrent == Some(0) {
        zero.push(("maxConcurrent".to_owned(), "0".to_owned()));
    }
    if budget.rate.is_some_and(|rate| rate.count == 0) {
        zero.push(("rate.count".to_owned(), "0".to_owned()));
    }
    zero
}

/// A count of nodes that this host has to reach, and never can: it tries no more than a few.
fn reachable(policy: &Policy, nodes: usize) -> Vec<PolicyDiagnostic> {
    let tried = nodes.min(REACH_SAMPLE);
    match policy.storm.reachable {
        CountOrPercent::Count(least) if least as usize > tried => {
            let why = format!("{least} nodes have to be reached, and no more than {tried} are tried");
            never("spec.storm.reachable", &why, &all(policy))
        }
        CountOrPercent::Count(_) | CountOrPercent::Percent(_) => Vec::new(),
    }
}

fn nodes_at_all(policy: &Policy, snapshot: &Snapshot) -> Vec<PolicyDiagnostic> {
    let total = snapshot.nodes.len();
    let selected: Vec<&Node> =
        snapshot.nodes.values().filter(|node| selector::matches(&policy.selector, &node.labels)).collect();
    if selected.is_empty() {
        return never("spec.selector", &format!("selects none of the {total} nodes"), &all(policy));
    }
    if policy.control_plane == ControlPlane::Never && selected.iter().all(|node| node.is_control_plane()) {
        let why =
            format!("Never, and all {} nodes that spec.selector selects are of the control plane", selected.len());
        return never("spec.controlPlane", &why, &all(policy));
    }
    Vec::new()
}

fn never(field: &str, why: &str, steps: &[&str]) -> Vec<PolicyDiagnostic> {
    let problem = format!("{why}; never begun: {}", steps.join(", "));
    (!steps.is_empty()).then(|| PolicyDiagnostic { field: field.to_owned(), problem }).into_iter().collect()
}

fn all(policy: &Policy) -> Vec<&'static str> {
    steps(policy, |_| true)
}

fn steps(policy: &Policy, is_of: impl Fn(DisruptionLevel) -> bool) -> Vec<&'static str> {
    let steps: &[StepSpec] = &policy.steps;
    steps.iter().filter(|step| is_of(disruption_level(step))).map(step_name).collect()
}
