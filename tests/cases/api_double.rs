//! The API double answers as the real server does: these cases run on both, with a plain client.

use nodewell_tests::{
    cluster::{Call, Client, Cluster, Identity},
    double::Fault,
    suite::Suite,
};
use serde_json::{Value, json};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("api_double")
        .api("apply_owns_its_conditions", apply_owns_its_conditions)
        .api("a_change_by_a_peer_is_a_conflict", a_change_by_a_peer_is_a_conflict)
        .api("writers_have_no_names_before_the_first_apply", writers_have_no_names_before_the_first_apply)
        .api("two_appliers_conflict_by_name", two_appliers_conflict_by_name)
        .api("a_shared_condition_outlives_one_owner", a_shared_condition_outlives_one_owner)
        .api("rejections_have_their_messages", rejections_have_their_messages)
        .api("events_are_made_once_and_counted", events_are_made_once_and_counted)
        .api("an_access_review_shows_the_rights", an_access_review_shows_the_rights)
        .api("a_new_node_has_a_new_uid", a_new_node_has_a_new_uid)
        .api("a_patch_of_nothing_makes_no_version", a_patch_of_nothing_makes_no_version)
        .api(
            "a_forced_apply_with_a_version_is_of_that_version_only",
            a_forced_apply_with_a_version_is_of_that_version_only,
        )
        .api("leases_are_made_and_locked_by_version", leases_are_made_and_locked_by_version)
        .api_alone("a_killed_server_comes_back_with_its_content", a_killed_server_comes_back_with_its_content)
        .on_double("faults_come_as_scripted", faults_come_as_scripted);
}

/// A Node of this case alone, and its kubelet's client.
fn node(cluster: &Cluster, name: &str) -> Client {
    cluster.create_node(name);
    cluster.client(&Identity::Node(name.to_owned()))
}

fn apply(name: &str, manager: &str, conditions: &Value) -> Call {
    let body = json!({
        "apiVersion": "v1", "kind": "Node", "metadata": { "name": name }, "status": { "conditions": conditions },
    });
    Call::apply(&format!("/api/v1/nodes/{name}/status?fieldManager={manager}"), &body)
}

fn types(cluster: &Cluster, name: &str) -> Vec<String> {
    cluster.conditions(name).iter().map(|one| one["type"].as_str().unwrap().to_owned()).collect()
}

fn fields(answer: &Value) -> Vec<&str> {
    let causes = answer["details"]["causes"].as_array().unwrap();
    causes.iter().map(|cause| cause["field"].as_str().unwrap()).collect()
}

fn apply_owns_its_conditions(cluster: &Cluster) {
    let kubelet = node(cluster, "owner");
    cluster.write_as_peer("owner", "kubelet", &json!([{ "type": "Ready", "status": "True" }]));
    let time = "2026-11-21T03:00:00Z";
    let a = json!({ "type": "A", "status": "False", "reason": "R", "message": "m", "lastTransitionTime": time });
    let b = json!({ "type": "B", "status": "False", "reason": "R", "message": "m" });
    let (code, answer) = kubelet.call(&apply("owner", "us", &json!([a, b])).metadata_only());
    assert_eq!((code, answer["kind"].as_str()), (200, Some("PartialObjectMetadata")), "{answer}");
    assert!(answer["metadata"]["uid"].is_string() && answer["status"].is_null());
    let stored = cluster.condition("owner", "A").unwrap();
    assert_eq!(stored["lastTransitionTime"], time);
    assert!(stored.get("lastHeartbeatTime").is_some_and(Value::is_null));

    let (code, answer) = kubelet.call(&apply("owner", "us", &json!([{ "type": "B", "status": "True" }])));
    assert_eq!((code, answer["kind"].as_str()), (200, Some("Node")), "{answer}");
    assert_eq!(types(cluster, "owner"), ["Ready", "B"], "what is no longer applied is gone, the rest stays");
    let b = cluster.condition("owner", "B").unwrap();
    assert_eq!((&b["status"], b.get("message")), (&json!("True"), None), "fields too");
}

fn a_change_by_a_peer_is_a_conflict(cluster: &Cluster) {
    let kubelet = node(cluster, "peer");
    let ours = json!([{ "type": "A", "status": "False", "reason": "R", "message": "m" }]);
    assert_eq!(kubelet.call(&apply("peer", "us", &ours)).0, 200);
    let theirs = json!([{ "type": "A", "status": "True", "reason": "P" }, { "type": "C", "status": "False" }]);
    cluster.write_as_peer("peer", "node-problem-detector", &theirs);

    let (code, answer) = kubelet.call(&apply("peer", "us", &ours));
    assert_eq!((code, answer["reason"].as_str()), (409, Some("Conflict")), "{answer}");
    let (reason, status) = (".status.conditions[type=\"A\"].reason", ".status.conditions[type=\"A\"].status");
    assert_eq!(fields(&answer), [reason, status]);
    let who = "\"node-problem-detector\" with subresource \"status\" using v1";
    let cause = json!({ "reason": "FieldManagerConflict", "message": format!("conflict with {who}"), "field": reason });
    assert_eq!(answer["details"]["causes"][0], cause);
    let message = format!("Apply failed with 2 conflicts: conflicts with {who}:\n- {reason}\n- {status}");
    assert_eq!(answer["message"], message);

    // The same values are no conflict, and the message stayed ours.
    let agreed = json!([{ "type": "A", "status": "True", "reason": "P", "message": "new" }]);
    assert_eq!(kubelet.call(&apply("peer", "us", &agreed)).0, 200);
    assert_eq!(cluster.condition("peer", "A").unwrap()["message"], "new");
}

fn writers_have_no_names_before_the_first_apply(cluster: &Cluster) {
    let kubelet = node(cluster, "before");
    let theirs = json!([{ "type": "A", "status": "True" }, { "type": "B", "status": "True", "message": "m" }]);
    cluster.write_as_peer("before", "node-problem-detector", &theirs);
    let (code, answer) = kubelet.call(&apply("before", "us", &json!([{ "type": "A", "status": "False" }])));
    let field = ".status.conditions[type=\"A\"].status";
    let unnamed = "conflict with \"before-first-apply\" with subresource \"status\" using v1";
    let message = format!("Apply failed with 1 conflict: {unnamed}: {field}");
    assert_eq!((code, answer["message"].as_str()), (409, Some(message.as_str())));
    // What failed was no apply yet; this one is.
    cluster.write_as_peer("before", "node-problem-detector", &json!([{ "type": "A", "reason": "R" }]));
    assert_eq!(kubelet.call(&apply("before", "us", &json!([{ "type": "A", "status": "True" }]))).0, 200);
    cluster.write_as_peer("before", "node-problem-detector", &json!([{ "type": "A", "status": "Unknown" }]));
    let (code, answer) =
        kubelet.call(&apply("before", "us", &json!([{ "type": "A", "status": "True", "reason": "Q" }])));
    let reason = ".status.conditions[type=\"A\"].reason";
    // Writers of the same second come in any order.
    let mut clashing = fields(&answer);
    clashing.sort_unstable();
    assert_eq!((code, clashing), (409, vec![reason, field]));
    let owner = |field: &str| {
        let mut causes = answer["details"]["causes"].as_array().unwrap().iter();
        causes.find(|cause| cause["field"] == field).and_then(|cause| cause["message"].as_str()).unwrap()
    };
    assert_eq!(owner(reason), unnamed);
    assert_eq!(owner(field), "conflict with \"node-problem-detector\" with subresource \"status\" using v1");
    assert_eq!(kubelet.call(&apply("before", "us", &json!([]))).0, 200);
    assert_eq!(types(cluster, "before"), ["A", "B"], "they stay: others have them too");
}

fn two_appliers_conflict_by_name(cluster: &Cluster) {
    let kubelet = node(cluster, "two");
    let apply_status = |status: &str| json!([{ "type": "A", "status": status }]);
    assert_eq!(kubelet.call(&apply("two", "one", &apply_status("True"))).0, 200);
    let (code, answer) = kubelet.call(&apply("two", "other", &apply_status("False")));
    let field = ".status.conditions[type=\"A\"].status";
    let message = format!("Apply failed with 1 conflict: conflict with \"one\" with subresource \"status\": {field}");
    assert_eq!((code, answer["message"].as_str()), (409, Some(message.as_str())));
    assert_eq!(kubelet.call(&apply("two", "other&force=true", &apply_status("False"))).0, 200);
    assert_eq!(cluster.condition("two", "A").unwrap()["status"], "False");
}

fn a_shared_condition_outlives_one_owner(cluster: &Cluster) {
    let kubelet = node(cluster, "shared");
    let whole = json!([{ "type": "A", "status": "True", "message": "m" }]);
    assert_eq!(kubelet.call(&apply("shared", "one", &whole)).0, 200);
    assert_eq!(kubelet.call(&apply("shared", "two", &json!([{ "type": "A", "status": "True" }]))).0, 200);
    assert_eq!(kubelet.call(&apply("shared", "one", &json!([]))).0, 200);
    let left = cluster.condition("shared", "A").unwrap();
    assert_eq!((&left["status"], left.get("message")), (&json!("True"), None));
    assert_eq!(kubelet.call(&apply("shared", "two", &json!([]))).0, 200);
    assert_eq!(types(cluster, "shared"), [""; 0]);
}

fn rejections_have_their_messages(cluster: &Cluster) {
    let kubelet = node(cluster, "refused");
    cluster.create_node("refused-other");
    let ok = json!([{ "type": "A", "status": "True" }]);
    let expect = |call: &Call, code: u16, reason: &str, message: &str| {
        let (got, answer) = kubelet.call(call);
        let text = |field: &str| answer[field].as_str().unwrap_or_default();
        assert_eq!((got, text("reason"), text("message")), (code, reason, message), "{answer}");
    };
    let message =
        "nodes \"refused-other\" is forbidden: node \"refused\" is not allowed to modify node \"refused-other\"";
    expect(&apply("refused-other", "us", &ok), 403, "Forbidden", message);
    expect(&apply("refused-no", "us", &ok), 404, "NotFound", "nodes \"refused-no\" not found");
    let message = "415: Unsupported Media Type";
    expect(&apply("refused", "us", &ok).as_nonsense(), 415, "UnsupportedMediaType", message);
    let message = "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch";
    expect(&Call::apply("/api/v1/nodes/refused/status", &json!({})), 422, "Invalid", message);
    let bool_status = json!([{ "type": "Q", "status": true }]);
    let message = "failed to create typed patch object (/refused; /v1, Kind=Node): .status.conditions[type=\"Q\"].status: \
                   expected string, got &value.valueUnstructured{Value:true}";
    expect(&apply("refused", "us", &bool_status), 500, "", message);
    let twice = json!([{ "type": "A" }, { "type": "A" }]);
    let message = "failed to create typed patch object (/refused; /v1, Kind=Node): .status.conditions: duplicate \
                   entries for key [type=\"A\"]";
    expect(&apply("refused", "us", &twice), 500, "", message);

    let unknown = cluster.client(&Identity::Unknown).call(&apply("refused", "us", &ok));
    assert_eq!((unknown.0, unknown.1["reason"].as_str()), (401, Some("Unauthorized")));
    let stranger = cluster.client(&Identity::Stranger).call(&apply("refused", "us", &ok));
    assert_eq!((stranger.0, stranger.1["reason"].as_str()), (403, Some("Forbidden")));
    assert_eq!(kubelet.call(&Call::get("/api/v1/nodes/refused-other")).0, 403);
}

fn events_are_made_once_and_counted(cluster: &Cluster) {
    let kubelet = node(cluster, "counted");
    let all = "/api/v1/namespaces/default/events";
    let event = |name: &str, namespace: Option<&str>| {
        json!({
            "apiVersion": "v1", "kind": "Event", "metadata": { "name": name, "namespace": "default" },
            "involvedObject": { "kind": "Node", "name": "counted", "namespace": namespace },
            "reason": "Oops", "message": "m", "type": "Warning", "count": 1, "firstTimestamp": "2026-11-21T03:00:00Z",
        })
    };
    assert_eq!(kubelet.call(&Call::post(all, &event("counted.1", None))).0, 201);
    let (code, again) = kubelet.call(&Call::post(all, &event("counted.1", None)));
    assert_eq!((code, again["reason"].as_str()), (409, Some("AlreadyExists")));
    assert_eq!(again["message"], "events \"counted.1\" already exists");
    let one = format!("{all}/counted.1");
    assert_eq!(kubelet.call(&Call::merge(&one, &json!({ "count": 5 })).metadata_only()).0, 200);
    let stored = cluster.events("counted", "Oops");
    assert_eq!((stored.len(), &stored[0]["count"], &stored[0]["message"]), (1, &json!(5), &json!("m")));

    let (code, none) = kubelet.call(&Call::merge(&format!("{all}/counted.2"), &json!({ "count": 5 })));
    assert_eq!((code, none["message"].as_str()), (404, Some("events \"counted.2\" not found")));
    let (code, foreign) = kubelet.call(&Call::post(all, &event("counted.3", Some("kube-system"))));
    assert_eq!((code, foreign["reason"].as_str()), (422, Some("Invalid")), "{foreign}");
    assert_eq!(kubelet.call(&Call::get(all)).0, 403, "a node cannot list events");
}

fn an_access_review_shows_the_rights(cluster: &Cluster) {
    let kubelet = node(cluster, "reviewed");
    let allowed = |client: &Client, verb: &str, resource: &str, subresource: &str| {
        let wish = json!({ "verb": verb, "resource": resource, "subresource": subresource, "namespace": "default" });
        let body = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
            "spec": { "resourceAttributes": wish },
        });
        let (code, answer) = client.call(&Call::post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", &body));
        assert_eq!(code, 201, "{answer}");
        answer["status"]["allowed"].as_bool().unwrap()
    };
    assert!(allowed(&kubelet, "patch", "nodes", "status"));
    assert!(allowed(&kubelet, "create", "events", ""));
    assert!(!allowed(&kubelet, "delete", "events", ""));
    assert!(!allowed(&cluster.client(&Identity::Stranger), "patch", "nodes", "status"));
}

fn a_patch_of_nothing_makes_no_version(cluster: &Cluster) {
    let kubelet = node(cluster, "looked-at");
    let (_, reported) = kubelet.call(&apply("looked-at", "us", &json!([{ "type": "A", "status": "True" }])));
    let look = Call::merge("/api/v1/nodes/looked-at/status?fieldManager=us", &json!({})).metadata_only();
    let (code, seen) = kubelet.call(&look);
    assert_eq!((code, &seen["metadata"]["uid"]), (200, &reported["metadata"]["uid"]), "{seen}");
    assert_eq!(seen["metadata"]["resourceVersion"], reported["metadata"]["resourceVersion"]);
    assert_eq!(kubelet.call(&Call::merge("/api/v1/nodes/missing/status", &json!({}))).0, 404);
}

/// By it the agent takes over what a silent writer left, and not what one writes that is back.
fn a_forced_apply_with_a_version_is_of_that_version_only(cluster: &Cluster) {
    let kubelet = node(cluster, "versioned");
    let forced = |status: &str, version: &Value| {
        let body = json!({
            "apiVersion": "v1", "kind": "Node", "metadata": { "name": "versioned", "resourceVersion": version },
            "status": { "conditions": [{ "type": "A", "status": status }] },
        });
        kubelet.call(&Call::apply("/api/v1/nodes/versioned/status?fieldManager=us&force=true", &body))
    };
    let (_, seen) = kubelet.call(&apply("versioned", "us", &json!([{ "type": "A", "status": "False" }])));
    let (code, taken) = forced("Unknown", &seen["metadata"]["resourceVersion"]);
    assert_eq!(code, 200, "{taken}");
    cluster.write_as_peer("versioned", "node-problem-detector", &json!([{ "type": "A", "status": "True" }]));
    let (code, late) = forced("False", &taken["metadata"]["resourceVersion"]);
    assert_eq!((code, late["reason"].as_str()), (409, Some("Conflict")), "{late}");
    assert!(late["details"]["causes"].is_null(), "no conflict of fields: {late}");
    assert_eq!(cluster.condition("versioned", "A").unwrap()["status"], "True");
}

fn leases_are_made_and_locked_by_version(cluster: &Cluster) {
    let kubelet = node(cluster, "leasing");
    let admin = cluster.client(&Identity::Admin);
    cluster.create_namespace("nodewell");
    let leases = |namespace: &str| format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases");
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": "leasing" },
        "spec": { "holderIdentity": "leasing", "renewTime": "2026-11-21T03:00:00.000001Z" },
    });
    let patch = |version: &Value, second: u8| {
        let time = format!("2026-11-21T03:00:{second:02}.000000Z");
        let body = json!({ "metadata": { "resourceVersion": version }, "spec": { "renewTime": time } });
        Call::merge(&format!("{}/leasing", leases("nodewell")), &body)
    };
    assert_eq!(admin.call(&patch(&Value::Null, 1)).0, 404);
    assert_eq!(admin.call(&Call::post(&leases("nowhere"), &lease)).0, 404);
    let (code, made) = admin.call(&Call::post(&leases("nodewell"), &lease));
    assert_eq!((code, &made["spec"]["renewTime"]), (201, &json!("2026-11-21T03:00:00.000001Z")), "{made}");
    let (code, again) = admin.call(&Call::post(&leases("nodewell"), &lease));
    assert_eq!((code, again["reason"].as_str()), (409, Some("AlreadyExists")), "{again}");
    let version = &made["metadata"]["resourceVersion"];
    assert_eq!(admin.call(&patch(version, 2)).0, 200);
    let (code, late) = admin.call(&patch(version, 3));
    assert_eq!((code, late["reason"].as_str()), (409, Some("Conflict")), "{late}");
    let (code, refused) = kubelet.call(&patch(&Value::Null, 4));
    let message = refused["message"].as_str().unwrap();
    assert_eq!((code, message.contains("can only access leases in the \"kube-node-lease\"")), (403, true), "{message}");
    cluster.delete_lease("leasing");
    assert!(cluster.lease("leasing").is_none());
}

fn a_new_node_has_a_new_uid(cluster: &Cluster) {
    let first = cluster.create_node("reborn");
    cluster.delete_node("reborn");
    assert_ne!(cluster.create_node("reborn"), first);
}

fn a_killed_server_comes_back_with_its_content(cluster: &Cluster) {
    let kubelet = node(cluster, "killed");
    let apply_status = |status: &str| apply("killed", "us", &json!([{ "type": "A", "status": status }]));
    assert_eq!(kubelet.call(&apply_status("True")).0, 200);
    cluster.stop();
    assert_eq!(kubelet.call(&apply_status("False")).0, 0);
    cluster.start_again();
    assert_eq!(cluster.condition("killed", "A").unwrap()["status"], "True");
    assert_eq!(kubelet.call(&apply_status("False")).0, 200);
}

fn faults_come_as_scripted(cluster: &Cluster) {
    let kubelet = node(cluster, "faulty");
    let call = apply("faulty", "us", &json!([{ "type": "A", "status": "True" }]));
    let double = cluster.as_double();
    for code in [410, 415, 422, 500, 503] {
        double.fail_next(1, Fault::status(code));
        assert_eq!(kubelet.call(&call).0, code);
    }
    double.fail_next(1, Fault::Status { code: 429, retry_after: Some(1) });
    let (code, answer) = kubelet.call(&call);
    assert_eq!((code, &answer["details"]["retryAfterSeconds"]), (429, &json!(1)));
    double.fail_next(1, Fault::Reset);
    assert_eq!(kubelet.call(&call).0, 0);
    assert!(cluster.condition("faulty", "A").is_none());
    double.fail_next(1, Fault::LostAnswer);
    assert_eq!(kubelet.call(&call).0, 0);
    assert_eq!(cluster.condition("faulty", "A").unwrap()["status"], "True", "done, though the client got no answer");
    let codes: Vec<u16> = double.requests().iter().map(|request| request.code).collect();
    assert_eq!(codes, [410, 415, 422, 500, 503, 429, 0, 0]);
}
