//! What the limits reader reports: one answer for each part that is asked for by itself.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Small files of procfs.
pub const KERNEL: &str = "limits/kernel";
/// Every process.
pub const TASKS: &str = "limits/tasks";
/// Limits of cgroups, and the pods' counters.
pub const CGROUPS: &str = "limits/cgroups";
/// Files of a disk: certificates, and whether a reboot is due.
pub const FILES: &str = "limits/files";

/// Each hangs by itself, if it does, and is known by its end (`check_process::TaskName`).
pub const PARTS: [&str; 4] = [KERNEL, TASKS, CGROUPS, FILES];

/// `used` of `max`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Level {
    pub used: u64,
    pub max: u64,
}

/// [`KERNEL`]; what this kernel does not have is left out.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct KernelReading {
    pub conntrack: Option<Level>,
    pub conntrack_counts: Option<ConntrackCounts>,
    pub file_handles: Option<Level>,
    pub pids: Option<Level>,
    pub threads: Option<Level>,
    pub memory_pressure: Option<Pressure>,
    pub cpu_pressure: Option<Pressure>,
    pub io_pressure: Option<Pressure>,
    /// Over five minutes, of all CPUs together.
    pub load: f64,
    pub cpus: u32,
    pub swap: Option<Swap>,
    pub memory: Option<MemoryUsage>,
    /// Inodes in use.
    pub inodes: Option<u64>,
    pub taints: Option<u64>,
}

/// Since the table was made, on all CPUs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConntrackCounts {
    /// Packets thrown away because tracking failed.
    pub drop: u64,
    /// Connections thrown away to make room.
    pub early_drop: u64,
    pub insert_failed: u64,
}

/// Hundredths of a percent of the last five minutes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pressure {
    pub some: u32,
    pub full: u32,
}

/// Pages since boot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Swap {
    pub pages_in: u64,
    pub pages_out: u64,
}

/// Kibibytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryUsage {
    pub total: u64,
    pub free: u64,
    pub slab_unreclaimable: u64,
}

/// [`TASKS`]: a look at all processes, or none where the last one is too young.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TasksReading {
    pub scan: Option<Scan>,
}

/// One look at all processes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Scan {
    pub zombies: Vec<Zombie>,
    pub blocked: Vec<Blocked>,
    pub daemons: Vec<Daemon>,
}

/// A process that has ended and whose parent does not reap it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Zombie {
    pub id: TaskId,
    pub parent: Process,
}

/// A process, and whose it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct Process {
    pub pid: u32,
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
}

/// The owner of a process, by its cgroup.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Owner {
    /// A pod's uid.
    Pod(String),
    /// A unit of the service manager.
    Unit(String),
}

impl Owner {
    /// The uid, if it is a pod.
    #[must_use]
    pub fn into_pod(self) -> Option<String> {
        match self {
            Self::Pod(uid) => Some(uid),
            Self::Unit(_) => None,
        }
    }
}

/// A task in uninterruptible sleep.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocked {
    pub id: TaskId,
    pub name: String,
    /// What it has used of the CPU: one that used nothing since the last look has slept all the time.
    pub ticks: u64,
    /// Where in the kernel it waits; empty where we may not know.
    pub wait_channel: String,
    /// The uid of the pod whose it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod: Option<String>,
}

/// One task of this boot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TaskId {
    pub pid: u32,
    /// In ticks since boot: numbers are given out again.
    pub start: u64,
}

/// One of the programs that a node lives by.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Daemon {
    pub id: TaskId,
    /// Its unit, or what it is called.
    pub name: String,
    /// Kibibytes of its own.
    pub memory: Option<u64>,
    pub descriptors: Option<u64>,
}

/// [`CGROUPS`]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CgroupsReading {
    /// By path: tasks of those that have a limit.
    pub tasks: BTreeMap<String, Level>,
    /// By the pod's uid.
    pub pods: BTreeMap<String, Pod>,
    /// By controller: whether it is of version 2.
    pub controllers: BTreeMap<String, bool>,
}

/// One pod's cgroup.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pod {
    /// In it and below it, since it was made.
    pub oom_kills: u64,
}

/// [`FILES`]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FilesReading {
    /// By path.
    pub certificates: BTreeMap<String, Dates>,
    pub reboot: Option<Reboot>,
}

/// A certificate's life, in seconds of Unix time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dates {
    pub not_before: i64,
    pub not_after: i64,
}

/// Why a reboot is due.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reboot {
    /// Packages that asked for it.
    pub packages: Vec<String>,
    /// A kernel that was installed after this boot and is newer than the one that runs.
    pub kernel: Option<String>,
}
