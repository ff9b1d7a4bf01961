//! The kinds of `nodewell.dev/v1alpha1`: [`policy::RemediationPolicy`] and [`fence::NodeFence`], cluster-scoped both, and
//! `NodeFenceRemediation` ([`request`]), by which another remediator asks for one.
//!
//! To *release* the pods of a node is to set the out-of-service taint and to delete them with grace 0, so that their
//! controllers start them elsewhere and their volumes are detached, although no kubelet reported that they ended. It is
//! done only once the node is proven to be off, or to be cut off its storage.

pub mod ended;
pub mod fence;
pub mod policy;
pub mod request;

use std::collections::BTreeMap;

use jiff::Timestamp;
use nodewell_printable::is_hidden;
use serde::{Deserialize, Serialize};

pub const GROUP: &str = "nodewell.dev";
pub const VERSION: &str = "v1alpha1";

/// The controller's name in `managedFields` and Events.
pub const CONTROLLER_FIELD_MANAGER: &str = "nodewell-controller";
/// Where ConfigMaps, Secrets and the agents' Leases are, unless the configuration names another.
pub const NAMESPACE: &str = "nodewell";
/// Where the controller's own Leases and its report are, and no other client's.
pub const LEADER_NAMESPACE: &str = "nodewell-controller";
/// In [`NAMESPACE`]; `nodewell-controller pause` makes it.
pub const PAUSE_CONFIG_MAP: &str = "nodewell-pause";

/// On a Node or a `NodeFence`: the controller does nothing to this node. Its value is a reason for people.
pub const SKIP_REMEDIATION: &str = "nodewell.dev/skip-remediation";
/// On a Node: the policy that cordoned it. The controller uncordons no node without this annotation.
pub const CORDONED_BY: &str = "nodewell.dev/cordoned-by";
/// The key of a taint step that names none.
pub const REMEDIATION_TAINT: &str = "nodewell.dev/remediation";
/// KEP-2268: the pod garbage collector deletes the pods that were on the node and the attach-detach controller detaches
/// their volumes.
pub const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";

/// The value of the out-of-service taint that this controller sets; one with another value is never taken away.
pub const OUT_OF_SERVICE_BY: &str = "nodewell.dev";
/// On a Node that is cut off one storage: the id of the boot whose pods on that storage were released. The storage is
/// not restored to that boot, whatever becomes of the record.
pub const STORAGE_RELEASED: &str = "nodewell.dev/storage-released";
/// On the Lease of a node's agent: the boot that is about to end by a shutdown of the whole system.
pub const SHUTDOWN: &str = "nodewell.dev/shutdown";
/// On a `NodeFence` that is quarantined: any new value has it tried again.
pub const RETRY: &str = "nodewell.dev/retry";
/// On a `NodeFence` whose machine is left off: any new value has it given back.
pub const RELEASE: &str = "nodewell.dev/release";
/// On a `NodeFence`: who aborted it, had it tried again or gave its machine back, and why, as `USER: REASON`. It is the writer's own claim.
pub const ASKED_BY: &str = "nodewell.dev/asked-by";
/// How many characters of that claim are repeated in logs and Events.
const ASKED_BY_CHARS: usize = 256;

/// The metadata that decisions need.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Meta {
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub uid: String,
    #[serde(default)]
    pub resource_version: String,
    #[serde(default)]
    pub generation: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub creation_timestamp: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletion_timestamp: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

impl Meta {
    /// Who asked for what a person did to this object, and why, as text for a log.
    #[must_use]
    pub fn asked_by(&self) -> String {
        let asked_by = self.annotations.get(ASKED_BY).map_or("", |asked_by| asked_by.trim());
        let asked_by: String = asked_by.chars().filter(|letter| !is_hidden(*letter)).take(ASKED_BY_CHARS).collect();
        if asked_by.is_empty() { "no name is given for it".to_owned() } else { format!("asked by {asked_by}") }
    }
}
