//! An agent writes Events about its own Node, in its own name, and reads none.

use nodewell_tests::cluster::{Call, Cluster};
use serde_json::{Value, json};

use super::{EVENTS, allowed, event, node_with_agent, refused};

pub(super) fn own_events_only(cluster: &Cluster) {
    let node = "rights-events";
    let agent = node_with_agent(cluster, node);
    let post = |event: &Value| Call::post(EVENTS, event);
    allowed(&agent, "an Event about itself", &post(&event("rights-events.1", node, &Value::Null)));
    let one = format!("{EVENTS}/rights-events.1");
    allowed(&agent, "its count", &Call::merge(&one, &json!({ "count": 2, "lastTimestamp": "2026-11-21T10:00:00Z" })));
    allowed(&agent, "a look at it", &Call::merge(&one, &json!({})));

    let words = "this identity reports on Node rights-events only";
    refused(&agent, "another Node's", &post(&event("rights-events.2", "other", &Value::Null)), words);
    let pod = json!({ "involvedObject": { "kind": "Pod", "name": node, "namespace": "default" } });
    refused(&agent, "a Pod's", &post(&event("rights-events.3", node, &pod)), words);
    let kubelet = json!({ "reportingComponent": "kubelet" });
    refused(&agent, "in the kubelet's name", &post(&event("rights-events.4", node, &kubelet)), "carry its name");
    let moved = json!({ "involvedObject": { "name": "other" } });
    refused(&agent, "moved to another Node", &Call::merge(&one, &moved), words);
    for (number, more) in [
        (5, json!({ "reportingComponent": "kubelet", "reportingInstance": node })),
        (
            6,
            json!({ "involvedObject": { "apiVersion": "v1", "kind": "Node", "name": "other" }, "reportingInstance": "other" }),
        ),
    ] {
        let name = format!("rights-events.{number}");
        assert_eq!(cluster.admin(&post(&event(&name, node, &more))).0, 201);
        let path = format!("{EVENTS}/{name}");
        let takes = json!({ "count": 99, "reportingComponent": "nodewell", "reportingInstance": node,
            "involvedObject": { "name": node } });
        refused(&agent, "another's", &Call::merge(&path, &json!({ "count": 99 })), "");
        refused(&agent, "another's, made to look like its own", &Call::merge(&path, &takes), "another's Events");
    }
    refused(&agent, "reading", &Call::get(EVENTS), "cannot");
    refused(&agent, "reading its own", &Call::get(&one), "cannot");
    refused(&agent, "deleting its own", &Call::delete(&one), "cannot");
    let elsewhere = "/api/v1/namespaces/kube-system/events";
    let mut there = event("rights-events.7", node, &Value::Null);
    there["metadata"]["namespace"] = json!("kube-system");
    refused(&agent, "another namespace", &Call::post(elsewhere, &there), "cannot");
}
