//! An admission policy of the cluster's owner that refuses a condition.

use serde_json::{Value, json};

/// The name of the policy that [`super::Cluster::refuse_condition`] makes, and its message.
pub(crate) const POLICY: &str = "nodewell-tests";
pub(crate) const POLICY_MESSAGE: &str = "not this condition";

/// A policy against Nodes with `condition`, and what puts it in force.
pub(super) fn refusing_policy(condition: &str) -> [(&'static str, Value); 2] {
    let nodes =
        json!([{ "apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["nodes/status"] }]);
    let expression =
        format!("!has(object.status.conditions) || !object.status.conditions.exists(c, c.type == '{condition}')");
    let object = |kind: &str, spec: Value| {
        let group = "admissionregistration.k8s.io/v1";
        json!({ "apiVersion": group, "kind": kind, "metadata": { "name": POLICY }, "spec": spec })
    };
    let policy = json!({
        "failurePolicy": "Fail",
        "matchConstraints": { "resourceRules": nodes },
        "validations": [{ "expression": expression, "message": POLICY_MESSAGE }],
    });
    let binding = json!({ "policyName": POLICY, "validationActions": ["Deny"] });
    [
        ("validatingadmissionpolicies", object("ValidatingAdmissionPolicy", policy)),
        ("validatingadmissionpolicybindings", object("ValidatingAdmissionPolicyBinding", binding)),
    ]
}
