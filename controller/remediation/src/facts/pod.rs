//! Pods of affected nodes, and what binds them: volumes, attachments, disruption budgets.

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Effect, Taint};

/// Exactly one pod: a name may be another pod tomorrow, a UID never.
#[derive(Debug, Default, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PodRef {
    pub namespace: String,
    pub name: String,
    pub uid: String,
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Pod {
    /// Which pod it is.
    pub at: PodRef,
    /// `spec.nodeName`.
    pub node: String,
    /// `Pending | Running | Succeeded | Failed | Unknown`.
    pub phase: String,
    pub ready: bool,
    pub created: Option<Timestamp>,
    /// Its controller (`ownerReferences` with `controller: true`).
    pub owner: Option<Owner>,
    /// It has owners, but none that controls it.
    pub owned_by_others: bool,
    /// It has a deletion timestamp.
    pub deleting: Option<Deletion>,
    /// Annotation `kubernetes.io/config.mirror`.
    pub mirror: bool,
    /// `spec.terminationGracePeriodSeconds`.
    pub grace: Duration,
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
    pub tolerations: Vec<Toleration>,
    pub volumes: Vec<Volume>,
    pub finalizers: bool,
}

impl Pod {
    /// It runs no more, and will not again.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        matches!(self.phase.as_str(), "Succeeded" | "Failed")
    }

    /// The taint eviction controller deletes it for this taint: it does not tolerate that, or only for a time. Static pods
    /// are never evicted.
    #[must_use]
    pub fn is_evicted_by(&self, taint: &Taint) -> bool {
        let stays = |toleration: &Toleration| toleration.tolerates(taint) && toleration.seconds.is_none();
        !self.mirror && !self.tolerations.iter().any(stays)
    }

    /// It has volumes of this storage (driver or class), and none of another, or of one that is not known: to that it
    /// could still write while its successor does.
    #[must_use]
    pub fn uses_only_storage(&self, storage: &str) -> bool {
        let is_on = |claim: &VolumeClaim| {
            [&claim.storage_class, &claim.driver].into_iter().flatten().any(|name| name == storage)
        };
        let mut claims = self.volumes.iter().filter_map(Volume::claim).peekable();
        claims.peek().is_some() && claims.all(is_on)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    pub kind: String,
    pub name: String,
    pub uid: String,
    /// The owner is known to be gone; false where it was not looked up.
    pub gone: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deletion {
    pub at: Timestamp,
    pub grace: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toleration {
    /// Empty with `exists` tolerates every key.
    pub key: String,
    pub value: String,
    pub exists: bool,
    pub effect: Option<Effect>,
    /// `tolerationSeconds`; only for NoExecute.
    pub seconds: Option<i64>,
}

impl Toleration {
    /// As `ToleratesTaint` of `k8s.io/component-helpers` has it.
    #[must_use]
    pub fn tolerates(&self, taint: &Taint) -> bool {
        let key = self.key == taint.key || self.key.is_empty() && self.exists;
        key && self.effect.is_none_or(|effect| effect == taint.effect) && (self.exists || self.value == taint.value)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Volume {
    EmptyDir {
        name: String,
    },
    Claim(VolumeClaim),
    /// Config, secrets, host paths and the like: nothing that keeps a pod at its node.
    Other,
}

impl Volume {
    fn claim(&self) -> Option<&VolumeClaim> {
        if let Self::Claim(claim) = self { Some(claim) } else { None }
    }
}

/// A claim, as far as it was looked up.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VolumeClaim {
    pub name: String,
    pub storage_class: Option<String>,
    pub driver: Option<String>,
    /// Every access mode is ReadWriteOnce or ReadWriteOncePod.
    pub one_node_only: Option<bool>,
    /// The PersistentVolume that it is bound to.
    pub volume: Option<String>,
}

/// A VolumeAttachment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    pub name: String,
    pub node: String,
    pub volume: String,
    pub attached: bool,
}

/// A PodDisruptionBudget, to name the one that refuses an eviction; the API server enforces it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DisruptionBudget {
    pub namespace: String,
    pub name: String,
    /// `spec.selector.matchLabels` and expressions, already applied by the caller that made this: the pods' names it
    /// selects.
    pub pods: Vec<String>,
    pub disruptions_allowed: i64,
    pub message: String,
}

#[cfg(test)]
mod tests;
