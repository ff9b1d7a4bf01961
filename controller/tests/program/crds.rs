//! The definitions that are shipped have exactly the fields that the program reads and writes.

mod fields;

use std::collections::{BTreeMap, BTreeSet};

use nodewell_remediation::api::{
    fence::{NodeFenceSpec, NodeFenceStatus},
    policy::RemediationPolicySpec,
};
use serde_json::Value;

const POLICIES: &str = include_str!("../../../packaging/crds/remediationpolicies.yaml");
const FENCES: &str = include_str!("../../../packaging/crds/nodefences.yaml");

fn schema(text: &str, part: &str) -> Value {
    let definition: Value = serde_saphyr::from_str(text).unwrap();
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"][part].clone()
}

/// Each field by its path, with the values that it takes where they are listed.
fn described(schema: &Value, path: &str, into: &mut BTreeMap<String, BTreeSet<String>>) {
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        let item = if field["type"] == "array" { &field["items"] } else { field };
        let values = item["enum"].as_array().into_iter().flatten();
        into.insert(path.clone(), values.map(|value| value.as_str().unwrap().to_owned()).collect());
        described(item, &path, into);
    }
}

fn assert_same(text: &str, part: &str, read: BTreeMap<String, BTreeSet<String>>) {
    let mut shipped = BTreeMap::new();
    described(&schema(text, part), part, &mut shipped);
    // Kubernetes' own values, which we read as text.
    shipped.entry("spec.selector.matchExpressions.operator".into()).and_modify(BTreeSet::clear);
    for (path, values) in &mut shipped {
        if path.ends_with("matchExpressions.operator") {
            values.clear();
        }
    }
    let names = |fields: &BTreeMap<String, BTreeSet<String>>| fields.keys().cloned().collect::<BTreeSet<_>>();
    let missing: Vec<String> = names(&read).difference(&names(&shipped)).cloned().collect();
    let unknown: Vec<String> = names(&shipped).difference(&names(&read)).cloned().collect();
    assert!(missing.is_empty() && unknown.is_empty(), "not in the definition: {missing:?}; nowhere else: {unknown:?}");
    for (path, values) in read {
        assert_eq!(shipped[&path], values, "{path}");
    }
}

#[test]
fn a_policy_has_the_fields_of_its_definition() {
    assert_same(POLICIES, "spec", fields::of::<RemediationPolicySpec>("spec"));
}

#[test]
fn a_record_has_the_fields_of_its_definition() {
    assert_same(FENCES, "spec", fields::of::<NodeFenceSpec>("spec"));
    assert_same(FENCES, "status", fields::of::<NodeFenceStatus>("status"));
}

#[test]
fn steps_of_records_are_steps_of_policies() {
    let steps = |text| schema(text, "spec")["properties"]["steps"]["items"].clone();
    assert_eq!(steps(FENCES), steps(POLICIES));
}
