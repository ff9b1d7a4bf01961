//! Kubelets write Events about their own Node and in their own name, by the real server with the policy that is shipped.
//! Two kubelets, so that each may do what the other may not.

use std::path::Path;

use nodewell_tests::{
    cluster::{Call, Client, Cluster, Identity},
    suite::Suite,
    wait::until,
};
use serde_json::{Value, json};

use crate::identity_rights::{EVENTS, allowed, event, refused};

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("kubelet_events").real_alone("each_writes_of_its_own_in_its_own_name", each_writes_of_its_own);
}

const NODES: &str = "its own Node, its pods and their claims only";
const NAMES: &str = "carry its name and no other";

/// On a server of its own: the policy holds for every kubelet of the cluster, those of other cases too.
fn each_writes_of_its_own(cluster: &Cluster) {
    apply_policy(cluster);
    about_its_own_node(cluster);
    about_pods_and_claims_in_its_own_name(cluster);
    anothers_events_are_not_its_to_change(cluster);
    the_newer_api_is_no_way_round(cluster);
}

fn apply_policy(cluster: &Cluster) {
    let rbac = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/rbac");
    let path = rbac.join("kubelet-events/nodewell-kubelet-events.yaml");
    let outcome = cluster.as_real().kubectl(&["apply", "--filename", &path.to_string_lossy()]);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let kubelet = cluster.client(&Identity::Node("ke-probe".to_owned()));
    let probe = event("kubelet-events-probe", "another", &Value::Null);
    let dry = format!("{EVENTS}?dryRun=All");
    until("the policy is in force", || (kubelet.call(&Call::post(&dry, &probe)).0 == 422).then_some(()));
}

/// Two kubelets' clients, of the Nodes `name-a` and `name-b`.
fn kubelets(cluster: &Cluster, name: &str) -> (Client, Client) {
    let kubelet = |end: &str| cluster.client(&Identity::Node(format!("{name}-{end}")));
    (kubelet("a"), kubelet("b"))
}

fn post(event: &Value) -> Call {
    Call::post(EVENTS, event)
}

/// An Event named `name` about Node `about`, as the kubelet of `writer` makes one.
fn written(name: &str, about: &str, writer: &str) -> Value {
    let source = json!({ "component": "kubelet", "host": writer });
    event(name, about, &json!({ "source": source, "reportingComponent": "kubelet", "reportingInstance": writer }))
}

fn about_its_own_node(cluster: &Cluster) {
    let (a, b) = kubelets(cluster, "ke-own");
    allowed(&a, "about itself", &post(&written("ke-own.1", "ke-own-a", "ke-own-a")));
    allowed(&b, "about itself", &post(&written("ke-own.2", "ke-own-b", "ke-own-b")));
    refused(&a, "about b", &post(&written("ke-own.3", "ke-own-b", "ke-own-a")), NODES);
    refused(&b, "about a", &post(&written("ke-own.4", "ke-own-a", "ke-own-b")), NODES);
    refused(&a, "about b in b's name", &post(&written("ke-own.5", "ke-own-b", "ke-own-b")), NAMES);
    let mut nameless = written("ke-own.6", "ke-own-a", "");
    nameless["source"] = json!({ "component": "kubelet" });
    refused(&a, "in no user's name", &post(&nameless), NAMES);
    // Older kubelets set their name in `source` alone.
    let mut old = written("ke-own.7", "ke-own-a", "ke-own-a");
    old["reportingInstance"] = json!("");
    allowed(&a, "as an older kubelet", &post(&old));
}

fn about_pods_and_claims_in_its_own_name(cluster: &Cluster) {
    let (a, _) = kubelets(cluster, "ke-pods");
    for (number, (kind, writer, words)) in [
        ("Pod", "ke-pods-a", None),
        ("PersistentVolumeClaim", "ke-pods-a", None),
        ("Pod", "ke-pods-b", Some(NAMES)),
        ("Namespace", "ke-pods-a", Some(NODES)),
    ]
    .into_iter()
    .enumerate()
    {
        let mut about = written(&format!("ke-pods.{number}"), "x", writer);
        about["involvedObject"] = json!({ "kind": kind, "name": "x", "namespace": "default" });
        match words {
            None => drop(allowed(&a, kind, &post(&about))),
            Some(words) => refused(&a, kind, &post(&about), words),
        }
    }
}

fn anothers_events_are_not_its_to_change(cluster: &Cluster) {
    let (a, b) = kubelets(cluster, "ke-change");
    allowed(&a, "its own", &post(&written("ke-change.1", "ke-change-a", "ke-change-a")));
    allowed(&b, "its own", &post(&written("ke-change.2", "ke-change-b", "ke-change-b")));
    let merge = |name: &str, change: &Value| Call::merge(&format!("{EVENTS}/{name}"), change);
    allowed(&a, "counting its own", &merge("ke-change.1", &json!({ "count": 2 })));
    refused(&a, "counting b's", &merge("ke-change.2", &json!({ "count": 2 })), NAMES);
    let taken = json!({ "source": { "host": "ke-change-a" }, "reportingInstance": "ke-change-a",
        "involvedObject": { "name": "ke-change-a" } });
    refused(&a, "taking b's over", &merge("ke-change.2", &taken), "another's Events are not a kubelet's to change");
    let moved = json!({ "involvedObject": { "name": "ke-change-b" } });
    refused(&a, "moving its own to b", &merge("ke-change.1", &moved), NODES);
}

fn the_newer_api_is_no_way_round(cluster: &Cluster) {
    let (a, _) = kubelets(cluster, "ke-newer");
    let event = json!({
        "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": { "name": "ke-newer.1", "namespace": "default" },
        "regarding": { "kind": "Node", "name": "ke-newer-b" }, "reason": "R", "type": "Warning", "note": "n", "action": "a",
        "eventTime": "2026-11-22T10:00:00.000000Z", "reportingController": "kubelet", "reportingInstance": "ke-newer-a",
    });
    let path = "/apis/events.k8s.io/v1/namespaces/default/events";
    refused(&a, "about b", &Call::post(path, &event), NODES);
}
