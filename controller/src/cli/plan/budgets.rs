//! How much of the policies' budgets is taken: by the living, and by the dead.

use nodewell_remediation::guard::budgets::Taken;
use serde_json::{Value, json};

/// Only what is taken: in a calm cluster nothing.
pub(super) fn shown(taken: &[Taken]) -> String {
    taken.iter().filter(|one| one.living + one.dead > 0).map(line).collect()
}

fn line(one: &Taken) -> String {
    let Taken { policy, field, living, most_living, dead, most_dead } = one;
    format!(
        "policy {policy}, {field}: {living} living nodes are out of service (maxUnavailable {most_living}), \
         {dead} are dead (maxDead {most_dead})\n"
    )
}

pub(super) fn as_json(taken: &[Taken]) -> Value {
    let one = |one: &Taken| {
        json!({
            "policy": one.policy, "field": one.field, "living": one.living, "maxUnavailable": one.most_living,
            "dead": one.dead, "maxDead": one.most_dead,
        })
    };
    taken.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_numbers_are_shown_where_any_is_taken() {
        let taken =
            |living, dead| Taken { policy: "lost".into(), field: "budget", living, most_living: 1, dead, most_dead: 2 };
        assert_eq!(shown(&[taken(0, 0)]), "");
        let text = shown(&[taken(1, 0)]);
        assert!(
            text.contains("1 living nodes are out of service (maxUnavailable 1), 0 are dead (maxDead 2)"),
            "{text}"
        );
        assert_eq!(as_json(&[taken(1, 0)])[0]["maxDead"], 2);
    }
}
