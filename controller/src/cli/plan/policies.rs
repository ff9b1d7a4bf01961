//! What each policy reports of one node, and which policies can never act.

use nodewell_remediation::{
    decide::Memory,
    facts::Node,
    guard::never,
    policy::{Policy, duration::show, selector},
    snapshot::Snapshot,
    time::Moment,
};
use serde_json::{Value, json};

/// What one policy makes of the node.
pub(super) struct PolicyResult {
    pub(super) policy: String,
    pub(super) text: String,
}

pub(super) fn of(snapshot: &Snapshot, memory: &Memory, node: &Node, now: Moment) -> Vec<PolicyResult> {
    let result = |policy: &Policy| PolicyResult {
        policy: policy.name.clone(),
        text: format!("{:?}, {}", policy.mode, text(policy, memory, node, now)),
    };
    let unreadable = snapshot.unreadable_policies.iter();
    let unreadable =
        unreadable.map(|(name, why)| PolicyResult { policy: name.clone(), text: format!("cannot be read: {why}") });
    let mut all: Vec<PolicyResult> = snapshot.policies.iter().map(result).chain(unreadable).collect();
    all.sort_by(|a, b| a.policy.cmp(&b.policy));
    all
}

fn text(policy: &Policy, memory: &Memory, node: &Node, now: Moment) -> String {
    if !selector::matches(&policy.selector, &node.labels) {
        return "does not select it".to_owned();
    }
    let age = |since: Moment| show(std::time::Duration::from_secs(now.since(since).as_secs()));
    match memory.result(&policy.name, &node.name) {
        Some((Ok(true), since)) => {
            let by = if memory.is_by_events_alone(&policy.name, &node.name) {
                ", by Events alone: it opens nothing"
            } else {
                ""
            };
            format!("true of it for {}{by}", age(since))
        }
        Some((Ok(false), _)) => "selects it, is not true of it".to_owned(),
        Some((Err(error), _)) => format!("cannot be judged of it: {error}"),
        None => "has not been asked".to_owned(),
    }
}

pub(super) fn as_json(all: &[PolicyResult]) -> Value {
    all.iter().map(|result| json!({ "policy": result.policy, "result": result.text })).collect()
}

/// A line for each policy that never acts in this cluster, or has a step that is never begun.
pub(super) fn that_never_act(snapshot: &Snapshot) -> String {
    let line = |(name, why): (String, String)| format!("policy {name} never acts by {why}\n");
    never_acting(snapshot).map(line).collect()
}

/// The same for scripts: the reasons by policy.
pub(super) fn that_never_act_as_json(snapshot: &Snapshot) -> Value {
    never_acting(snapshot).map(|(policy, why)| json!({ "policy": policy, "why": why })).collect()
}

fn never_acting(snapshot: &Snapshot) -> impl Iterator<Item = (String, String)> {
    let all = never::in_cluster(snapshot).into_iter();
    all.flat_map(|(name, found)| found.into_iter().map(move |why| (name.clone(), why.to_string())))
}

#[cfg(test)]
mod tests {
    use nodewell_remediation::api::policy::StepSpec;

    use super::*;

    #[test]
    fn a_policy_that_can_never_act_is_shown_with_its_field() {
        let mut policy = Policy { name: "lost".into(), ..Policy::default() };
        policy.steps = vec![StepSpec { cordon: Some(Default::default()), ..StepSpec::default() }];
        let mut snapshot = Snapshot { policies: vec![policy], ..Snapshot::default() };
        snapshot.nodes.insert("n".into(), Node { name: "n".into(), ..Node::default() });
        assert_eq!(that_never_act(&snapshot), "");
        snapshot.policies[0].cordon_budget.max_concurrent = Some(0);
        let line = "policy lost never acts by spec.cordonBudget.maxConcurrent: 0; never begun: cordon\n";
        assert_eq!(that_never_act(&snapshot), line);
        assert_eq!(that_never_act_as_json(&snapshot)[0]["policy"], "lost");
    }
}
