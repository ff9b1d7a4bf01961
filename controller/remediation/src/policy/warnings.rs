//! What is right in a policy and may not be what was meant: for the person who writes it.

use super::{Policy, selector};
use crate::{
    api::policy::Mode,
    facts::Node,
    guard::stage::{DisruptionLevel, disruption_level},
    snapshot::Snapshot,
    time::Now,
};

/// A predicate that is true of so many nodes, all of them, is no sign of a fault.
const FEWEST_OF_ALL: usize = 3;

/// What Events have to do with it; nothing if it does not ask for them.
#[must_use]
pub fn of_events(policy: &Policy) -> Option<&'static str> {
    match (policy.when.uses_events(), policy.trust_events) {
        (false, _) => None,
        (true, true) => Some("trustEvents: any client that may write Events has any selected node remediated"),
        (true, false) => {
            Some("Events alone open no record; a condition that the node itself reports has to be needed beside them")
        }
    }
}

/// What the nodes of this cluster have to say to it.
#[must_use]
pub fn in_cluster(policy: &Policy, snapshot: &Snapshot, now: Now) -> Vec<String> {
    let is_selected = |node: &&Node| selector::matches(&policy.selector, &node.labels);
    let selected: Vec<&Node> = snapshot.nodes.values().filter(is_selected).collect();
    if snapshot.nodes.is_empty() {
        return Vec::new();
    }
    if selected.is_empty() {
        return vec![format!("spec.selector: it selects none of the {} nodes", snapshot.nodes.len())];
    }
    let of_budgets = mutual_block(policy, snapshot.nodes.len());
    unreported(policy, snapshot).chain(of_answers(policy, &selected, snapshot, now)).chain(of_budgets).collect()
}

/// A node that is cordoned counts as unavailable for all others: more of these than may be drained are drained never.
fn mutual_block(policy: &Policy, nodes: usize) -> Option<String> {
    let levels: Vec<DisruptionLevel> = policy.steps.iter().map(disruption_level).collect();
    let is_begun = |level: &DisruptionLevel| *level == DisruptionLevel::Isolate;
    let (cordons, disrupts) = (levels.iter().any(is_begun), !levels.iter().all(is_begun));
    let (cordoned, disrupted) = (policy.cordon_budget.cluster.of(nodes), policy.budget.cluster.of(nodes));
    (cordons && disrupts && cordoned > disrupted).then(|| {
        format!(
            "spec.cordonBudget.maxUnavailable: {cordoned} of {nodes} living nodes may be cordoned, and \
             spec.budget.maxUnavailable has room for {disrupted}: more than that block each other's drain and power; \
             set both alike"
        )
    })
}

/// Conditions that it asks for and no node has.
fn unreported<'p>(policy: &'p Policy, snapshot: &'p Snapshot) -> impl Iterator<Item = String> + 'p {
    let is_reported = |kind: &str| snapshot.nodes.values().any(|node| node.condition(kind).is_some());
    let asked = policy.when.conditions().into_iter().filter(move |kind| !is_reported(kind));
    asked.map(|kind| format!("spec.when: no node reports the condition {kind} now"))
}

fn of_answers(policy: &Policy, selected: &[&Node], snapshot: &Snapshot, now: Now) -> Option<String> {
    let answers: Vec<_> = selected.iter().map(|node| policy.when.judge(node, snapshot, now)).collect();
    let (all, errors) = (selected.len(), answers.iter().filter(|answer| answer.is_err()).count());
    if let Some(error) = answers.iter().find_map(|answer| answer.as_ref().err()) {
        let what = format!("it cannot be judged of {errors} of {all} selected nodes now, which blocks them");
        return Some(format!("spec.when: {what}: {error}"));
    }
    let is_all = answers.iter().all(|answer| *answer == Ok(true));
    let is_odd = is_all && all >= FEWEST_OF_ALL && policy.mode == Mode::Enforce;
    is_odd.then(|| format!("spec.when: it is true of all {all} selected nodes now, and the mode is Enforce"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing;

    fn warnings(spec: serde_json::Value, nodes: usize) -> Vec<String> {
        let mut spec = spec;
        spec["steps"] = json!([{ "cordon": {} }]);
        let policy = Policy::of_json(&json!({ "metadata": { "name": "p" }, "spec": spec })).unwrap();
        let nodes = (0..nodes).map(|number| testing::node(&format!("n{number}")));
        let nodes = nodes.map(|node| (node.name.clone(), node)).collect();
        in_cluster(&policy, &Snapshot { nodes, ..Snapshot::default() }, testing::now(1000))
    }

    #[test]
    fn more_nodes_that_may_be_cordoned_than_drained_are_a_warning() {
        let of = |cordoned: u32, drained: u32, steps: serde_json::Value| {
            let spec = json!({
                "when": "conditions.Ready.status != 'True'", "steps": steps,
                "cordonBudget": { "maxUnavailable": cordoned }, "budget": { "maxUnavailable": drained },
            });
            let policy = Policy::of_json(&json!({ "metadata": { "name": "p" }, "spec": spec })).unwrap();
            mutual_block(&policy, 5)
        };
        let both = || json!([{ "cordon": {} }, { "drain": {} }]);
        assert!(of(3, 1, both()).is_some_and(|text| text.contains("3 of 5 living nodes may be cordoned")));
        assert_eq!(of(2, 2, both()), None);
        assert_eq!(of(1, 3, both()), None);
        assert_eq!(of(3, 1, json!([{ "cordon": {} }])), None, "nothing comes after it");
    }

    #[test]
    fn what_the_nodes_contradict_is_a_warning() {
        let of_ready = json!({ "when": "conditions.Ready.status != 'True'", "mode": "Enforce" });
        assert_eq!(warnings(of_ready, 5), [""; 0], "what is right of some cluster warns of nothing");
        let all = json!({ "when": "conditions.Ready.status == 'True'", "mode": "Enforce" });
        assert_eq!(
            warnings(all.clone(), 5),
            ["spec.when: it is true of all 5 selected nodes now, and the mode is Enforce"]
        );
        assert_eq!(warnings(all, 2), [""; 0], "two nodes may both be ill");
        assert_eq!(warnings(json!({ "when": "node.ready" }), 5), [""; 0], "it only observes");
        let unknown = warnings(json!({ "when": "has(conditions.Odd) && conditions.Odd.status == 'True'" }), 5);
        assert_eq!(unknown, ["spec.when: no node reports the condition Odd now"]);
        let unasked = warnings(json!({ "when": "node.labels.gpu == 'bad'" }), 5);
        assert!(unasked[0].contains("cannot be judged of 5 of 5 selected nodes now"), "{unasked:?}");
        let none = json!({ "when": "node.ready", "selector": { "matchLabels": { "a": "b" } } });
        assert_eq!(warnings(none, 5), ["spec.selector: it selects none of the 5 nodes"]);
        assert_eq!(warnings(json!({ "when": "node.ready" }), 0), [""; 0], "nothing is known yet");
    }
}
