//! What travels from the worker to the judge of a MegaRAID card.

use serde::{Deserialize, Serialize};

use crate::disk::{part::Part, reading::Identity};

/// One card at one moment.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct CardReading {
    pub disks: Part<Vec<CardDisk>>,
    pub volumes: Part<Vec<Volume>>,
    pub configuration: Part<Configuration>,
    /// `None`: the card has none.
    pub battery: Part<Option<Battery>>,
    /// The volumes that the kernel has as SCSI devices, by target id.
    pub kernel_volumes: Vec<u8>,
    /// Disks for which the look had no time.
    pub unread: usize,
}

/// A physical disk that the card lists.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CardDisk {
    pub device: u16,
    /// As people and the vendor's tools name it: `252:3`; `3` where the card knows no enclosure.
    pub slot: String,
    pub info: Part<DiskInfo>,
}

/// What the card has of a disk.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DiskInfo {
    pub identity: Identity,
    /// `MR_PD_STATE_*`.
    pub state: u16,
    pub media_errors: u64,
    /// Of the link and of commands: resets and reboots count there too.
    pub other_errors: u64,
    /// How often the disk has predicted its failure since the card was started.
    pub predicted_failures: u64,
    /// While it is being rebuilt.
    pub rebuild_percent: Option<u8>,
}

/// A virtual disk that the card lists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Volume {
    pub target: u8,
    /// `MFI_LD_STATE_*`.
    pub state: u8,
    /// Only of one that is not optimal.
    pub info: Part<VolumeInfo>,
}

/// What the card has of a volume.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VolumeInfo {
    /// `RAID 5`.
    pub level: String,
    pub name: String,
    pub state: u8,
}

/// How a volume is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VolumeHealth {
    Optimal,
    /// It has lost redundancy, or a part of it.
    Degraded,
    /// Its data is out of reach.
    Offline,
    /// Two answers contradict each other, or one is missing: it may be changing.
    Unclear,
}

/// Which disks make which volumes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Configuration {
    pub members: Vec<Member>,
    /// Volumes that lack a disk.
    pub lacking: Vec<u8>,
}

/// A disk as a part of volumes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    pub device: u16,
    pub state: u16,
    pub volumes: Vec<u8>,
}

/// The battery or capacitor that saves the write cache when power fails.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Battery {
    pub kind: BatteryKind,
    /// `MFI_BBU_STATE_*`.
    pub status: u32,
}

/// Which figures it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BatteryKind {
    /// One with a state of health.
    WithHealth {
        is_good: bool,
    },
    Other,
}

/// Bits of a battery's status (OpenBSD's sys/dev/ic/mfireg.h has them all).
pub mod battery_status {
    pub const PACK_MISSING: u32 = 1 << 0;
    pub const CHARGE_ACTIVE: u32 = 1 << 3;
    pub const DISCHARGE_ACTIVE: u32 = 1 << 4;
    pub const LEARN_REQUESTED: u32 = 1 << 5;
    pub const LEARN_ACTIVE: u32 = 1 << 6;
    pub const REPLACE_PACK: u32 = 1 << 10;
    pub const LEARN_REQUIRED: u32 = 1 << 12;
}

/// `MR_PD_STATE_*` of linux megaraid_sas.h.
pub mod disk_state {
    pub const UNCONFIGURED_GOOD: u16 = 0x00;
    pub const UNCONFIGURED_BAD: u16 = 0x01;
    pub const HOT_SPARE: u16 = 0x02;
    pub const OFFLINE: u16 = 0x10;
    pub const FAILED: u16 = 0x11;
    pub const REBUILD: u16 = 0x14;
    pub const ONLINE: u16 = 0x18;
    pub const COPYBACK: u16 = 0x20;
    pub const JBOD: u16 = 0x40;
}

impl Volume {
    /// Both answers have to agree: one of zeros reads as "offline".
    #[must_use]
    pub fn health(&self) -> VolumeHealth {
        const OPTIMAL: u8 = 3;
        if self.state == OPTIMAL {
            return VolumeHealth::Optimal;
        }
        match self.info.read().filter(|info| info.state == self.state) {
            Some(VolumeInfo { state: 0, .. }) => VolumeHealth::Offline,
            Some(VolumeInfo { state: 1 | 2, .. }) => VolumeHealth::Degraded,
            _ => VolumeHealth::Unclear,
        }
    }

    /// `volume 1 (RAID 5, data)`.
    #[must_use]
    pub fn label(&self) -> String {
        let target = self.target;
        match self.info.read() {
            Some(VolumeInfo { level, name, .. }) if name.is_empty() => format!("volume {target} ({level})"),
            Some(VolumeInfo { level, name, .. }) => format!("volume {target} ({level}, {name})"),
            None => format!("volume {target}"),
        }
    }
}

impl CardReading {
    /// The volumes that a disk is a part of; `None` where that could not be read.
    #[must_use]
    pub fn volumes_of(&self, device: u16) -> Option<Vec<u8>> {
        let member = |configuration: &Configuration| {
            let member = configuration.members.iter().find(|member| member.device == device);
            member.map(|member| member.volumes.clone()).unwrap_or_default()
        };
        self.configuration.read().map(member)
    }

    /// A disk's state: its own data's, else that of the configuration.
    #[must_use]
    pub fn state_of(&self, disk: &CardDisk) -> Option<u16> {
        let member = || self.configuration.read()?.members.iter().find(|member| member.device == disk.device);
        disk.info.read().map(|info| info.state).or_else(|| member().map(|member| member.state))
    }
}
