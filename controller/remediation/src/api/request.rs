//! `NodeFenceRemediation`: another remediator's request to have one node fenced, namespaced. medik8s'
//! node-healthcheck-operator makes one from a `NodeFenceRemediationTemplate` for a node that is unhealthy, and Cluster
//! API's `MachineHealthCheck` one for a Machine. The leader opens a [`super::fence::NodeFence`] for it and reports here how
//! far that is; what either client reads of it stands in [`crate::external`].

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{fence::Phase, policy::DurationString};

pub const KIND: &str = "NodeFenceRemediation";
pub const PLURAL: &str = "nodefenceremediations";

/// On a request: it stays until its record has ended or was taken back.
pub const FINALIZER: &str = "nodewell.dev/node-fence";
/// On a `NodeFence`: the request that it was opened for, as `SOURCE/NAMESPACE/NAME/UID`.
pub const REQUESTED_BY: &str = "nodewell.dev/requested-by";

/// How the node is to be fenced, in the words of a policy's steps.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeFenceRemediationSpec {
    /// Of a node that is Ready: its pods are evicted first, within so long. Without it a node that is Ready is not fenced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drain: Option<DurationString>,
    /// The machine is left off once its pods are released: a person looks at it.
    #[serde(default)]
    pub leave_off: bool,
}

/// Written by the leader alone.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeFenceRemediationStatus {
    /// The node that is to be fenced. It is written before its record is opened.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub node_name: String,
    #[serde(rename = "nodeUID", skip_serializing_if = "String::is_empty")]
    pub node_uid: String,
    /// The record that serves this request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_fence: Option<RecordRef>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

/// The record of the node's name that serves a request.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RecordRef {
    pub uid: String,
    /// It was under way already, for a policy, a person or another request.
    pub joined: bool,
    /// As it was seen last.
    pub phase: Phase,
    /// Off was confirmed and the pods were released, when it was seen last.
    pub pods_released: bool,
    /// Nothing more comes of it: neither this record nor another one is looked at for this request.
    pub ended: bool,
}

/// As `metav1.Condition` has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    #[serde(rename = "type")]
    pub kind: String,
    pub status: ConditionWord,
    pub reason: String,
    pub message: String,
    pub last_transition_time: Timestamp,
}

/// A condition's status on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ConditionWord {
    True,
    False,
    Unknown,
}
