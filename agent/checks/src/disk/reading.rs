//! What travels from the worker to the judge.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    ata::page::Attribute,
    megaraid::reading::CardReading,
    nvme::log::{ErrorEntry, HealthLog, Limits},
    part::Part,
    scsi::log::{Predicted, Temperature},
};

/// One disk, array, map or RAID card at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DiskReading {
    /// Just before the first question.
    pub asked: Timestamp,
    pub identity: Identity,
    pub health: Health,
}

/// Its identity, as the device reports it; empty where it reports none.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Identity {
    pub model: String,
    pub serial: String,
    pub firmware: String,
}

/// How it is, by what it can be asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Health {
    Nvme(NvmeReading),
    Ata(AtaReading),
    Scsi(ScsiReading),
    /// In standby: whatever is asked would wake it.
    Asleep,
    /// The kernel has taken it out of service, or holds it back: `offline`, `transport-offline`, `blocked`
    /// (drivers/scsi/scsi_sysfs.c sdev_states).
    Stopped {
        state: String,
    },
    Array(ArrayReading),
    Map(MapReading),
    Pool(PoolReading),
    /// A pool of ZFS, by the state that its module shows (OpenZFS module/zfs/spa_misc.c spa_state_to_name).
    Zpool {
        state: String,
    },
    Volume(RaidVolumeReading),
    Phy(PhyReading),
    /// A RAID card, with what is behind it.
    Card(CardReading),
    /// Nothing can be asked of it.
    Plain {
        why: String,
    },
}

/// An NVMe controller.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct NvmeReading {
    /// The driver's state: `live`, `dead`, `resetting`, `connecting` (drivers/nvme/host/core.c nvme_sysfs_show_state).
    pub state: String,
    pub health: Part<HealthLog>,
    pub limits: Part<Limits>,
    pub errors: Part<Vec<ErrorEntry>>,
    /// The latest test that came to an end.
    pub self_test: Part<Option<SelfTest>>,
}

/// A SATA disk.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct AtaReading {
    pub smart: Smart,
    pub is_solid_state: bool,
    /// SMART RETURN STATUS: whether the disk predicts its failure.
    pub failing: Part<bool>,
    pub attributes: Part<Vec<Attribute>>,
    /// Whether the attributes have theirs.
    pub thresholds: Part<()>,
    /// The latest test that came to an end.
    pub self_test: Part<Option<SelfTest>>,
}

/// Whether there is SMART.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Smart {
    #[default]
    Unsupported,
    /// An operator switched it off; switching it on is the operator's, too.
    Off,
    On,
}

/// A SCSI or SAS disk, or what looks like one.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ScsiReading {
    /// How many log pages it has.
    pub pages: Part<usize>,
    /// By its sense data.
    pub sense: Option<Predicted>,
    /// By its page of informational exceptions.
    pub predicted: Part<Predicted>,
    pub temperature: Part<Temperature>,
    /// Of reading, writing and verifying.
    pub uncorrected_errors: Part<u64>,
    pub used_percent: Part<u8>,
    pub self_test: Part<Option<SelfTest>>,
    pub grown_defects: Part<u64>,
}

/// A software RAID array, in the kernel's terms.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ArrayReading {
    /// `clean`, `active`, `inactive`, `broken`.
    pub state: String,
    /// `raid1`.
    pub level: String,
    pub disks: u32,
    /// How many disks it lacks; `None` for levels without redundancy.
    pub missing: Option<u32>,
    /// `idle`, `recover`, `check`.
    pub action: String,
    /// Of the action.
    pub done_percent: Option<u8>,
    /// The one that ran last, or runs now.
    pub last_action: String,
    /// Of which data and parity, or the copies, differed, in the last check, repair or resync.
    pub mismatched_sectors: Option<u64>,
}

/// A multipath map.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct MapReading {
    /// As people know it: `mpatha`.
    pub name: String,
    pub paths: Part<Vec<MapPath>>,
}

/// One path of a map.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MapPath {
    /// The disk, or its device number if it has no name any more.
    pub device: String,
    pub works: bool,
}

/// A thin pool of the device mapper's: LVM's, Stratis', containerd's.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PoolReading {
    /// As people know it: `vg-pool-tpool`.
    pub name: String,
    pub status: Part<PoolStatus>,
}

/// What a thin pool reports.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PoolStatus {
    pub data_percent: u8,
    pub metadata_percent: u8,
    pub mode: PoolMode,
    /// An operation on its metadata failed, and nothing has checked it since.
    pub needs_check: bool,
}

/// What the kernel lets a thin pool do (drivers/md/dm-thin.c enum pool_mode).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PoolMode {
    #[default]
    Write,
    OutOfDataSpace,
    /// Since its metadata is full, damaged, or cannot be written.
    ReadOnly,
    /// Its table has it so.
    ReadOnlyByOrder,
    /// All I/O fails.
    Failed,
}

/// A volume of a RAID controller whose driver shows its state (drivers/scsi/raid_class.c).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RaidVolumeReading {
    /// `active`, `degraded`, `resyncing`, `offline`, `unknown`.
    pub state: String,
    /// `raid1`.
    pub level: String,
    /// While it resyncs.
    pub done_percent: Option<u8>,
}

/// One end of a SAS link (drivers/scsi/scsi_transport_sas.c).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PhyReading {
    /// Of the controller or expander that has it.
    pub address: String,
    /// `12.0 Gbit`; `None` without a link.
    pub rate: Option<String>,
    /// By their file names; none without a link.
    pub counters: BTreeMap<String, u64>,
}

/// A self-test that came to an end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SelfTest {
    pub passed: bool,
    /// The device's power-on hours then; 16 bits of them on SATA and SAS disks.
    pub at_hours: u64,
    /// In words, for people.
    pub result: String,
}
