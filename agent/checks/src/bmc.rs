//! The board's management controller (BMC), by the kernel's IPMI device: its event log (SEL), what its sensors show of the
//! states that the log has, and what its repository (SDR) calls them.

mod alarm;
mod commands;
mod event;
pub(crate) mod fuzzing;
mod judge;
mod meaning;
mod names;
mod reader;
mod reading;
mod repository;
mod sensor_record;
mod settings;
mod transport;
mod walk;

pub use judge::BmcJudge;
pub use reader::BmcReader;
pub use settings::BmcSettings;

use std::time::Duration;

use nodewell_settings::Part;

use crate::{
    Settings,
    check::{Check, WorkerGroup},
};

/// As the list of checks has it. Its calls wait by poll(2) with deadlines of their own and not in the driver, which has
/// its threads and timers for that: it needs no worker group to itself.
pub static CHECK: Check = Check {
    name: "bmc",
    worker_group: WorkerGroup::Check,
    table: || Part::of(|all: &mut Settings| &mut all.bmc),
    is_enabled: |all| all.bmc.enabled,
    interval: |all| all.bmc.interval,
    // The reader ends its look after half of it, and one command more may take a quarter.
    deadline: |_| Duration::from_secs(20),
    reader: |roots, _| Box::new(BmcReader::new(roots)),
    judge: |all, _| Box::new(BmcJudge::new(&all.bmc)),
};

#[cfg(test)]
mod tests;
