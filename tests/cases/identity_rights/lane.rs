//! Requests of agents travel in a lane of their own.

use nodewell_tests::cluster::{Call, Cluster};
use serde_json::{Value, json};

use super::{EVENTS, LEASES, apply, event, lease, node_with_agent};

/// By the server's own report: the answer names the FlowSchema that took the request.
pub(super) fn requests_travel_in_a_lane_of_their_own(cluster: &Cluster) {
    cluster.as_real().apply_manifests();
    let path = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/nodewell";
    let (code, schema) = cluster.admin(&Call::get(path));
    assert_eq!((code, &schema["spec"]["priorityLevelConfiguration"]["name"]), (200, &json!("nodewell")));
    let conditions = schema["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let dangling = conditions.iter().find(|one| one["type"] == "Dangling").map(|one| one["status"].clone());
    assert_ne!(dangling, Some(json!("True")), "{schema}");
    let node = "rights-lane";
    let agent = node_with_agent(cluster, node);
    let lane = schema["metadata"]["uid"].as_str().unwrap();
    let taken_by = |call: &Call| agent.header(call, "x-kubernetes-pf-flowschema-uid");
    nodewell_tests::wait::until("the lane is in force", || {
        (taken_by(&apply(node, "KernelUnhealthy")) == lane).then_some(())
    });
    assert_eq!(taken_by(&Call::post(EVENTS, &event("rights-lane.1", node, &Value::Null))), lane);
    let uid = cluster.node_uid(node);
    assert_eq!(taken_by(&Call::post(LEASES, &lease(node, node, &uid))), lane);
}
