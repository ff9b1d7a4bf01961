//! Leases: the nodes' to read, the controller's own to hold.

use k8s_openapi::api::coordination::v1::Lease;
use nodewell_reconcile::{
    api_error::ApiError,
    cluster::{Leadership, LeaseKind},
};
use nodewell_remediation::{facts::LeaseView, time::Moment};

use super::{
    KUBELET_LEASES, convert,
    wire::{Wire, escaped},
};

pub(super) fn path(namespace: &str, name: &str) -> String {
    format!("{}/{}", collection(namespace), escaped(name))
}

fn collection(namespace: &str) -> String {
    format!("/apis/coordination.k8s.io/v1/namespaces/{}/leases", escaped(namespace))
}

/// Where the Leases of this kind are.
pub(super) fn namespace(kind: LeaseKind, agents: &str) -> &str {
    match kind {
        LeaseKind::Kubelet => KUBELET_LEASES,
        LeaseKind::Agent => agents,
    }
}

pub(super) async fn view(wire: &Wire, path: &str, now: Moment) -> Result<Option<LeaseView>, ApiError> {
    Ok(wire.get::<Lease>(path).await?.map(|lease| convert::lease_view(lease, now)))
}

pub(super) async fn leadership(wire: &Wire, namespace: &str, name: &str) -> Result<Option<Leadership>, ApiError> {
    Ok(wire.get::<Lease>(&path(namespace, name)).await?.map(convert::leadership))
}

/// Creates or replaces it; the first writer wins.
pub(super) async fn lead(wire: &Wire, namespace: &str, name: &str, lease: &Leadership) -> Result<Leadership, ApiError> {
    let body = convert::leadership_body(lease, namespace, name);
    let stored: Lease = if lease.resource_version.is_empty() {
        wire.create(&collection(namespace), &body).await?
    } else {
        wire.replace(&path(namespace, name), &body).await?
    };
    Ok(convert::leadership(stored))
}
