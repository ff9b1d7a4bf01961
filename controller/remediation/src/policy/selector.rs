//! Label selectors, as Kubernetes has them.

use std::collections::BTreeMap;

use crate::api::policy::{Requirement, Selector};

/// Whether `labels` are selected. The empty selector selects everything; a requirement that cannot be read, nothing.
#[must_use]
pub fn matches(selector: &Selector, labels: &BTreeMap<String, String>) -> bool {
    selector.match_labels.iter().all(|(key, value)| labels.get(key) == Some(value))
        && selector.match_expressions.iter().all(|requirement| meets(requirement, labels.get(&requirement.key)))
}

/// As `apimachinery/pkg/labels` has it: a label that is missing is not in any set.
fn meets(requirement: &Requirement, value: Option<&String>) -> bool {
    let among = || value.is_some_and(|value| requirement.values.contains(value));
    match requirement.operator.as_str() {
        "In" => among(),
        "NotIn" => !among(),
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        _ => false,
    }
}

/// What is wrong with the selector, each with its field below the selector's own.
#[must_use]
pub fn check(selector: &Selector) -> Vec<(String, String)> {
    let empty = selector.match_labels.keys().filter(|key| key.is_empty());
    let empty = empty.map(|_| ("matchLabels".to_owned(), "has an empty key".to_owned()));
    let wrong = selector.match_expressions.iter().enumerate().filter_map(|(at, requirement)| {
        check_requirement(requirement).map(|(field, problem)| (format!("matchExpressions[{at}].{field}"), problem))
    });
    empty.chain(wrong).collect()
}

fn check_requirement(requirement: &Requirement) -> Option<(&'static str, String)> {
    let some = !requirement.values.is_empty();
    match requirement.operator.as_str() {
        _ if requirement.key.is_empty() => Some(("key", "is empty".into())),
        "In" | "NotIn" if !some => Some(("values", format!("{} needs at least one value", requirement.operator))),
        "Exists" | "DoesNotExist" if some => Some(("values", format!("{} takes no values", requirement.operator))),
        "In" | "NotIn" | "Exists" | "DoesNotExist" => None,
        other => Some(("operator", format!("`{other}` is none of In, NotIn, Exists, DoesNotExist"))),
    }
}
