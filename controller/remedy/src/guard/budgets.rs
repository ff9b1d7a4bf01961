//! Budgets: of the cluster, each zone and each other domain, and of one policy's hands.

use super::{
    Scene, Subject,
    reason::{AT_ONCE, BUDGET_CLUSTER, BUDGET_TOPOLOGY, BUDGET_ZONE},
    stage::Grade,
    tally,
};
use crate::{
    api::fence::Hold,
    facts::ZONE,
    policy::{Budget, Policy, Quota},
};

/// The budget of acts of this grade, and its field.
pub(super) fn of(policy: &Policy, grade: Grade) -> (&Budget, &'static str) {
    match grade {
        Grade::Isolate => (&policy.cordon_budget, "cordonBudget"),
        Grade::Drain | Grade::Power => (&policy.budget, "budget"),
    }
}

pub(super) fn holds(scene: &Scene<'_>, subject: &Subject<'_>, grade: Grade) -> Vec<Hold> {
    let (budget, field) = of(subject.policy, grade);
    let cluster = over(budget.cluster, scene.tally.cluster(subject.name))
        .map(|text| Hold::new(BUDGET_CLUSTER, format!("{text} of the cluster ({field}.maxUnavailable)")));
    let mut holds: Vec<_> = cluster.into_iter().collect();
    holds.extend(domains(scene, subject, budget, field));
    holds.extend(at_once(scene, subject, grade, budget, field));
    holds
}

/// A node that is gone is in no domain; it has a hold of its own.
fn domains(scene: &Scene<'_>, subject: &Subject<'_>, budget: &Budget, field: &str) -> Vec<Hold> {
    let Some(node) = subject.node else { return Vec::new() };
    let zone = over(budget.zone, scene.tally.domain(node, ZONE)).map(|text| {
        let zone = tally::domain(Some(node), ZONE);
        Hold::new(BUDGET_ZONE, format!("{text} of zone `{zone}` ({field}.maxUnavailablePerZone)"))
    });
    let others = budget.topology.iter().filter_map(|(label, quota)| {
        let text = over(*quota, scene.tally.domain(node, label))?;
        let value = tally::domain(Some(node), label);
        Some(Hold::new(BUDGET_TOPOLOGY, format!("{text} of {label}=`{value}` ({field}.topology)")))
    });
    zone.into_iter().chain(others).collect()
}

fn over(quota: Quota, (total, out): (usize, usize)) -> Option<String> {
    let most = quota.of(total);
    (out > most)
        .then(|| format!("with this node {out} nodes would be out of service, at most {most} of {total} may be"))
}

fn at_once(scene: &Scene<'_>, subject: &Subject<'_>, grade: Grade, budget: &Budget, field: &str) -> Option<Hold> {
    let most = budget.at_once?;
    let others = scene.tally.in_hand(&subject.policy.name, grade, subject.name);
    (others >= most as usize).then(|| {
        let text = format!("policy {} has {others} other nodes in hand, {field}.atOnce is {most}", subject.policy.name);
        Hold::new(AT_ONCE, text)
    })
}
