//! The steps of a record by its request's spec.

use super::*;
use crate::external::record::opened;

fn steps(spec: Value, node: &Node) -> Value {
    let mut raw = raw();
    raw["spec"] = spec;
    let request = read(&raw);
    json!(opened(&request, request.spec.as_ref().unwrap(), node).unwrap().spec.steps)
}

#[test]
fn a_node_that_lives_is_drained_first_and_a_dead_one_is_not_waited_for() {
    let ready = steps(json!({ "drain": "20m" }), &node("n0"));
    assert!(ready[0]["cordon"].is_object() && ready[1]["drain"]["timeout"] == "20m", "{ready}");
    assert_eq!(ready[2]["powerCycle"]["leaveOff"], false);
    let dead = steps(json!({ "drain": "20m", "leaveOff": true }), &dead());
    assert!(dead[0]["taint"].is_object() && dead[1]["cordon"].is_object(), "{dead}");
    assert_eq!((&dead[2]["powerCycle"]["leaveOff"], dead.as_array().unwrap().len()), (&json!(true), 3));
}

#[test]
fn a_drain_of_no_time_is_refused() {
    for (spec, why) in [
        (json!({ "drain": "soon" }), "spec.drain: `soon` is no duration"),
        (json!({ "leaveOf": true }), "unknown field `leaveOf`"),
        (json!({ "drain": 5 }), "spec.drain"),
    ] {
        let mut raw = raw();
        raw["spec"] = spec;
        let error = read(&raw).spec.unwrap_err();
        assert!(error.contains(why), "{error}");
    }
    let mut empty = raw();
    empty["spec"] = Value::Null;
    assert!(read(&empty).spec.is_ok(), "a template without a spec");
}

#[test]
fn a_status_of_another_version_is_not_read_as_none() {
    let mut raw = raw();
    raw["status"] = json!({ "nodeFence": { "phase": "Hovering" } });
    assert!(Request::read(Source::Cluster, &raw).unwrap_err().starts_with("status: "));
}
