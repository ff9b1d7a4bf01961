//! A Node.

use std::{collections::BTreeMap, fmt};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::time::Moment;

/// The labels of a node's zone.
pub const ZONE: &str = "topology.kubernetes.io/zone";
pub const OLD_ZONE: &str = "failure-domain.beta.kubernetes.io/zone";
pub const CONTROL_PLANE: [&str; 2] = ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"];

/// The condition by which this controller reports whether the node could be fenced.
pub const FENCE_READY: &str = "FenceReady";
/// Its reason while what would turn the node off reports that it is off already, of a node whose kubelet speaks.
pub const READS_OFF: &str = "ReadsOff";

/// One Node as it was last seen.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Node {
    pub name: String,
    pub uid: String,
    pub resource_version: String,
    pub created: Timestamp,
    /// It has a deletion timestamp.
    pub deleting: bool,
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
    pub taints: Vec<Taint>,
    pub unschedulable: bool,
    /// `provider://…`, if a cloud gave one.
    pub provider_id: String,
    pub conditions: Vec<Condition>,
    /// `status.nodeInfo`; empty if the kubelet never reported it.
    pub boot_id: String,
    pub system_uuid: String,
    /// Addresses of type InternalIP, then others.
    pub addresses: Vec<String>,
    /// Volumes that the attach-detach controller or the kubelet still counts (`volumesAttached` and `volumesInUse`).
    pub volumes_attached: usize,
    /// Where its kubelet listens, if it reported that (`status.daemonEndpoints`).
    pub kubelet_port: Option<u16>,
}

impl Node {
    /// Its zone; nothing if it has no label for it.
    #[must_use]
    pub fn zone(&self) -> Option<&str> {
        self.labels.get(ZONE).or_else(|| self.labels.get(OLD_ZONE)).map(String::as_str)
    }

    #[must_use]
    pub fn is_control_plane(&self) -> bool {
        CONTROL_PLANE.iter().any(|label| self.labels.contains_key(*label))
    }

    #[must_use]
    pub fn condition(&self, kind: &str) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.kind == kind)
    }

    /// Ready is True. A Node without the condition is not ready.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.condition("Ready").is_some_and(|ready| ready.status == ConditionStatus::True)
    }

    /// The kubelet, or the node lifecycle controller for it, reports that it is not. A Node without the condition
    /// reports nothing.
    #[must_use]
    pub fn is_not_ready(&self) -> bool {
        self.condition("Ready").is_some_and(|ready| ready.status != ConditionStatus::True)
    }

    #[must_use]
    pub fn taint(&self, key: &str) -> Option<&Taint> {
        self.taints.iter().find(|taint| taint.key == key)
    }
}

/// A condition's status. What is neither `True` nor `False` is Unknown.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ConditionStatus {
    True,
    False,
    #[default]
    Unknown,
}

impl fmt::Display for ConditionStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        })
    }
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Condition {
    pub kind: String,
    pub status: ConditionStatus,
    pub reason: String,
    pub message: String,
    /// `lastTransitionTime`, by another host's clock.
    pub since: Option<Timestamp>,
    /// `lastHeartbeatTime`, by another host's clock.
    pub heartbeat: Option<Timestamp>,
    /// When this controller saw the status become what it is, by its own clock: ages count from here.
    pub change_seen_at: Moment,
    /// The status stands under the field manager of the node's own agent or kubelet, who may write that of no other node.
    pub is_own_report: bool,
    pub heartbeat_owner: HeartbeatOwner,
}

/// Whose sign of life a condition's heartbeat is, by `metadata.managedFields`.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum HeartbeatOwner {
    /// The agent, which has applied it with the status.
    Agent,
    /// Another client that writes the condition, or one that cannot be known.
    Other,
    /// No field manager owns anything of the condition: a client has emptied the list.
    #[default]
    Ownerless,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Effect {
    NoSchedule,
    PreferNoSchedule,
    NoExecute,
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Taint {
    pub key: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub value: String,
    pub effect: Effect,
}
