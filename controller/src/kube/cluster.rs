//! [`KubeCluster`]: one API server in every role of a [`Cluster`](nodewell_reconcile::cluster::Cluster).

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use k8s_openapi::api::core::v1::{self as core, ConfigMap};
use nodewell_reconcile::{
    api_error::ApiError,
    clock::Clock,
    cluster::{
        Configuration, Election, Hosts, Leadership, LeaseKind, Marks, Nodes, Pods, ReachReport, Records, ReleaseMark,
        Secret,
    },
};
use nodewell_remediation::{
    action::EventDraft,
    api::fence::NodeFence,
    facts::{Attachment, DisruptionBudget, LeaseView, Node, Pod, PodRef, Taint},
};

use super::{
    claims, convert, ended, events, fences, leases, nodes, pods, reach, switch,
    wire::{Wire, escaped},
};

/// Where the controller's own objects are, and what stops it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KubeSettings {
    /// Of ConfigMaps, Secrets and the agents' Leases.
    pub namespace: String,
    /// Of the controller's own Leases. Agents' Leases are named like their Nodes: in one namespace a Node could be named
    /// like the leader's.
    pub lease_namespace: String,
    /// The leader's Lease.
    pub lease: String,
    /// The namespace of other remediators' Leases; nothing: none is asked for.
    pub claims: Option<String>,
    /// Any of these files stops everything.
    pub pause_files: Vec<PathBuf>,
    /// For how long a copy of a record that ended is kept; zero: none is made.
    pub keep_ended: Duration,
    /// The longest a request may take; see [`KubeSettings::REQUEST_TIMEOUT`].
    pub request_timeout: Duration,
}

impl KubeSettings {
    /// Half of what a leader has left when it gives up renewing (10 s), so that one more try fits.
    pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
}

/// One API server. Every call is a request of its own, ended after `request_timeout`; nothing is cached.
#[derive(Debug, Clone)]
pub struct KubeCluster {
    wire: Wire,
    clock: Clock,
    settings: KubeSettings,
}

impl KubeCluster {
    #[must_use]
    pub fn new(client: kube::Client, clock: Clock, settings: KubeSettings) -> Self {
        Self { wire: Wire::new(client, settings.request_timeout), clock, settings }
    }

    /// For requests that reconcilers do not make.
    #[must_use]
    pub fn wire(&self) -> &Wire {
        &self.wire
    }

    /// The clock of all moments that come from here.
    #[must_use]
    pub fn clock(&self) -> Clock {
        self.clock
    }

    #[must_use]
    pub fn settings(&self) -> &KubeSettings {
        &self.settings
    }

    fn own(&self, resource: &str, name: &str) -> String {
        format!("/api/v1/namespaces/{}/{resource}/{}", escaped(&self.settings.namespace), escaped(name))
    }
}

impl Nodes for KubeCluster {
    async fn node(&self, name: &str) -> Result<Option<Node>, ApiError> {
        let raw = self.wire.get::<core::Node>(&nodes::path(name)).await?;
        let read = |raw| convert::node(raw, self.clock.moment()).map_err(|error| ApiError::NoAnswer(error.to_string()));
        raw.map(read).transpose()
    }

    async fn lease(&self, kind: LeaseKind, node: &str) -> Result<Option<LeaseView>, ApiError> {
        let path = leases::path(leases::namespace(kind, &self.settings.namespace), node);
        leases::view(&self.wire, &path, self.clock.moment()).await
    }
}

impl Marks for KubeCluster {
    async fn taint(&self, node: &str, uid: &str, taint: &Taint) -> Result<bool, ApiError> {
        nodes::change(&self.wire, node, uid, |raw| nodes::tainted(raw, taint)).await
    }

    async fn untaint(&self, node: &str, uid: &str, taint: &Taint) -> Result<bool, ApiError> {
        nodes::change(&self.wire, node, uid, |raw| nodes::untainted(raw, taint)).await
    }

    async fn cordon(&self, node: &str, uid: &str, by: &str) -> Result<bool, ApiError> {
        nodes::change(&self.wire, node, uid, |raw| nodes::cordoned(raw, by)).await
    }

    async fn cordon_seen(&self, seen: &Node, by: &str) -> Result<(bool, Option<Node>), ApiError> {
        match nodes::cordon_seen::<core::Node>(&self.wire, seen, by).await {
            Ok(raw) => Ok((true, convert::node(raw, self.clock.moment()).ok())),
            // It was changed since: read first, then.
            Err(ApiError::Conflict(_)) => {
                let is_ours = self.cordon(&seen.name, &seen.uid, by).await?;
                Ok((is_ours, self.node(&seen.name).await.ok().flatten()))
            }
            Err(error) => Err(error),
        }
    }

    async fn uncordon(&self, node: &str, uid: &str, by: &str) -> Result<bool, ApiError> {
        nodes::change(&self.wire, node, uid, |raw| nodes::uncordoned(raw, by)).await
    }

    async fn mark_release(&self, seen: &Node, mark: &ReleaseMark) -> Result<(), ApiError> {
        nodes::mark_release(&self.wire, seen, mark).await
    }

    async fn unmark_release(&self, node: &str, uid: &str) -> Result<(), ApiError> {
        nodes::change(&self.wire, node, uid, nodes::unmarked).await.map(drop)
    }

    async fn emit(&self, node: &str, uid: &str, event: &EventDraft) {
        events::emit(&self.wire, node, uid, event).await;
    }
}

impl Pods for KubeCluster {
    async fn pods_on(&self, node: &str) -> Result<Vec<Pod>, ApiError> {
        pods::on(&self.wire, node).await
    }

    async fn pods_and_claims_on(&self, node: &str) -> Result<Vec<Pod>, ApiError> {
        pods::with_claims(&self.wire, node).await
    }

    async fn pod(&self, at: &PodRef) -> Result<Option<Pod>, ApiError> {
        pods::one(&self.wire, at).await
    }

    async fn attachments_on(&self, node: &str) -> Result<Vec<Attachment>, ApiError> {
        pods::attachments(&self.wire, node).await
    }

    async fn budgets_of(&self, pod: &Pod) -> Result<Vec<DisruptionBudget>, ApiError> {
        pods::budgets(&self.wire, pod).await
    }

    async fn evict(&self, pod: &PodRef, grace: Option<Duration>) -> Result<(), ApiError> {
        pods::evict(&self.wire, pod, grace).await
    }

    async fn delete_pod(&self, pod: &PodRef, grace: Option<Duration>) -> Result<(), ApiError> {
        pods::delete(&self.wire, pod, grace).await
    }
}

impl Records for KubeCluster {
    async fn fence(&self, name: &str) -> Result<Option<NodeFence>, ApiError> {
        self.wire.get(&fences::path(name)).await
    }

    async fn claim(&self, node: &str, uid: &str) -> Result<(), ApiError> {
        match &self.settings.claims {
            Some(namespace) => claims::claim(&self.wire, namespace, node, uid, self.clock.wall()).await,
            None => Ok(()),
        }
    }

    async fn open(&self, fence: &NodeFence) -> Result<NodeFence, ApiError> {
        fences::open(&self.wire, fence).await
    }

    async fn save(&self, fence: &NodeFence) -> Result<NodeFence, ApiError> {
        fences::save(&self.wire, fence).await
    }

    async fn close(&self, fence: &NodeFence) -> Result<(), ApiError> {
        if !self.settings.keep_ended.is_zero() {
            ended::keep(&self.wire, fence).await;
        }
        fences::close(&self.wire, fence).await
    }
}

impl Configuration for KubeCluster {
    async fn config_map(&self, name: &str) -> Result<Option<BTreeMap<String, String>>, ApiError> {
        let map = self.wire.get::<ConfigMap>(&self.own("configmaps", name)).await?;
        Ok(map.map(|map| map.data.unwrap_or_default()))
    }

    async fn secret(&self, name: &str) -> Result<Option<Secret>, ApiError> {
        let secret = self.wire.get::<core::Secret>(&self.own("secrets", name)).await?;
        Ok(secret.map(|core::Secret { metadata, data, .. }| Secret {
            version: metadata.resource_version.unwrap_or_default(),
            data: data.unwrap_or_default().into_iter().map(|(key, value)| (key, value.0)).collect(),
        }))
    }

    async fn stopped(&self) -> Result<Option<String>, ApiError> {
        match switch::of_files(&self.settings.pause_files) {
            Some(reason) => Ok(Some(reason)),
            None => switch::of_config_map(&self.wire, &self.settings.namespace).await,
        }
    }
}

impl Hosts for KubeCluster {
    async fn reach_reports(&self) -> Result<Vec<ReachReport>, ApiError> {
        reach::reports(&self.wire, &self.settings.lease_namespace).await
    }

    async fn report_reach(&self, report: &ReachReport) -> Result<(), ApiError> {
        reach::write(&self.wire, &self.settings.lease_namespace, report).await
    }
}

impl Election for KubeCluster {
    async fn leadership(&self) -> Result<Option<Leadership>, ApiError> {
        leases::leadership(&self.wire, &self.settings.lease_namespace, &self.settings.lease).await
    }

    async fn lead(&self, lease: &Leadership) -> Result<Leadership, ApiError> {
        leases::lead(&self.wire, &self.settings.lease_namespace, &self.settings.lease, lease).await
    }
}
