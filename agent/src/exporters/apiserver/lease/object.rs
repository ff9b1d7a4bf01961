//! The JSON of the Lease: made once, then renewed by a small patch, without a read.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::exporters::apiserver::{
    ApiserverConfig,
    connection::{Call, FIELD_MANAGER},
    stats::RequestKind,
};

/// All agents' Leases are here, and nothing else that is ours to write.
pub(super) const NAMESPACE: &str = "nodewell";

/// The boot that is about to end by a shutdown of the whole system.
pub(super) const SHUTDOWN: &str = "nodewell.dev/shutdown";

/// A new Lease of the Node with `uid`; without an owner, while that is not known.
pub(super) fn create(config: &ApiserverConfig, uid: Option<&str>, now: Timestamp) -> Call {
    let mut spec = spec(config, now);
    spec["acquireTime"] = micro(now).into();
    let mut metadata = json!({ "name": config.node_name, "namespace": NAMESPACE });
    if let Some(uid) = uid {
        metadata["ownerReferences"] = owner(config, uid);
    }
    let body = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec,
    });
    call(RequestKind::CreateLease, "", body)
}

/// What a renewal carries beside the time.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Renewal<'a> {
    /// It must still be as it was at this version; else it is a conflict.
    pub(super) version: Option<u64>,
    /// The Lease may belong to a Node that is no more.
    pub(super) new_owner: Option<&'a str>,
}

pub(super) fn renew(config: &ApiserverConfig, renewal: Renewal<'_>, now: Timestamp) -> Call {
    let mut body = json!({ "spec": spec(config, now) });
    if let Some(version) = renewal.version {
        body["metadata"]["resourceVersion"] = version.to_string().into();
    }
    if let Some(uid) = renewal.new_owner {
        body["metadata"]["ownerReferences"] = owner(config, uid);
        // Of a boot before, or of a shutdown that was cancelled.
        body["metadata"]["annotations"] = json!({ SHUTDOWN: null });
    }
    call(RequestKind::RenewLease, &format!("/{}", config.node_name), body)
}

/// The last renewal of a boot that ends in an orderly way.
pub(super) fn announce(config: &ApiserverConfig, boot_id: &str, now: Timestamp) -> Call {
    let body = json!({ "metadata": { "annotations": { SHUTDOWN: boot_id } }, "spec": spec(config, now) });
    call(RequestKind::RenewLease, &format!("/{}", config.node_name), body)
}

fn spec(config: &ApiserverConfig, now: Timestamp) -> Value {
    json!({
        "holderIdentity": config.node_name,
        "leaseDurationSeconds": config.lease.duration().as_secs(),
        "renewTime": micro(now),
    })
}

fn owner(config: &ApiserverConfig, uid: &str) -> Value {
    json!([{ "apiVersion": "v1", "kind": "Node", "name": config.node_name, "uid": uid }])
}

/// The only form `metav1.MicroTime` takes.
fn micro(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

fn call(kind: RequestKind, name: &str, body: Value) -> Call {
    let leases = format!("/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases");
    Call {
        kind,
        path: format!("{leases}{name}?fieldManager={FIELD_MANAGER}"),
        content_type: if kind == RequestKind::CreateLease {
            "application/json"
        } else {
            "application/merge-patch+json"
        },
        body: body.to_string().into_bytes(),
        whole_answer: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_lease_belongs_to_its_node_and_a_renewal_is_small() {
        let config = ApiserverConfig::new(std::path::PathBuf::from("/k"), "n1");
        let now = "2026-01-02T03:04:05.678901234Z".parse().unwrap();
        let made: Value = serde_json::from_slice(&create(&config, Some("u-1"), now).body).unwrap();
        assert_eq!(made["metadata"]["ownerReferences"][0]["uid"], "u-1");
        assert_eq!(made["spec"]["renewTime"], "2026-01-02T03:04:05.678901Z");
        assert_eq!(made["spec"]["leaseDurationSeconds"], 240);
        let renewal = renew(&config, Renewal { version: Some(123_456_789), new_owner: None }, now);
        assert!(renewal.path.contains("/namespaces/nodewell/leases/n1?") && renewal.body.len() < 180);
        let patch: Value = serde_json::from_slice(&renewal.body).unwrap();
        assert_eq!(patch["metadata"], json!({ "resourceVersion": "123456789" }));
    }

    #[test]
    fn a_shutdown_is_announced_with_its_boot_and_the_next_start_takes_it_back() {
        let config = ApiserverConfig::new(std::path::PathBuf::from("/k"), "n1");
        let body = |call: Call| serde_json::from_slice::<Value>(&call.body).unwrap();
        let announced = body(announce(&config, "boot-1", Timestamp::UNIX_EPOCH));
        assert_eq!(announced["metadata"], json!({ "annotations": { "nodewell.dev/shutdown": "boot-1" } }));
        assert_eq!(announced["spec"]["holderIdentity"], "n1");
        let first = body(renew(&config, Renewal { version: None, new_owner: Some("u") }, Timestamp::UNIX_EPOCH));
        assert!(first["metadata"]["annotations"].as_object().unwrap()["nodewell.dev/shutdown"].is_null());
    }
}
