//! One question of the API server, and its answer: pure.

use nodewell_remediation::{
    policy::{Policy, PolicyDiagnostic, warnings},
    snapshot::Snapshot,
    time::Now,
};
use serde_json::{Value, json};

/// The API server shows no more of one warning.
const WARNING_CHARS: usize = 256;
const MOST_WARNINGS: usize = 8;

/// The review with its answer; nothing if it asks for something else. `snapshot` is the cluster, if it is known whole.
#[must_use]
pub fn answer(review: &Value, snapshot: Option<&Snapshot>, now: Now) -> Option<Value> {
    let request = &review["request"];
    let uid = request["uid"].as_str()?;
    if request["kind"]["kind"] != "RemediationPolicy" {
        return None;
    }
    let response = match Policy::of_json(&named(request)) {
        Ok(policy) => json!({ "uid": uid, "allowed": true, "warnings": of(&policy, snapshot, now) }),
        // What is broken already is mended step by step, and deleted: neither changes what it asks for.
        Err(diagnostics) if is_unchanged(request) => {
            json!({ "uid": uid, "allowed": true, "warnings": cut(diagnostics.iter().map(ToString::to_string)) })
        }
        Err(diagnostics) => json!({ "uid": uid, "allowed": false, "status": refusal(&diagnostics) }),
    };
    Some(json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response }))
}

/// One that gets its name from the server has none yet.
fn named(request: &Value) -> Value {
    let mut policy = request["object"].clone();
    let metadata = &policy["metadata"];
    if metadata["name"].as_str().is_none_or(str::is_empty) && metadata["generateName"].is_string() {
        policy["metadata"]["name"] = metadata["generateName"].clone();
    }
    policy
}

fn is_unchanged(request: &Value) -> bool {
    request["operation"] == "UPDATE" && request["oldObject"]["spec"] == request["object"]["spec"]
}

fn refusal(diagnostics: &[PolicyDiagnostic]) -> Value {
    let message: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
    let cause =
        |one: &PolicyDiagnostic| json!({ "reason": "FieldValueInvalid", "field": one.field, "message": one.problem });
    json!({
        "code": 422, "reason": "Invalid", "message": message.join("; "),
        "details": { "causes": diagnostics.iter().map(cause).collect::<Vec<_>>() },
    })
}

fn of(policy: &Policy, snapshot: Option<&Snapshot>, now: Now) -> Vec<String> {
    let of_cluster = snapshot.map(|snapshot| warnings::in_cluster(policy, snapshot, now)).unwrap_or_default();
    cut(warnings::of_events(policy).map(str::to_owned).into_iter().chain(of_cluster))
}

fn cut(warnings: impl Iterator<Item = String>) -> Vec<String> {
    warnings.take(MOST_WARNINGS).map(|warning| warning.chars().take(WARNING_CHARS).collect()).collect()
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use nodewell_remediation::time::Moment;

    use super::*;

    fn asked(operation: &str, before: &Value, spec: &Value) -> Value {
        let object = |spec: &Value| json!({ "metadata": { "name": "p" }, "spec": spec });
        let review = json!({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "request": { "uid": "u-1", "kind": { "group": "nodewell.dev", "kind": "RemediationPolicy" },
                "operation": operation, "object": object(spec), "oldObject": object(before) },
        });
        let now = Now { moment: Moment::default(), wall: Timestamp::UNIX_EPOCH };
        answer(&review, None, now).unwrap()["response"].clone()
    }

    fn with(when: &str) -> Value {
        json!({ "when": when, "steps": [{ "cordon": {} }] })
    }

    #[test]
    fn what_can_never_be_right_is_refused_in_its_field() {
        for (when, expected) in [
            ("conditions.Redy.status == 'True'", "is `Ready` meant?"),
            ("node.age > \"5m\"", "compares an int with a string"),
            ("2 + 2", "not true or false"),
        ] {
            let response = asked("CREATE", &Value::Null, &with(when));
            assert_eq!((&response["allowed"], &response["uid"]), (&json!(false), &json!("u-1")), "{response}");
            let message = response["status"]["message"].as_str().unwrap();
            assert!(message.starts_with("spec.when: ") && message.contains(expected), "{message}");
            assert_eq!(response["status"]["details"]["causes"][0]["field"], "spec.when");
        }
    }

    #[test]
    fn what_is_right_is_allowed_with_its_warnings() {
        let response = asked("CREATE", &Value::Null, &with("!node.ready"));
        assert_eq!((&response["allowed"], &response["warnings"]), (&json!(true), &json!([])));
        let response = asked("UPDATE", &with("node.ready"), &with("'DiskFell' in events"));
        assert!(response["warnings"][0].as_str().unwrap().starts_with("Events alone open no record"), "{response}");
    }

    #[test]
    fn what_was_broken_before_can_be_labelled_and_deleted_but_not_broken_otherwise() {
        let response = asked("UPDATE", &with("2 + 2"), &with("2 + 2"));
        assert!(response["allowed"] == true && response["warnings"][0].as_str().unwrap().contains("spec.when"));
        assert_eq!(asked("UPDATE", &with("2 + 2"), &with("2 + 3"))["allowed"], false);
        assert_eq!(asked("CREATE", &with("2 + 2"), &with("2 + 2"))["allowed"], false);
    }

    #[test]
    fn a_name_that_the_server_makes_is_one() {
        let mut review = json!({ "request": { "uid": "u", "kind": { "kind": "RemediationPolicy" }, "operation": "CREATE",
            "object": { "metadata": { "generateName": "p-" }, "spec": with("node.ready") } } });
        let now = Now { moment: Moment::default(), wall: Timestamp::UNIX_EPOCH };
        assert_eq!(answer(&review, None, now).unwrap()["response"]["allowed"], true);
        review["request"]["kind"]["kind"] = json!("NodeFence");
        assert_eq!(answer(&review, None, now), None);
    }
}
