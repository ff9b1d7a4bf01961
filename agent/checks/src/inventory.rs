//! Hardware over boots: less memory, fewer modules, CPUs, disks, network cards or accelerators than in an earlier boot. What
//! is lost while the system runs is for the checks of its own kind.

mod class;
mod compare;
pub(crate) mod dmi;
mod facts;
pub(crate) mod fuzzing;
mod history;
mod judge;
mod pci;
mod reader;
mod reading;
mod settings;
mod storage;
mod word;

pub use judge::InventoryJudge;
pub use reader::InventoryReader;
pub use settings::InventorySettings;

use std::time::Duration;

use nodewell_settings::Part;

use crate::{
    Settings,
    check::{Check, WorkerGroup},
};

/// As the list of checks has it.
pub static CHECK: Check = Check {
    name: "inventory",
    worker_group: WorkerGroup::Check,
    table: || Part::of(|all: &mut Settings| &mut all.inventory),
    is_enabled: |all| all.inventory.enabled,
    interval: |all| all.inventory.interval,
    // Some hundred small files, all of them in the kernel's memory.
    deadline: |_| Duration::from_secs(20),
    reader: |roots, _| Box::new(InventoryReader::new(roots)),
    judge: |all, _| Box::new(InventoryJudge::new(&all.inventory)),
};

#[cfg(test)]
mod tests;
