//! Whether the holder of a node's Lease is the one that asked for its record.

use super::*;
use crate::external::customer::{health_check, holder, proven};

fn stored(nodes: Value) -> Value {
    json!({ "metadata": { "name": "workers", "uid": "nhc-1" }, "status": { "unhealthyNodes": nodes } })
}

/// As node-healthcheck-operator lists a request.
fn of(kind: &str, timed_out: bool) -> Value {
    let group = if kind == "NodeFenceRemediation" { "nodewell.dev" } else { "self-node-remediation.medik8s.io" };
    let mut one = json!({
        "resource": { "apiVersion": format!("{group}/v1alpha1"), "kind": kind, "namespace": "ops", "name": "n0",
            "uid": "u-1" },
        "started": "2026-01-01T00:00:00Z", "templateName": "fence",
    });
    if timed_out {
        one["timedOut"] = json!("2026-01-01T00:10:00Z");
    }
    one
}

fn is_proven(stored: &Value) -> Result<String, String> {
    let request = read(&raw());
    let owner = health_check(&request).unwrap();
    proven(&request, owner, stored, "n0").map(|customer| customer.holder)
}

#[test]
fn a_customer_is_who_the_health_check_itself_confirms() {
    let ours = || of("NodeFenceRemediation", false);
    let snr = "SelfNodeRemediation";
    assert_eq!(
        is_proven(&stored(json!([{ "name": "n0", "remediations": [ours()] }]))).unwrap(),
        "NodeHealthCheck-workers"
    );
    let escalated = json!([{ "name": "n0", "remediations": [of(snr, true), ours()] }]);
    assert!(is_proven(&stored(escalated)).is_ok(), "the one before has timed out");
    let second = json!([{ "name": "n0", "remediations": [of("NodeFenceRemediation", true)] }]);
    assert!(is_proven(&stored(second)).is_ok(), "it lists the first of a kind only");
    for (nodes, why) in [
        (json!(null), "does not have n0"),
        (json!([]), "does not have n0"),
        (json!([{ "name": "n1", "remediations": [ours()] }]), "does not have n0"),
        (json!([{ "name": "n0" }]), "does not list this request"),
        (json!([{ "name": "n0", "remediations": [of(snr, true)] }]), "does not list this request"),
        (json!([{ "name": "n0", "remediations": [of(snr, false), ours()] }]), "SelfNodeRemediation under way"),
        (json!([{ "name": "n0", "remediations": [ours(), {}] }]), "another kind under way"),
    ] {
        let error = is_proven(&stored(nodes)).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
    for group in ["example.com/v1", "v1"] {
        let mut foreign = ours();
        foreign["resource"]["apiVersion"] = json!(group);
        let error = is_proven(&stored(json!([{ "name": "n0", "remediations": [ours(), foreign] }]))).unwrap_err();
        assert!(error.contains("has a NodeFenceRemediation under way"), "a kind of that name of {group}: {error}");
    }
    let mut another = stored(json!([{ "name": "n0", "remediations": [ours()] }]));
    another["metadata"]["uid"] = json!("nhc-2");
    assert!(is_proven(&another).unwrap_err().contains("another UID"));
}

#[test]
fn the_owner_is_read_in_any_version_and_of_no_other_group() {
    let owner = |version: &str, kind: &str| {
        let mut raw = raw();
        raw["metadata"]["ownerReferences"][0]["apiVersion"] = json!(version);
        raw["metadata"]["ownerReferences"][0]["kind"] = json!(kind);
        health_check(&read(&raw)).map(holder)
    };
    assert_eq!(owner("remediation.medik8s.io/v1", "NodeHealthCheck").as_deref(), Some("NodeHealthCheck-workers"));
    for (version, kind) in [("example.com/v1", "NodeHealthCheck"), ("remediation.medik8s.io/v1", "MachineHealthCheck")]
    {
        assert_eq!(owner(version, kind), None);
    }
    let management = Request::read(Source::Management, &raw()).unwrap();
    assert_eq!(health_check(&management), None, "the Lease is of this cluster");
}
