//! Label selectors, as `metav1.LabelSelectorAsSelector` reads them.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

/// No selector selects nothing, an empty one everything. An operator that is not known selects: a caller that asks what
/// stands in the way of a pod gets too much rather than too little.
#[must_use]
pub fn selects(selector: Option<&LabelSelector>, labels: &BTreeMap<String, String>) -> bool {
    let Some(selector) = selector else { return false };
    let equal = selector.match_labels.iter().flatten().all(|(key, value)| labels.get(key) == Some(value));
    equal && selector.match_expressions.iter().flatten().all(|requirement| meets(requirement, labels))
}

fn meets(requirement: &LabelSelectorRequirement, labels: &BTreeMap<String, String>) -> bool {
    let value = labels.get(&requirement.key);
    let among = || value.is_some_and(|value| requirement.values.iter().flatten().any(|one| one == value));
    match requirement.operator.as_str() {
        "In" => among(),
        "NotIn" => !among(),
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn selected(selector: Value) -> bool {
        let labels = [("app".to_owned(), "web".to_owned()), ("tier".to_owned(), "front".to_owned())].into();
        let selector: Option<LabelSelector> = serde_json::from_value(selector).unwrap();
        selects(selector.as_ref(), &labels)
    }

    #[test]
    fn selectors_read_as_the_api_server_reads_them() {
        let one = |key: &str, operator: &str, values: &[&str]| json!({ "matchExpressions": [{ "key": key, "operator": operator, "values": values }] });
        for (selector, expected) in [
            (Value::Null, false),
            (json!({}), true),
            (json!({ "matchLabels": { "app": "web" } }), true),
            (json!({ "matchLabels": { "app": "db" } }), false),
            (one("app", "In", &["db", "web"]), true),
            (one("app", "NotIn", &["db"]), true),
            (one("gone", "NotIn", &["db"]), true),
            (one("gone", "In", &["db"]), false),
            (one("tier", "Exists", &[]), true),
            (one("tier", "DoesNotExist", &[]), false),
            (one("tier", "OfTheFuture", &[]), true),
        ] {
            assert_eq!(selected(selector.clone()), expected, "{selector}");
        }
    }
}
