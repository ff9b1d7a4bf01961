//! Which Node a Machine is.

use std::collections::BTreeMap;

use super::*;
use crate::external::machine::{is_of_another_cluster, node as node_of, owner, path};

fn request() -> Request {
    let raw = json!({ "metadata": { "name": "m-1", "namespace": "fleet", "uid": "u-9", "resourceVersion": "1",
        "labels": { "cluster.x-k8s.io/cluster-name": "prod" },
        "ownerReferences": [{ "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "name": "m-1", "uid": "m-uid" }] } });
    Request::read(Source::Management, &raw).unwrap()
}

fn machine() -> Value {
    json!({ "metadata": { "name": "m-1", "uid": "m-uid" },
        "spec": { "clusterName": "prod", "providerID": "metal://1" }, "status": { "nodeRef": { "name": "n0" } } })
}

fn nodes(provider: &str) -> BTreeMap<String, Node> {
    let mut node = dead();
    node.provider_id = provider.into();
    [("n0".to_owned(), node)].into()
}

type Change = fn(&mut Value);

fn result(change: Change, provider: &str) -> Result<String, String> {
    let mut machine = machine();
    change(&mut machine);
    let found = node_of(&request(), &machine, "prod", &nodes(provider)).map(|node| node.name.clone());
    found.map_err(|blocker| blocker.message)
}

#[test]
fn a_machine_is_a_node_when_its_own_machine_is_proven_to_be() {
    assert_eq!(result(|_| {}, "metal://1").as_deref(), Ok("n0"));
    let uid: Change = |machine| machine["status"]["nodeRef"]["uid"] = json!("uid-n0");
    assert_eq!(result(uid, "metal://1").as_deref(), Ok("n0"));
    let uid_alone: Change = |machine| {
        machine["status"]["nodeRef"]["uid"] = json!("uid-n0");
        machine["spec"]["providerID"] = json!(null);
    };
    assert_eq!(result(uid_alone, "").as_deref(), Ok("n0"), "as v1beta1 has it");
}

#[test]
fn whatever_is_missing_or_speaks_against_it_blocks() {
    let cases: [(Change, &str, &str); 10] = [
        (|machine| machine["metadata"]["uid"] = json!("another"), "metal://1", "another one than request"),
        (|machine| machine["spec"]["clusterName"] = json!("staging"), "metal://1", "is of cluster staging"),
        (|machine| machine["spec"]["clusterName"] = json!(null), "metal://1", "is of cluster none"),
        (|machine| machine["status"] = json!({}), "metal://1", "no status.nodeRef"),
        (|machine| machine["status"]["nodeRef"]["name"] = json!(""), "metal://1", "no status.nodeRef"),
        (|machine| machine["status"]["nodeRef"]["name"] = json!("n7"), "metal://1", "no such Node"),
        (|machine| machine["status"]["nodeRef"]["uid"] = json!("uid-old"), "metal://1", "another UID"),
        (|_| {}, "metal://2", "differ"),
        (|_| {}, "", "nothing proves"),
        (|machine| machine["spec"]["providerID"] = json!(null), "metal://1", "nothing proves"),
    ];
    for (change, provider, why) in cases {
        let error = result(change, provider).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
    let both: Change = |machine| machine["status"]["nodeRef"]["uid"] = json!("uid-n0");
    assert!(result(both, "metal://2").unwrap_err().contains("differ"), "one proof does not outweigh a contradiction");
}

#[test]
fn a_request_of_another_name_than_its_machine_is_none_of_cluster_apis() {
    let mut other = request();
    other.name = "m-2".into();
    assert!(node_of(&other, &machine(), "prod", &nodes("metal://1")).is_err());
    other.owners.clear();
    assert!(node_of(&other, &machine(), "prod", &nodes("metal://1")).unwrap_err().message.contains("no Machine owns"));
}

#[test]
fn a_machine_is_read_where_its_owner_reference_names_it() {
    let request = request();
    let found = owner(&request).and_then(|owner| path(&request, owner));
    assert_eq!(found.as_deref(), Some("/apis/cluster.x-k8s.io/v1beta2/namespaces/fleet/machines/m-1"));
    let mut odd = owner(&request).unwrap().clone();
    odd.name = "../../nodes".into();
    assert_eq!(path(&request, &odd), None);
    assert!(!is_of_another_cluster(&request, "prod") && is_of_another_cluster(&request, "staging"));
}
