//! How much of the policies' budgets is used: by living nodes, and by dead ones.

use nodewell_remediation::guard::budgets::BudgetUsage;
use serde_json::{Value, json};

/// Only budgets of which anything is used: in a calm cluster nothing.
pub(super) fn shown(usage: &[BudgetUsage]) -> String {
    usage.iter().filter(|one| one.living + one.dead > 0).map(line).collect()
}

fn line(one: &BudgetUsage) -> String {
    let BudgetUsage { policy, field, living, most_living, dead, most_dead } = one;
    format!(
        "policy {policy}, {field}: {living} living nodes are unavailable (maxUnavailable {most_living}), \
         {dead} are dead (maxDead {most_dead})\n"
    )
}

pub(super) fn as_json(usage: &[BudgetUsage]) -> Value {
    let one = |one: &BudgetUsage| {
        json!({
            "policy": one.policy, "field": one.field, "living": one.living, "maxUnavailable": one.most_living,
            "dead": one.dead, "maxDead": one.most_dead,
        })
    };
    usage.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_numbers_are_shown_where_any_is_taken() {
        let usage = |living, dead| BudgetUsage {
            policy: "lost".into(),
            field: "budget",
            living,
            most_living: 1,
            dead,
            most_dead: 2,
        };
        assert_eq!(shown(&[usage(0, 0)]), "");
        let text = shown(&[usage(1, 0)]);
        assert!(text.contains("1 living nodes are unavailable (maxUnavailable 1), 0 are dead (maxDead 2)"), "{text}");
        assert_eq!(as_json(&[usage(1, 0)])[0]["maxDead"], 2);
    }
}
