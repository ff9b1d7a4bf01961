//! What an operator can set, with the defaults. Reading the config file is the agent's.

use std::{path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};

/// One part for each check.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Settings {
    pub disk: DiskSettings,
    pub memory: MemorySettings,
    pub cpu: CpuSettings,
    pub pcie: PcieSettings,
    pub fabric: FabricSettings,
    pub gpu: GpuSettings,
}

/// `[disk]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DiskSettings {
    pub enabled: bool,
    /// At least a minute: less would keep disks awake.
    pub interval: Duration,
    /// Globs of names (`sda`, `nvme1n*`), models or serial numbers that are not asked.
    pub ignore: Vec<String>,
}

/// `[memory]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemorySettings {
    pub enabled: bool,
    pub interval: Duration,
    /// Corrected errors of one module within a day that make it a problem.
    pub corrected_per_day: u32,
}

/// `[cpu]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CpuSettings {
    pub enabled: bool,
    pub interval: Duration,
}

/// `[pcie]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PcieSettings {
    pub enabled: bool,
    pub interval: Duration,
    /// Corrected errors of one device within an hour that make it a problem.
    pub corrected_per_hour: u32,
    /// Globs of addresses that are not judged.
    pub ignore: Vec<String>,
}

/// `[fabric]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FabricSettings {
    pub enabled: bool,
    pub interval: Duration,
    /// Ports that have to be up, as `mlx5_0/1`; none named: those that have been up once.
    pub expected: Vec<String>,
    /// Globs of ports that are not judged.
    pub ignore: Vec<String>,
}

/// `[gpu]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GpuSettings {
    pub enabled: bool,
    pub interval: Duration,
    /// How many there have to be; unset: the most ever seen.
    pub expected: Option<u32>,
    /// `libnvidia-ml.so.1`, wherever the linker finds it.
    pub library: Option<PathBuf>,
    /// An operator's overrides of the shipped Xid table.
    pub xids: Option<PathBuf>,
}

const MINUTE: Duration = Duration::from_secs(60);

impl Default for DiskSettings {
    fn default() -> Self {
        Self { enabled: true, interval: 5 * MINUTE, ignore: Vec::new() }
    }
}

impl Default for MemorySettings {
    fn default() -> Self {
        // Ten within a day is the limit of the kernel log's rule, too.
        Self { enabled: true, interval: MINUTE, corrected_per_day: 10 }
    }
}

impl Default for CpuSettings {
    fn default() -> Self {
        Self { enabled: true, interval: MINUTE }
    }
}

impl Default for PcieSettings {
    fn default() -> Self {
        Self { enabled: true, interval: MINUTE, corrected_per_hour: 1000, ignore: Vec::new() }
    }
}

impl Default for FabricSettings {
    fn default() -> Self {
        // A flap is down for some 25 s: seen in between.
        Self { enabled: true, interval: Duration::from_secs(10), expected: Vec::new(), ignore: Vec::new() }
    }
}

impl Default for GpuSettings {
    fn default() -> Self {
        Self { enabled: true, interval: Duration::from_secs(30), expected: None, library: None, xids: None }
    }
}
