//! What the CPU reader returns: one answer for all CPUs.

use serde::{Deserialize, Serialize};

use super::list::CpuSet;

/// All of the node's CPUs; the subject of what is not one CPU's alone.
pub const ALL: &str = "CPU";

/// All CPUs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CpuReading {
    pub online: CpuSet,
    /// Those that are plugged in.
    pub present: CpuSet,
    /// Those that share their core with one of a lower number.
    pub siblings: CpuSet,
    /// An operator switched simultaneous multithreading off.
    pub siblings_off: bool,
    pub microcode: Vec<Microcode>,
    pub throttling: Vec<ThrottleReading>,
}

/// CPUs of one kind that run one revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Microcode {
    /// Family, model and stepping: only the same kind can be compared.
    pub kind: String,
    pub revision: String,
    pub cpus: CpuSet,
}

/// How often the CPUs of one package were throttled because they were too hot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThrottleReading {
    pub package: u32,
    pub cpus: u32,
    /// Of the package, and of its cores together.
    pub events: u64,
    /// `None` on kernels before 5.6.
    pub millis: Option<u64>,
}
