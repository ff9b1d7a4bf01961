//! An agent writes its own Lease, whatever its Node is called.

use nodewell_tests::cluster::{Call, Cluster};
use serde_json::{Value, json};

use super::{LEASES, allowed, lease, node_with_agent, refused};

pub(super) fn own_lease_only(cluster: &Cluster) {
    let node = "rights-lease";
    let agent = node_with_agent(cluster, node);
    let uid = cluster.node_uid(node);
    let apply =
        |name: &str, lease: &Value| Call::apply(&format!("{LEASES}/{name}?fieldManager=nodewell&force=true"), lease);
    allowed(&agent, "its own", &apply(node, &lease(node, node, &uid)));
    let renewed = json!({ "spec": { "renewTime": "2026-11-21T10:01:00.000000Z" } });
    allowed(&agent, "renewing it", &Call::merge(&format!("{LEASES}/{node}"), &renewed));

    let words = "the Lease rights-lease in namespace nodewell only";
    refused(&agent, "another's", &apply("other", &lease("other", "other", "u")), words);
    refused(&agent, "making another's", &Call::post(LEASES, &lease("other", "other", "u")), words);
    assert_eq!(cluster.admin(&Call::post(LEASES, &lease("rights-there", "rights-there", "u"))).0, 201);
    refused(&agent, "renewing another's", &Call::merge(&format!("{LEASES}/rights-there"), &renewed), words);
    let owned = "owned by its Node";
    refused(
        &agent,
        "no owner's",
        &Call::merge(&format!("{LEASES}/{node}"), &json!({ "metadata": { "ownerReferences": null } })),
        owned,
    );
    refused(&agent, "another's by owner", &apply(node, &lease(node, "other", &uid)), owned);
    refused(&agent, "reading its own", &Call::get(&format!("{LEASES}/{node}")), "cannot");
    refused(&agent, "deleting its own", &Call::delete(&format!("{LEASES}/{node}")), "cannot");
    for namespace in ["kube-node-lease", "kube-system", "default", "nodewell-controller"] {
        let path = format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases");
        refused(&agent, namespace, &Call::post(&path, &lease(node, node, &uid)), "cannot");
        let path = format!("{path}/{node}");
        refused(&agent, namespace, &Call::merge(&path, &renewed), "cannot");
    }
}

/// Its own Lease may be called anything; the leader's is where it has no role, whatever policies are in force.
pub(super) fn a_node_named_like_the_leader_is_no_leader(cluster: &Cluster) {
    for node in ["nodewell-controller", "nodewell-controller-reach-cp-1"] {
        let agent = node_with_agent(cluster, node);
        let uid = cluster.node_uid(node);
        let path = format!("{LEASES}/{node}?fieldManager=nodewell&force=true");
        allowed(&agent, "its own", &Call::apply(&path, &lease(node, node, &uid)));
        let leaders = "/apis/coordination.k8s.io/v1/namespaces/nodewell-controller/leases";
        let path = format!("{leaders}/{node}?fieldManager=nodewell&force=true");
        refused(&agent, "the leader's", &Call::apply(&path, &lease(node, node, &uid)), "cannot patch");
        refused(&agent, "making it", &Call::post(leaders, &lease(node, node, &uid)), "cannot create");
    }
}
