//! A policy that can never act is known as such, with the field that forbids it.

use super::*;
use crate::{
    api::policy::{CordonStep, DrainStep, PowerStep, Requirement},
    guard::never::{anywhere, in_cluster},
    policy::Storm,
};

/// With wide limits, in a cluster of three nodes.
fn policy() -> Policy {
    let steps = vec![
        StepSpec { cordon: Some(CordonStep {}), ..StepSpec::default() },
        StepSpec { drain: Some(DrainStep::default()), ..StepSpec::default() },
        StepSpec { reboot: Some(PowerStep::default()), ..StepSpec::default() },
    ];
    Policy { name: "p".into(), steps, ..wide() }
}

fn found(policy: &Policy) -> Vec<String> {
    let nodes = (0..3).map(|number| format!("n{number}")).map(|name| (name.clone(), node(&name))).collect();
    let snapshot = Snapshot { nodes, policies: vec![policy.clone()], ..Snapshot::default() };
    in_cluster(&snapshot).remove("p").unwrap_or_default().iter().map(ToString::to_string).collect()
}

#[test]
fn a_policy_with_room_for_a_node_is_not_reported() {
    assert_eq!(found(&policy()), [""; 0]);
    let mut one_percent = policy();
    for budget in [&mut one_percent.budget, &mut one_percent.cordon_budget] {
        let one = CountOrPercent::Percent(1);
        (budget.cluster, budget.dead, budget.zone) = (one, one, one);
        budget.topology = vec![("rack".into(), one)];
    }
    one_percent.storm.unhealthy = CountOrPercent::Percent(1);
    assert_eq!(found(&one_percent), [""; 0], "a share that is not 0 is at least one node");
    let mut all_reached = policy();
    all_reached.storm.reachable = CountOrPercent::Count(3);
    assert_eq!(found(&all_reached), [""; 0], "as many as are tried");
}

#[test]
fn each_limit_that_forbids_everything_is_named_with_the_steps_that_it_forbids() {
    let zero = CountOrPercent::Percent(0);
    let none = Rate { count: 0, window: Duration::from_secs(60) };
    type Change = fn(&mut Policy, CountOrPercent, Rate);
    let cases: [(&str, &str, Change); 11] = [
        ("spec.cordonBudget.maxUnavailable", "cordon", |policy, zero, _| {
            (policy.cordon_budget.cluster, policy.cordon_budget.dead) = (zero, zero);
        }),
        ("spec.budget.maxUnavailable", "drain, reboot", |policy, zero, _| {
            (policy.budget.cluster, policy.budget.dead) = (zero, CountOrPercent::Count(0));
        }),
        ("spec.budget.maxUnavailablePerZone", "drain, reboot", |policy, zero, _| policy.budget.zone = zero),
        ("spec.budget.topology", "drain, reboot", |policy, zero, _| {
            policy.budget.topology = vec![("rack".into(), zero)];
        }),
        ("spec.budget.maxConcurrent", "drain, reboot", |policy, _, _| policy.budget.max_concurrent = Some(0)),
        ("spec.cordonBudget.rate.count", "cordon", |policy, _, none| policy.cordon_budget.rate = Some(none)),
        ("spec.storm.unhealthy", "cordon, drain, reboot", |policy, zero, _| policy.storm.unhealthy = zero),
        ("spec.powerCycles.count", "reboot", |policy, _, none| policy.power_cycles = none),
        ("spec.pods.count", "drain, reboot", |policy, _, none| policy.pods = none),
        ("spec.storm.reachable", "cordon, drain, reboot", |policy, _, _| {
            policy.storm.reachable = CountOrPercent::Count(4);
        }),
        ("spec.selector", "cordon, drain, reboot", |policy, _, _| {
            let operator = "Exists".to_owned();
            policy.selector.match_expressions = vec![Requirement { key: "gpu".into(), operator, values: Vec::new() }];
        }),
    ];
    for (field, steps, change) in cases {
        let mut policy = policy();
        change(&mut policy, zero, none);
        let found = found(&policy);
        assert_eq!(found.len(), 1, "{field}: {found:?}");
        assert!(found[0].starts_with(&format!("{field}: ")), "{field}: {found:?}");
        assert!(found[0].ends_with(&format!("; never begun: {steps}")), "{field}: {found:?}");
    }
}

/// What is found is no opinion: the guards block a dead node of such a policy in a cluster that is calm otherwise.
#[test]
fn a_budget_that_is_said_to_forbid_everything_does() {
    let mut fixture = Fixture::new();
    fixture.policy.budget.cluster = CountOrPercent::Count(0);
    fixture.policy.budget.dead = CountOrPercent::Count(0);
    fixture.policy.steps = policy().steps;
    assert!(reasons(&fixture.all_blockers().power).contains(&"BudgetCluster"));
    assert_eq!(anywhere(&fixture.policy).len(), 1);
    fixture.policy.budget.dead = CountOrPercent::Count(1);
    assert_eq!(anywhere(&fixture.policy), [], "a dead node has a slot");
}

#[test]
fn a_step_that_the_policy_does_not_have_is_not_missed() {
    let mut cordons = policy();
    cordons.steps.truncate(1);
    (cordons.pods.count, cordons.budget.max_concurrent) = (0, Some(0));
    assert_eq!(found(&cordons), [""; 0]);
}

#[test]
fn a_policy_for_control_planes_alone_that_leaves_them_alone_is_named() {
    let mut plane = node("cp");
    plane.labels.insert(CONTROL_PLANE[0].into(), String::new());
    let mut snapshot = Snapshot { policies: vec![policy()], ..Snapshot::default() };
    assert!(in_cluster(&snapshot).is_empty(), "no node is known");
    snapshot.nodes.insert("cp".into(), plane);
    assert!(in_cluster(&snapshot)["p"][0].field == "spec.controlPlane");
    snapshot.nodes.insert("n".into(), node("n"));
    assert!(in_cluster(&snapshot).is_empty());
    let storm = Storm { unhealthy: CountOrPercent::Count(0), ..Policy::default().storm };
    let nothing = Policy { storm, ..policy() };
    assert_eq!(anywhere(&nothing).len(), 1);
}
