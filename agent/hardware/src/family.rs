//! The families of devices: which satellite looks after them, who reads and who judges them, how often.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    Judge, Reader, Roots, Settings,
    cpu::{CpuJudge, CpuReader},
    disk::{DiskJudge, DiskReader},
    fabric::{FabricJudge, FabricReader},
    gpu::{GpuJudge, GpuReader},
    memory::{MemoryJudge, MemoryReader},
    pcie::{PcieJudge, PcieReader},
};

/// Devices that are read and judged alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    Disk,
    Memory,
    Cpu,
    Pcie,
    Fabric,
    Gpu,
}

/// How often a family is read, and how long one device may take to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    pub interval: Duration,
    pub deadline: Duration,
}

impl Family {
    pub const ALL: [Self; 6] = [Self::Disk, Self::Memory, Self::Cpu, Self::Pcie, Self::Fabric, Self::Gpu];

    /// Its name on the worker's command line and in file names.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Disk => "disk",
            Self::Memory => "memory",
            Self::Cpu => "cpu",
            Self::Pcie => "pcie",
            Self::Fabric => "fabric",
            Self::Gpu => "gpu",
        }
    }

    /// The family of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|family| family.as_str() == name)
    }

    /// Whether the operator wants it.
    #[must_use]
    pub fn is_enabled(self, settings: &Settings) -> bool {
        match self {
            Self::Disk => settings.disk.enabled,
            Self::Memory => settings.memory.enabled,
            Self::Cpu => settings.cpu.enabled,
            Self::Pcie => settings.pcie.enabled,
            Self::Fabric => settings.fabric.enabled,
            Self::Gpu => settings.gpu.enabled,
        }
    }

    #[must_use]
    pub fn pace(self, settings: &Settings) -> Pace {
        let (interval, deadline_secs) = match self {
            // The block layer gives a command 30 s and more before it resets the device: ours ask for less.
            Self::Disk => (settings.disk.interval, 20),
            Self::Memory => (settings.memory.interval, 10),
            Self::Cpu => (settings.cpu.interval, 10),
            Self::Pcie => (settings.pcie.interval, 10),
            // Counters of a fabric's ports are asked of the card's firmware.
            Self::Fabric => (settings.fabric.interval, 10),
            Self::Gpu => (settings.gpu.interval, 15),
        };
        Pace { interval, deadline: Duration::from_secs(deadline_secs) }
    }

    #[must_use]
    pub fn reader(self, roots: Roots, settings: &Settings) -> Box<dyn Reader> {
        match self {
            Self::Disk => Box::new(DiskReader::new(roots, &settings.disk)),
            Self::Memory => Box::new(MemoryReader::new(roots, &settings.memory)),
            Self::Cpu => Box::new(CpuReader::new(roots, &settings.cpu)),
            Self::Pcie => Box::new(PcieReader::new(roots, &settings.pcie)),
            Self::Fabric => Box::new(FabricReader::new(roots, &settings.fabric)),
            Self::Gpu => Box::new(GpuReader::new(roots, &settings.gpu)),
        }
    }

    #[must_use]
    pub fn judge(self, settings: &Settings) -> Box<dyn Judge> {
        match self {
            Self::Disk => Box::new(DiskJudge::new(settings.disk.clone())),
            Self::Memory => Box::new(MemoryJudge::new(settings.memory.clone())),
            Self::Cpu => Box::new(CpuJudge::new(settings.cpu.clone())),
            Self::Pcie => Box::new(PcieJudge::new(settings.pcie.clone())),
            Self::Fabric => Box::new(FabricJudge::new(settings.fabric.clone())),
            Self::Gpu => Box::new(GpuJudge::new(settings.gpu.clone())),
        }
    }
}
