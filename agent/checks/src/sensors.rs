//! Fans and temperatures of the board, as the drivers of its monitoring chips report them (hwmon). What sits on a GPU, a disk
//! or in a CPU is left to their own checks.

mod judge;
mod reader;
mod reading;
mod settings;

pub use judge::SensorsJudge;
pub use reader::SensorsReader;
pub use settings::SensorsSettings;

use std::time::Duration;

use nodewell_settings::Part;

use crate::{
    Settings,
    check::{Check, WorkerGroup},
};

/// As the list of checks has it.
pub static CHECK: Check = Check {
    name: "sensors",
    worker_group: WorkerGroup::Check,
    table: || Part::of(|all: &mut Settings| &mut all.sensors),
    is_enabled: |all| all.sensors.enabled,
    interval: |all| all.sensors.interval,
    // A chip behind a slow bus takes a tenth of a second for each register.
    deadline: |_| Duration::from_secs(20),
    reader: |roots, all| Box::new(SensorsReader::new(roots, &all.sensors)),
    judge: |_, _| Box::new(SensorsJudge::default()),
};

#[cfg(test)]
mod tests;
