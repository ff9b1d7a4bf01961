//! How much of the policies' budgets is used: by living nodes, and by dead ones.

use crate::report::Budget;

/// Only budgets of which anything is used: in a calm cluster nothing.
pub(super) fn shown(usage: &[Budget]) -> String {
    usage.iter().filter(|one| one.living + one.dead > 0).map(line).collect()
}

fn line(one: &Budget) -> String {
    let Budget { policy, field, living, max_unavailable, dead, max_dead } = one;
    format!(
        "policy {policy}, {field}: {living} living nodes are unavailable (maxUnavailable {max_unavailable}), \
         {dead} are dead (maxDead {max_dead})\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_numbers_are_shown_where_any_is_taken() {
        let usage = |living, dead| Budget {
            policy: "lost".into(),
            field: "budget".into(),
            living,
            max_unavailable: 1,
            dead,
            max_dead: 2,
        };
        assert_eq!(shown(&[usage(0, 0)]), "");
        let text = shown(&[usage(1, 0)]);
        assert!(text.contains("1 living nodes are unavailable (maxUnavailable 1), 0 are dead (maxDead 2)"), "{text}");
        assert_eq!(serde_json::json!(usage(1, 0))["maxDead"], 2);
    }
}
