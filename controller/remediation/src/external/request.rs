//! A request as it is stored, read into what decisions need of it.

use std::fmt;

use serde::Deserialize;
use serde_json::Value;

use crate::api::request::{FINALIZER, NodeFenceRemediationSpec, NodeFenceRemediationStatus};

/// medik8s: the node of a request whose own name is generated.
const NODE_NAME: &str = "remediation.medik8s.io/node-name";
/// medik8s: its time is over, and it is to stop.
const TIMED_OUT: &str = "remediation.medik8s.io/nhc-timed-out";
/// Cluster API: the cluster of the Machine.
const CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";

/// In which API server a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// The cluster whose nodes are fenced.
    Cluster,
    /// The management cluster of Cluster API.
    Management,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cluster => "cluster",
            Self::Management => "management",
        })
    }
}

/// What owns a request, by its own `ownerReferences`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Owner {
    pub api_version: String,
    pub kind: String,
    pub name: String,
    pub uid: String,
}

impl Owner {
    /// Of this kind in any version of `group`.
    #[must_use]
    pub fn is(&self, group: &str, kind: &str) -> bool {
        self.kind == kind && self.api_version.split_once('/').is_some_and(|(of, _)| of == group)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub source: Source,
    pub namespace: String,
    pub name: String,
    pub uid: String,
    pub resource_version: String,
    pub deleting: bool,
    /// Its client has given it up, and tries another remediator.
    pub timed_out: bool,
    pub finalizers: Vec<String>,
    /// The node that an annotation names.
    pub named_node: Option<String>,
    /// The cluster that Cluster API's label names.
    pub cluster: Option<String>,
    pub owners: Vec<Owner>,
    /// Or why it cannot be read.
    pub spec: Result<NodeFenceRemediationSpec, String>,
    pub status: NodeFenceRemediationStatus,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawMeta {
    #[serde(default)]
    namespace: String,
    name: String,
    uid: String,
    resource_version: String,
    #[serde(default)]
    deletion_timestamp: Option<String>,
    #[serde(default)]
    finalizers: Vec<String>,
    #[serde(default)]
    annotations: std::collections::BTreeMap<String, String>,
    #[serde(default)]
    labels: std::collections::BTreeMap<String, String>,
    #[serde(default)]
    owner_references: Vec<Owner>,
}

impl Request {
    /// # Errors
    /// What of it cannot be read. A spec that cannot be is no error here but an answer to its client; a status that cannot be
    /// is the work of another version, and nothing may be decided without it.
    pub fn read(source: Source, raw: &Value) -> Result<Self, String> {
        let meta: RawMeta = RawMeta::deserialize(&raw["metadata"]).map_err(|error| format!("metadata: {error}"))?;
        let status = match &raw["status"] {
            Value::Null => NodeFenceRemediationStatus::default(),
            status => NodeFenceRemediationStatus::deserialize(status).map_err(|error| format!("status: {error}"))?,
        };
        Ok(Self {
            source,
            namespace: meta.namespace,
            name: meta.name,
            uid: meta.uid,
            resource_version: meta.resource_version,
            deleting: meta.deletion_timestamp.is_some(),
            timed_out: meta.annotations.contains_key(TIMED_OUT),
            finalizers: meta.finalizers,
            named_node: meta.annotations.get(NODE_NAME).filter(|node| !node.is_empty()).cloned(),
            cluster: meta.labels.get(CLUSTER_NAME).cloned(),
            owners: meta.owner_references,
            spec: spec(&raw["spec"]),
            status,
        })
    }

    /// The node's name, where the request itself has it. Both are node-healthcheck-operator's way: the annotation, and the
    /// request's own name.
    #[must_use]
    pub fn node_name(&self) -> &str {
        self.named_node.as_deref().unwrap_or(&self.name)
    }

    /// As its record names it.
    #[must_use]
    pub fn id(&self) -> String {
        format!("{}/{}/{}/{}", self.source, self.namespace, self.name, self.uid)
    }

    #[must_use]
    pub fn is_held(&self) -> bool {
        self.finalizers.iter().any(|finalizer| finalizer == FINALIZER)
    }

    /// For people: which request, and who made it.
    #[must_use]
    pub fn shown(&self) -> String {
        let by = self.owners.first().map(|owner| format!(" of {} {}", owner.kind, owner.name));
        format!("NodeFenceRemediation {}/{}{}", self.namespace, self.name, by.unwrap_or_default())
    }

    /// It may still have its node fenced.
    #[must_use]
    pub fn is_wanted(&self) -> bool {
        !self.deleting && !self.timed_out && !self.status.node_fence.as_ref().is_some_and(|record| record.ended)
    }
}

/// A template without a spec asks for the defaults.
fn spec(raw: &Value) -> Result<NodeFenceRemediationSpec, String> {
    if raw.is_null() {
        return Ok(NodeFenceRemediationSpec::default());
    }
    let spec: NodeFenceRemediationSpec =
        serde_path_to_error::deserialize(raw).map_err(|error| format!("spec.{}: {}", error.path(), error.inner()))?;
    match spec.drain.as_ref().map(|drain| drain.duration()) {
        Some(Err(error)) => Err(format!("spec.drain: {error}")),
        Some(Ok(_)) | None => Ok(spec),
    }
}
