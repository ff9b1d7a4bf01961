//! The definitions that are shipped have exactly the fields that the program reads and writes.

mod fields;

use std::collections::{BTreeMap, BTreeSet};

use nodewell_remediation::api::{
    fence::{NodeFenceSpec, NodeFenceStatus},
    policy::RemediationPolicySpec,
    request::{NodeFenceRemediationSpec, NodeFenceRemediationStatus},
};
use serde_json::Value;

const POLICIES: &str = include_str!("../../../packaging/crds/remediationpolicies.yaml");
const FENCES: &str = include_str!("../../../packaging/crds/nodefences.yaml");
const REQUESTS: &str = include_str!("../../../packaging/crds/nodefenceremediations.yaml");
const TEMPLATES: &str = include_str!("../../../packaging/crds/nodefenceremediationtemplates.yaml");

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
fn a_request_has_the_fields_of_its_definition_and_its_template_the_same() {
    assert_same(REQUESTS, "spec", fields::of::<NodeFenceRemediationSpec>("spec"));
    assert_same(REQUESTS, "status", fields::of::<NodeFenceRemediationStatus>("status"));
    let fields = |spec: Value| spec["properties"].clone();
    let template = schema(TEMPLATES, "spec")["properties"]["template"]["properties"]["spec"].clone();
    assert_eq!(fields(template), fields(schema(REQUESTS, "spec")));
}

/// node-healthcheck-operator and Cluster API take `Template` off the kind's name; Cluster API reads its contract's labels.
#[test]
fn the_kinds_of_requests_are_as_their_clients_expect_them() {
    for (text, kind) in [(REQUESTS, "NodeFenceRemediation"), (TEMPLATES, "NodeFenceRemediationTemplate")] {
        let definition: Value = serde_saphyr::from_str(text).unwrap();
        assert_eq!(
            (&definition["spec"]["names"]["kind"], &definition["spec"]["scope"]),
            (&kind.into(), &"Namespaced".into())
        );
        for contract in ["v1beta1", "v1beta2"] {
            let labels = &definition["metadata"]["labels"];
            assert_eq!(labels[format!("cluster.x-k8s.io/{contract}")], definition["spec"]["versions"][0]["name"]);
        }
    }
}

/// `kubectl get` fits a terminal: what may be long is a column of `-o wide`.
#[test]
fn what_has_any_length_is_no_column_by_default() {
    for text in [POLICIES, FENCES, REQUESTS, TEMPLATES] {
        let definition: Value = serde_saphyr::from_str(text).unwrap();
        let columns = &definition["spec"]["versions"][0]["additionalPrinterColumns"];
        let shown = columns.as_array().into_iter().flatten().filter(|column| column["priority"].is_null());
        for path in shown.map(|column| column["jsonPath"].as_str().unwrap()) {
            let is_long = ["when", "cause", "message", "text"].iter().any(|name| path.ends_with(&format!(".{name}")));
            assert!(!is_long, "{path}");
        }
    }
}

#[test]
fn steps_of_records_are_steps_of_policies() {
    let steps = |text| schema(text, "spec")["properties"]["steps"]["items"].clone();
    assert_eq!(steps(FENCES), steps(POLICIES));
}
