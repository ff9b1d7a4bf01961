//! Identities of the agents' own, as docs/identity.md has them asked for and approved.

use std::{thread, time::Duration};

use nodewell_tests::wait::until_within;
use serde_json::Value;

use crate::cluster::Cluster;

const SOON: Duration = Duration::from_secs(90);
/// Where the agents' Leases are.
pub const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/nodewell/leases";

/// Has each worker's agent ask for an identity of its own, looks at who asked, and approves it as docs/identity.md
/// says.
///
/// # Panics
/// If one does not get it, or has no Lease by it.
pub fn enroll(cluster: &Cluster) {
    enroll_while(cluster, || {
        for worker in cluster.workers() {
            let kubelet = format!("system:node:{}", worker.name());
            let request = until_within(SOON, &format!("{kubelet} asks"), || name_of(&request_of(cluster, &kubelet)?));
            cluster.must_kubectl(&["certificate", "approve", &request]);
        }
    });
}

/// The same with no person: what each asked for is approved by the controller's approver.
///
/// # Panics
/// If one does not get it, or has no Lease by it.
pub fn enroll_without_a_person(cluster: &Cluster) {
    enroll_while(cluster, || {});
}

fn enroll_while(cluster: &Cluster, meanwhile: impl FnOnce()) {
    thread::scope(|scope| {
        for worker in cluster.workers() {
            scope.spawn(|| {
                let done = worker.inside().run(["nodewell", "enroll", "--timeout", "2m"]);
                assert_eq!(done.code, 0, "{}: {}{}", worker.name(), done.stdout, done.stderr);
            });
        }
        meanwhile();
    });
    for worker in cluster.workers() {
        until_within(SOON, &format!("{} has a Lease of its own", worker.name()), || {
            let lease = cluster.api().get(&format!("{LEASES}/{}", worker.name()))?;
            lease["spec"]["renewTime"].as_str().map(drop)
        });
    }
}

fn name_of(request: &Value) -> Option<String> {
    request["metadata"]["name"].as_str().map(str::to_owned)
}

/// What this user has asked for an agent.
#[must_use]
pub fn request_of(cluster: &Cluster, requestor: &str) -> Option<Value> {
    let requests = cluster.api().get("/apis/certificates.k8s.io/v1/certificatesigningrequests")?;
    let is_theirs = |request: &&Value| {
        request["spec"]["username"] == requestor
            && request["metadata"]["labels"]["app.kubernetes.io/name"] == "nodewell"
    };
    requests["items"].as_array()?.iter().find(is_theirs).cloned()
}
