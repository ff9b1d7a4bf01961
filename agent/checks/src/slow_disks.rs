//! Disks that work and are slow (fail-slow): each against its siblings, disks of the same model on this node that had a
//! like load at the same time. By the kernel's counters alone: no disk is asked anything.

mod compare;
mod judge;
mod load;
mod reader;
mod reading;
mod settings;
mod watched;

pub use judge::SlowDisksJudge;
pub use reader::SlowDisksReader;
pub use settings::SlowDisksSettings;

use std::time::Duration;

use nodewell_settings::Part;

use crate::{
    Settings,
    check::{Check, WorkerGroup},
};

/// As the list of checks has it.
pub static CHECK: Check = Check {
    name: "slow-disks",
    // Not the disks' group, whose worker waits for disks: none is asked here.
    worker_group: WorkerGroup::Check,
    table: || Part::of(|all: &mut Settings| &mut all.slow_disks),
    is_enabled: |all| all.slow_disks.enabled,
    interval: |all| all.slow_disks.interval,
    deadline: |_| Duration::from_secs(20),
    reader: |roots, all| Box::new(SlowDisksReader::new(roots, &all.slow_disks)),
    judge: |all, _| Box::new(SlowDisksJudge::new(all.slow_disks.clone())),
};

#[cfg(test)]
mod tests;
