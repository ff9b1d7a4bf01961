//! Budgets: of the cluster, each zone and each other domain, and of one policy.
//!
//! Each has two numbers, U (`maxUnavailable`) for the living and D (`maxDead`) for the dead, so that a node that lives and
//! only reports that it is unhealthy keeps no dead one from being fenced, nor the other way round:
//!
//! - for a living node: all that is unavailable with it, less at most D dead ones, is at most U;
//! - for a dead node one of two: all that is unavailable with it is at most U; or, with it, at most D nodes are lost (dead, or not
//!   known to live) and at most U + D nodes are lost or under remediation;
//! - for a node of which that is not known: both.
//!
//! Either way no more than U + D are unavailable by what the controller does. [`super::life`] decides who is dead.

use super::{
    EvaluationInput, Subject,
    reason::{BUDGET_CLUSTER, BUDGET_TOPOLOGY, BUDGET_ZONE, MAX_CONCURRENT},
    stage::DisruptionLevel,
    tally::{self, DomainCounts, Tally},
};
use crate::{
    api::fence::Blocker,
    facts::{Node, ZONE},
    message::MessageArgs,
    policy::{Budget, CountOrPercent, Policy},
    snapshot::Snapshot,
    time::Moment,
};

/// The budget of acts of this level, and its field.
pub(super) fn of(policy: &Policy, level: DisruptionLevel) -> (&Budget, &'static str) {
    match level {
        DisruptionLevel::Isolate => (&policy.cordon_budget, "cordonBudget"),
        DisruptionLevel::Drain | DisruptionLevel::Power => (&policy.budget, "budget"),
    }
}

pub(super) fn blockers(input: &EvaluationInput<'_>, subject: &Subject<'_>, level: DisruptionLevel) -> Vec<Blocker> {
    let (budget, field) = of(subject.policy, level);
    let check = BudgetCheck { input, subject, level, budget, field };
    let mut blockers: Vec<_> = check.cluster().into_iter().collect();
    blockers.extend(subject.node.into_iter().flat_map(|node| check.domains(node)));
    blockers.extend(check.max_concurrent());
    blockers
}

/// One node, and the budget that an act on it would take from.
struct BudgetCheck<'a> {
    input: &'a EvaluationInput<'a>,
    subject: &'a Subject<'a>,
    level: DisruptionLevel,
    budget: &'a Budget,
    field: &'static str,
}

impl BudgetCheck<'_> {
    fn cluster(&self) -> Option<Blocker> {
        let counts = self.input.tally.cluster(self.subject.name, self.level);
        let limit = Limit { living: self.budget.cluster.of(counts.total), dead: self.budget.dead.of(counts.total) };
        self.over(limit, counts)?.blocker(BUDGET_CLUSTER, &[("field", &self.field)]).into()
    }

    /// A node that is gone is in none; it has a blocker of its own.
    fn domains(&self, node: &Node) -> Vec<Blocker> {
        let field = self.field;
        let zone = self.domain(node, ZONE, self.budget.zone).map(|over| {
            let zone = format!("`{}`", tally::domain(Some(node), ZONE));
            let field = format!("{field}.maxUnavailablePerZone");
            over.blocker(BUDGET_ZONE, &[("domain", &zone), ("field", &field)])
        });
        let others = self.budget.topology.iter().filter_map(|(label, quota)| {
            let over = self.domain(node, label, *quota)?;
            let domain = format!("{label}=`{}`", tally::domain(Some(node), label));
            Some(over.blocker(BUDGET_TOPOLOGY, &[("domain", &domain), ("field", &format!("{field}.topology"))]))
        });
        zone.into_iter().chain(others).collect()
    }

    /// As many dead ones as of the living, and no more than of the whole cluster.
    fn domain(&self, node: &Node, label: &str, quota: CountOrPercent) -> Option<Over> {
        let counts = self.input.tally.domain(node, label, self.level);
        let living = quota.of(counts.total);
        let dead = living.min(self.budget.dead.of(self.input.snapshot.nodes.len()));
        self.over(Limit { living, dead }, counts)
    }

    /// What one more would make, if that is too many. Where it is unknown whether it lives, both rules have to allow
    /// it: less knowledge never allows more.
    fn over(&self, limit: Limit, counts: DomainCounts) -> Option<Over> {
        let (tally, name) = (&self.input.tally, self.subject.name);
        match (tally.is_dead(name), tally.is_unknown(name)) {
            (true, _) => over_dead(limit, counts),
            (false, true) => over_living(limit, counts).or_else(|| over_dead(limit, counts)),
            (false, false) => over_living(limit, counts),
        }
    }

    fn max_concurrent(&self) -> Option<Blocker> {
        let most = self.budget.max_concurrent?;
        let Subject { name, policy, .. } = self.subject;
        let others = self.input.tally.under_remediation(&policy.name, self.level, name);
        (others >= most as usize).then(|| {
            let (field, lives) = (self.field, if self.input.tally.is_dead(name) { "dead" } else { "living" });
            let args: MessageArgs<'_> = &[
                ("policy", &policy.name),
                ("others", &others),
                ("lives", &lives),
                ("limit", &most),
                ("field", &field),
            ];
            Blocker::of(MAX_CONCURRENT, args)
        })
    }
}

fn over_living(limit: Limit, counts: DomainCounts) -> Option<Over> {
    let unavailable = counts.unavailable - counts.others_dead.min(limit.dead);
    (unavailable > limit.living).then_some(Over::Living { unavailable, limit, total: counts.total })
}

fn over_dead(limit: Limit, counts: DomainCounts) -> Option<Over> {
    let DomainCounts { unavailable, lost, lost_or_remediated, .. } = counts;
    let is_allowed =
        unavailable <= limit.living || lost <= limit.dead && lost_or_remediated <= limit.living + limit.dead;
    (!is_allowed).then_some(Over::Dead { limit, counts })
}

/// Which limit one more node would pass, with the counts.
enum Over {
    Living { unavailable: usize, limit: Limit, total: usize },
    Dead { limit: Limit, counts: DomainCounts },
}

impl Over {
    /// `names` is what the message of `reason` has beside the counts.
    fn blocker(&self, reason: &str, names: MessageArgs<'_>) -> Blocker {
        match self {
            Self::Living { unavailable, limit, total } => {
                let args: MessageArgs<'_> =
                    &[("unavailable", unavailable), ("total", total), ("living", &limit.living), ("dead", &limit.dead)];
                Blocker::of(&format!("{reason}/living"), &[args, names].concat())
            }
            Self::Dead { limit, counts } => {
                let both = limit.living + limit.dead;
                let args: MessageArgs<'_> = &[
                    ("lost", &counts.lost),
                    ("total", &counts.total),
                    ("dead", &limit.dead),
                    ("lost_or_remediated", &counts.lost_or_remediated),
                    ("both", &both),
                ];
                Blocker::of(&format!("{reason}/dead"), &[args, names].concat())
            }
        }
    }
}

/// How much of one budget is taken in the whole cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BudgetUsage {
    pub policy: String,
    /// `budget` or `cordonBudget`.
    pub field: &'static str,
    /// Unavailable nodes that are not dead, and how many may be.
    pub living: usize,
    pub most_living: usize,
    /// Dead nodes, and how many may be without a slot of the living.
    pub dead: usize,
    pub most_dead: usize,
}

/// Both budgets of each policy, as they are taken now.
#[must_use]
pub fn usage(snapshot: &Snapshot, now: Moment) -> Vec<BudgetUsage> {
    let (total, unavailable, dead) = Tally::new(snapshot, now).totals();
    let of_policy = |policy: &Policy, level| {
        let (budget, field) = of(policy, level);
        let (most_living, most_dead) = (budget.cluster.of(total), budget.dead.of(total));
        BudgetUsage { policy: policy.name.clone(), field, living: unavailable - dead, most_living, dead, most_dead }
    };
    let both = |policy| [DisruptionLevel::Isolate, DisruptionLevel::Power].map(|level| of_policy(policy, level));
    snapshot.policies.iter().flat_map(both).collect()
}

/// How many nodes of the cluster, or of a domain, may be unavailable.
#[derive(Clone, Copy)]
struct Limit {
    living: usize,
    dead: usize,
}
