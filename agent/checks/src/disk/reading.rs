//! What travels from the worker to the judge.

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

/// A self-test that came to an end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SelfTest {
    pub passed: bool,
    /// The device's power-on hours then; 16 bits of them on SATA and SAS disks.
    pub at_hours: u64,
    /// In words, for people.
    pub result: String,
}
