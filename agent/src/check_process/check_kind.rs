//! The checks: which reader and which judge each has, how often it runs, how long one device may take to answer.

use std::time::Duration;

use nodewell_checks::{
    clock::{ClockJudge, ClockReader},
    limits::{LimitsJudge, LimitsReader},
    mounts::{MountsJudge, MountsReader},
    network::{NetworkJudge, NetworkReader},
    pod_names::PodNames,
};
use nodewell_hardware::{
    Judge, Reader, Roots,
    cpu::{CpuJudge, CpuReader},
    disk::{DiskJudge, DiskReader},
    fabric::{FabricJudge, FabricReader},
    gpu::{GpuJudge, GpuReader},
    memory::{MemoryJudge, MemoryReader},
    pcie::{PcieJudge, PcieReader},
};
use serde::{Deserialize, Serialize};

/// What an operator can set of all of them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Settings {
    pub hardware: nodewell_hardware::Settings,
    pub checks: nodewell_checks::Settings,
}

/// A check: the devices, or whatever else, that one reader reads and one judge judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckKind {
    Disk,
    Memory,
    Cpu,
    Pcie,
    /// InfiniBand and RoCE ports.
    Fabric,
    Gpu,
    /// Limits of the kernel: connections, tasks, descriptors, pressure; leaks, certificates.
    Limits,
    Mounts,
    Clock,
    Network,
}

/// How often a check runs, and how long one device may take to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PollTiming {
    pub interval: Duration,
    pub deadline: Duration,
}

impl CheckKind {
    /// Its name in file names, names of tasks and logs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Disk => "disk",
            Self::Memory => "memory",
            Self::Cpu => "cpu",
            Self::Pcie => "pcie",
            Self::Fabric => "fabric",
            Self::Gpu => "gpu",
            Self::Limits => "limits",
            Self::Mounts => "mounts",
            Self::Clock => "clock",
            Self::Network => "network",
        }
    }

    /// Whether the operator wants it.
    #[must_use]
    pub fn is_enabled(self, settings: &Settings) -> bool {
        match self {
            Self::Disk => settings.hardware.disk.enabled,
            Self::Memory => settings.hardware.memory.enabled,
            Self::Cpu => settings.hardware.cpu.enabled,
            Self::Pcie => settings.hardware.pcie.enabled,
            Self::Fabric => settings.hardware.fabric.enabled,
            Self::Gpu => settings.hardware.gpu.enabled,
            Self::Limits => settings.checks.limits.enabled,
            Self::Mounts => settings.checks.mounts.enabled,
            Self::Clock => settings.checks.clock.enabled,
            Self::Network => settings.checks.network.enabled,
        }
    }

    #[must_use]
    pub fn timing(self, settings: &Settings) -> PollTiming {
        let (interval, deadline_secs) = match self {
            // The block layer gives a command 30 s and more before it resets the device: ours ask for less.
            Self::Disk => (settings.hardware.disk.interval, 20),
            Self::Memory => (settings.hardware.memory.interval, 10),
            Self::Cpu => (settings.hardware.cpu.interval, 10),
            Self::Pcie => (settings.hardware.pcie.interval, 10),
            // Counters of a fabric's ports are asked of the card's firmware.
            Self::Fabric => (settings.hardware.fabric.interval, 10),
            Self::Gpu => (settings.hardware.gpu.interval, 15),
            // Files that the kernel makes when they are read.
            Self::Limits => (settings.checks.limits.interval, 10),
            Self::Mounts => (settings.checks.mounts.interval, settings.checks.mounts.deadline.as_secs()),
            Self::Clock => (settings.checks.clock.interval, 10),
            Self::Network => (settings.checks.network.interval, 10),
        };
        PollTiming { interval, deadline: Duration::from_secs(deadline_secs) }
    }

    #[must_use]
    pub fn reader(self, roots: Roots, settings: &Settings) -> Box<dyn Reader> {
        match self {
            Self::Disk => Box::new(DiskReader::new(roots, &settings.hardware.disk)),
            Self::Memory => Box::new(MemoryReader::new(roots, &settings.hardware.memory)),
            Self::Cpu => Box::new(CpuReader::new(roots, &settings.hardware.cpu)),
            Self::Pcie => Box::new(PcieReader::new(roots, &settings.hardware.pcie)),
            Self::Fabric => Box::new(FabricReader::new(roots, &settings.hardware.fabric)),
            Self::Gpu => Box::new(GpuReader::new(roots, &settings.hardware.gpu)),
            Self::Limits => Box::new(LimitsReader::new(roots, &settings.checks.limits)),
            Self::Mounts => Box::new(MountsReader::new(roots, &settings.checks.mounts)),
            Self::Clock => Box::new(ClockReader::new(roots, &settings.checks.clock)),
            Self::Network => Box::new(NetworkReader::new(roots, &settings.checks.network)),
        }
    }

    #[must_use]
    pub fn judge(self, settings: &Settings, pod_names: &PodNames) -> Box<dyn Judge> {
        match self {
            Self::Disk => Box::new(DiskJudge::new(settings.hardware.disk.clone())),
            Self::Memory => Box::new(MemoryJudge::new(settings.hardware.memory.clone())),
            Self::Cpu => Box::new(CpuJudge::new(settings.hardware.cpu.clone())),
            Self::Pcie => Box::new(PcieJudge::new(settings.hardware.pcie.clone())),
            Self::Fabric => Box::new(FabricJudge::new(settings.hardware.fabric.clone())),
            Self::Gpu => Box::new(GpuJudge::new(settings.hardware.gpu.clone())),
            Self::Limits => Box::new(LimitsJudge::new(settings.checks.limits.clone(), pod_names.clone())),
            Self::Mounts => Box::new(MountsJudge::new(settings.checks.mounts.clone())),
            Self::Clock => Box::new(ClockJudge::new(settings.checks.clock.clone())),
            Self::Network => Box::new(NetworkJudge::new(settings.checks.network.clone())),
        }
    }
}
