//! What a detector concluded from a record: the unit that travels from monitors to the ledger.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};

use crate::{BootId, Name, Origin, ProblemKey, Severity};

/// One conclusion. Equal conclusions in a flood are merged before they travel: `count` stays exact.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The monitor whose claim this is; only it can withdraw the claim.
    pub source: Arc<str>,
    pub kind: FindingKind,
    /// `None`: a temporary problem, an Event only. `Some`: it holds the condition True.
    pub condition: Option<Name>,
    pub reason: Name,
    /// What is broken.
    pub subject: Option<String>,
    pub severity: Severity,
    pub message: String,
    /// The record's own time: of the first one, where several were merged.
    pub time: Timestamp,
    /// The time of the newest record merged into this finding; `time` if there is only one.
    pub last_time: Timestamp,
    /// How many records report it.
    pub count: u64,
    pub origin: Origin,
    pub boot_id: Option<BootId>,
    /// The problem ends when nothing has repeated it for this long.
    pub ends_after_quiet: Option<Duration>,
    /// The problem does not outlive the boot that showed it.
    pub ends_at_boot: bool,
    /// What a person or the controller should do.
    pub action: Option<Action>,
    /// What the runtime must still prove before the ledger may believe this.
    pub required_proof: RequiredProof,
    /// Written by `nodewell inject`.
    pub test: bool,
}

/// Whether a finding asserts a problem or takes one back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FindingKind {
    /// The problem is there. Without a condition: it happened.
    Raise,
    /// Evidence that the problem is over. A clear without a subject clears every subject of its reason.
    Clear,
}

/// Text is not proof: what has to be looked up on the host before a finding counts.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum RequiredProof {
    /// The record itself is proof enough.
    #[default]
    None,
    /// The process must belong to the node's own plumbing (container runtime, kubelet, systemd) by its cgroup;
    /// otherwise the finding is dropped.
    NodePlumbing { pid: u32 },
    /// The filesystem on this device (`sda1`, `dm-3`) decides: mounted only as a pod's volume, the finding moves
    /// to `VolumeUnhealthy`.
    Filesystem { device: String },
    /// The pod of this uid is what the finding is about: its name becomes the subject, or its uid where the name is
    /// unknown.
    Pod { uid: String },
}

/// The recommended remediation, in the terms people and the controller share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    None,
    Watch,
    RestartService,
    /// The program that used the device: nothing else is needed.
    RestartApp,
    /// `nvidia-smi --gpu-reset` and its like, after `nodewell release gpu`.
    ResetGpu,
    Reboot,
    /// A reboot is not enough: standby power must go too.
    PowerCycle,
    ReplaceDisk,
    ReplaceMemory,
    ReplaceHardware,
    /// A person has to look: seat, slot, vendor's diagnosis.
    InspectHardware,
    CheckCabling,
    CheckCooling,
    CheckFilesystem,
    CheckConfiguration,
    CheckWorkload,
    UpdateKernel,
}

impl Action {
    /// Every one, for what reads them from text.
    pub const ALL: [Self; 17] = [
        Self::None,
        Self::Watch,
        Self::RestartService,
        Self::RestartApp,
        Self::ResetGpu,
        Self::Reboot,
        Self::PowerCycle,
        Self::ReplaceDisk,
        Self::ReplaceMemory,
        Self::ReplaceHardware,
        Self::InspectHardware,
        Self::CheckCabling,
        Self::CheckCooling,
        Self::CheckFilesystem,
        Self::CheckConfiguration,
        Self::CheckWorkload,
        Self::UpdateKernel,
    ];

    /// Reads one of a saved row. What a newer version recommends, this version does not know: the problem stays.
    pub fn saved<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Self>, D::Error> {
        let word = Option::<String>::deserialize(deserializer)?;
        Ok(word.and_then(|word| Self::ALL.into_iter().find(|action| action.as_str() == word)))
    }

    /// The name used in JSON and TOML.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Watch => "watch",
            Self::RestartService => "restart-service",
            Self::RestartApp => "restart-app",
            Self::ResetGpu => "reset-gpu",
            Self::Reboot => "reboot",
            Self::PowerCycle => "power-cycle",
            Self::ReplaceDisk => "replace-disk",
            Self::ReplaceMemory => "replace-memory",
            Self::ReplaceHardware => "replace-hardware",
            Self::InspectHardware => "inspect-hardware",
            Self::CheckCabling => "check-cabling",
            Self::CheckCooling => "check-cooling",
            Self::CheckFilesystem => "check-filesystem",
            Self::CheckConfiguration => "check-configuration",
            Self::CheckWorkload => "check-workload",
            Self::UpdateKernel => "update-kernel",
        }
    }
}

impl Finding {
    /// The problem this finding speaks of; `None` for an Event.
    #[must_use]
    pub fn key(&self) -> Option<ProblemKey> {
        let condition = self.condition.clone()?;
        Some(ProblemKey { condition, reason: self.reason.clone(), subject: self.subject.clone() })
    }

    /// Whether `other` reports the same of the same thing, so that the two can travel as one.
    #[must_use]
    pub fn merges_with(&self, other: &Self) -> bool {
        self.kind == other.kind
            && self.source == other.source
            && self.condition == other.condition
            && self.reason == other.reason
            && self.subject == other.subject
            && self.test == other.test
            && self.required_proof == other.required_proof
            && self.severity == other.severity
    }

    /// Merges a later finding: the count grows, the first time and origin stay, the newest message wins.
    pub fn merge(&mut self, later: Self) {
        self.count += later.count;
        self.last_time = later.last_time;
        self.message = later.message;
        self.ends_after_quiet = later.ends_after_quiet;
        self.boot_id = later.boot_id;
    }
}
