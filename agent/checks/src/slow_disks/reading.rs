//! What one look at the counters of all disks brings.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// All disks are one device: their counters stand in one file, and only what is of one moment can be compared.
pub(super) const ALL: &str = "slow-disks";

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct SlowDisksReading {
    /// By a clock that neither jumps nor counts suspends (CLOCK_MONOTONIC): what the kernel measures requests with.
    pub at: Duration,
    pub devices: Vec<Device>,
}

/// A block device with counters of its own: a disk, a path to one, a namespace of one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Device {
    pub name: String,
    /// `diskseq` of sysfs (Linux 5.15): no two disks of one boot have the same, whatever they are called.
    pub sequence: Option<u64>,
    /// The disk, as the `disk` check calls it.
    pub subject: String,
    pub serial: String,
    pub model: Model,
    pub counters: Counters,
}

/// What siblings have in common.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub(super) struct Model {
    /// With its maker.
    pub name: String,
    pub is_rotational: bool,
    /// The logarithm of its size: one name may stand for disks of several sizes.
    pub size_class: u32,
    /// How the kernel puts its requests in order, which takes part of their time.
    pub scheduler: String,
    /// Whether its cache takes writes (`write back`): without it a write takes as long as the medium.
    pub write_cache: String,
}

/// Since the device came (Documentation/admin-guide/iostats.rst).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Counters {
    pub reads: Transfers,
    pub writes: Transfers,
    pub discards: u64,
    pub flushes: u64,
    /// Time in which it had something to do. From Linux 5.0 on part of it may be missing, where requests that take long
    /// overlap.
    pub busy_millis: u64,
}

/// One direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Transfers {
    pub operations: u64,
    pub sectors: u64,
    /// What all of them together took, from the queue to the end.
    pub millis: u64,
}

impl Device {
    /// What people know the disk by: all paths to it, and all its namespaces, have the same.
    pub(super) fn disk(&self) -> String {
        format!("{}, serial number {}", self.model.name, self.serial)
    }

    /// What it did since `before`; nothing if that is not known: a counter went back (times wrap at 32 bits; a device
    /// that came back counts from zero), or the name is another disk's now.
    pub(super) fn since(&self, before: &Self) -> Option<Counters> {
        let is_same = self.sequence == before.sequence && self.serial == before.serial && self.model == before.model;
        is_same.then(|| self.counters.since(&before.counters)).flatten()
    }
}

impl Counters {
    fn since(&self, before: &Self) -> Option<Self> {
        Some(Self {
            reads: self.reads.since(before.reads)?,
            writes: self.writes.since(before.writes)?,
            discards: self.discards.checked_sub(before.discards)?,
            flushes: self.flushes.checked_sub(before.flushes)?,
            busy_millis: self.busy_millis.checked_sub(before.busy_millis)?,
        })
    }

    pub(super) fn plus(&self, other: &Self) -> Self {
        Self {
            reads: self.reads.plus(other.reads),
            writes: self.writes.plus(other.writes),
            discards: self.discards.saturating_add(other.discards),
            flushes: self.flushes.saturating_add(other.flushes),
            busy_millis: self.busy_millis.saturating_add(other.busy_millis),
        }
    }
}

impl Transfers {
    fn since(self, before: Self) -> Option<Self> {
        Some(Self {
            operations: self.operations.checked_sub(before.operations)?,
            sectors: self.sectors.checked_sub(before.sectors)?,
            millis: self.millis.checked_sub(before.millis)?,
        })
    }

    fn plus(self, other: Self) -> Self {
        Self {
            operations: self.operations.saturating_add(other.operations),
            sectors: self.sectors.saturating_add(other.sectors),
            millis: self.millis.saturating_add(other.millis),
        }
    }
}
