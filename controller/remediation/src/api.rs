//! The kinds of `nodewell.dev/v1alpha1`: [`policy::RemediationPolicy`] and [`fence::NodeFence`], cluster-scoped both.

pub mod fence;
pub mod policy;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub const GROUP: &str = "nodewell.dev";
pub const VERSION: &str = "v1alpha1";

/// Has everything of one node left alone, with a reason for people as its value. On a Node or a `NodeFence`.
pub const SKIP_REMEDIATION: &str = "nodewell.dev/skip-remediation";
/// On a Node: which policy cordoned it. Only a node with our mark is uncordoned by us.
pub const CORDONED_BY: &str = "nodewell.dev/cordoned-by";
/// The taint of the first step, if a policy names no other.
pub const REMEDIATION_TAINT: &str = "nodewell.dev/remediation";
/// KEP-2268: the kubelet admits nothing, the pod garbage collector and the attach-detach controller take what was there.
pub const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";

/// The value of our own out-of-service taint; another writer's is never taken away.
pub const OUT_OF_SERVICE_BY: &str = "nodewell.dev";
/// On a Node that is cut off one storage: the boot whose pods of that storage were released. The storage is not
/// restored to that boot, whatever becomes of the record.
pub const STORAGE_RELEASED: &str = "nodewell.dev/storage-released";
/// On a `NodeFence` that is quarantined: any new value has it tried again.
pub const RETRY: &str = "nodewell.dev/retry";
/// On a `NodeFence`: who aborted it or had it tried again, and why, as `USER: REASON`. It is the writer's own claim.
pub const ASKED_BY: &str = "nodewell.dev/asked-by";
/// So many characters of that claim are repeated.
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
        let asked_by: String = asked_by.chars().filter(|letter| !letter.is_control()).take(ASKED_BY_CHARS).collect();
        if asked_by.is_empty() { "no name is given for it".to_owned() } else { format!("asked by {asked_by}") }
    }
}
