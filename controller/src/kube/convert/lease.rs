//! Leases: a node's, and the controller's own.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use nodewell_reconcile::cluster::Leadership;
use nodewell_remediation::{facts::LeaseView, time::Moment};
use serde_json::{Value, json};

/// A node's Lease, as first seen `now`.
#[must_use]
pub fn lease_view(raw: Lease, now: Moment) -> LeaseView {
    let spec = raw.spec.unwrap_or_default();
    LeaseView {
        resource_version: raw.metadata.resource_version.unwrap_or_default(),
        holder: spec.holder_identity.unwrap_or_default(),
        renewed: spec.renew_time.map(|time| time.0),
        duration: seconds(spec.lease_duration_seconds),
        change_seen_at: now,
    }
}

/// The controller's own Lease.
#[must_use]
pub fn leadership(raw: Lease) -> Leadership {
    let spec = raw.spec.unwrap_or_default();
    Leadership {
        resource_version: raw.metadata.resource_version.unwrap_or_default(),
        holder: spec.holder_identity.unwrap_or_default(),
        duration: seconds(spec.lease_duration_seconds),
        acquired: spec.acquire_time.map(|time| time.0),
        renewed: spec.renew_time.map(|time| time.0),
        transitions: spec.lease_transitions.and_then(|count| u64::try_from(count).ok()).unwrap_or_default(),
        annotations: raw.metadata.annotations.unwrap_or_default(),
    }
}

fn seconds(reported: Option<i32>) -> Duration {
    Duration::from_secs(reported.and_then(|seconds| u64::try_from(seconds).ok()).unwrap_or_default())
}

/// As the API server takes it.
#[must_use]
pub fn leadership_body(lease: &Leadership, namespace: &str, name: &str) -> Value {
    let mut body = json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": { "name": name, "namespace": namespace, "annotations": lease.annotations },
        "spec": {
            "holderIdentity": lease.holder,
            // The server refuses 0: a holder that lets go leaves the shortest there is.
            "leaseDurationSeconds": lease.duration.as_secs().max(1),
            "acquireTime": lease.acquired.map(micros),
            "renewTime": lease.renewed.map(micros),
            "leaseTransitions": lease.transitions,
        },
    });
    if !lease.resource_version.is_empty() {
        body["metadata"]["resourceVersion"] = json!(lease.resource_version);
    }
    body
}

/// `MicroTime` takes exactly six digits.
fn micros(time: Timestamp) -> String {
    format!("{time:.6}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_what_is_read() {
        let lease = Leadership {
            resource_version: "7".into(),
            holder: "host-a".into(),
            duration: Duration::from_secs(15),
            acquired: Some("2026-01-02T03:04:05.000006Z".parse().unwrap()),
            renewed: Some("2026-01-02T03:04:06Z".parse().unwrap()),
            transitions: 4,
            annotations: [("a".to_owned(), "b".to_owned())].into(),
        };
        let body = leadership_body(&lease, "nodewell", "nodewell-controller");
        assert_eq!(body["spec"]["renewTime"], "2026-01-02T03:04:06.000000Z");
        assert_eq!(leadership(serde_json::from_value(body).unwrap()), lease);
    }

    #[test]
    fn an_empty_lease_has_no_holder() {
        let view = lease_view(Lease::default(), Moment::default());
        assert_eq!((view.holder.as_str(), view.renewed, view.duration), ("", None, Duration::ZERO));
    }
}
