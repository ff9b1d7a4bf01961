//! What the worker reports of GPUs to the check process.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A reading of one of the devices that are listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum DeviceReading {
    Driver(DriverReading),
    Gpu(Box<GpuReading>),
}

/// NVIDIA's driver and library.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct DriverReading {
    /// `580.65.06`, of the module that is loaded.
    pub version: Option<String>,
    /// The driver refuses this library: one of the two was replaced and the other still runs.
    pub mismatch: bool,
    /// Distinguishes one loading of the module from the next.
    pub module: Option<u64>,
    /// GPUs on the bus that were given to another driver, such as `vfio-pci`.
    pub elsewhere: Vec<String>,
    /// NVSwitches on the bus, which the same module drives.
    pub switches: Vec<String>,
    /// When the reading began.
    pub read_at: Timestamp,
}

/// One GPU. What it does not support is `None`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct GpuReading {
    pub vendor: Vendor,
    pub identity: Identity,
    pub access: Access,
    pub ecc: Option<Ecc>,
    pub remap: Option<Remap>,
    pub retired: Option<Retired>,
    /// `nvmlClocksEventReason*`: why the clocks are lower than they could be.
    pub slowdown: Option<u64>,
    /// NVLinks by their number: whether each is up, if that is known.
    pub links: Vec<Option<bool>>,
    pub fabric: Option<FabricState>,
    pub mig: Option<Mig>,
    pub persistence: Option<bool>,
    /// `NVML_GPU_RECOVERY_ACTION_*`: what the driver reports that the GPU needs.
    pub recovery: Option<u64>,
    /// What it has used since the driver started it; less than before means that it was restarted.
    pub energy_millijoules: Option<u64>,
    /// A file below /dev by which programs open it, if the kernel has the device and the file is not there.
    pub missing_file: Option<String>,
    /// When the reading began.
    pub read_at: Timestamp,
}

/// Who made it; unknown where only the bus was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Vendor {
    #[default]
    #[serde(rename = "")]
    Unknown,
    #[serde(rename = "NVIDIA")]
    Nvidia,
    #[serde(rename = "AMD")]
    Amd,
}

/// What people know it by.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Identity {
    pub name: Option<String>,
    pub uuid: Option<String>,
    /// On the board's sticker.
    pub serial: Option<String>,
    /// Its firmware.
    pub vbios: Option<String>,
}

/// Whether the GPU could be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    #[default]
    Answers,
    /// Its power is down because no program uses it; asking would wake it.
    Asleep,
    /// Off the bus: as the driver reports, or because its configuration space reads all ones.
    Lost,
    /// The driver wants it to be reset first.
    ResetRequired,
    /// On the bus, and the driver does not offer it.
    Unlisted,
    /// Its own power cables are not attached.
    NoPower,
    /// Its interrupts do not arrive.
    NoInterrupts,
}

/// Memory errors: since the GPU was reset or its driver loaded, and of its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Ecc {
    pub corrected: Option<u64>,
    pub uncorrected: Option<u64>,
    pub corrected_ever: Option<u64>,
    pub uncorrected_ever: Option<u64>,
}

/// Rows of the memory that spare ones replace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Remap {
    pub pending: bool,
    pub failed: bool,
}

/// Pages of the memory that are not used any more, on GPUs before Ampere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Retired {
    pub pages: Option<u64>,
    pub pending: bool,
}

/// `nvmlGpuFabricInfoV_t`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct FabricState {
    pub state: u8,
    pub status: u32,
    pub health_mask: u32,
}

/// Multi-instance mode: as it is, and as it will be after a reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mig {
    pub current: u32,
    pub pending: u32,
}

/// Xids that NVML reported: one entry for each GPU and code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct XidEvent {
    pub device: String,
    pub xid: u64,
    pub times: u64,
}
