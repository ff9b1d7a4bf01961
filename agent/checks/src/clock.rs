//! The clock: whether it is synchronised, how far it is off, whether it was set, and its clock source.

mod daemon;
mod judge;
mod offset;
mod reader;
mod reading;
mod settings;
mod source;

pub use judge::ClockJudge;
pub use reader::ClockReader;
pub use settings::ClockSettings;

use std::time::Duration;

use nodewell_settings::Part;

use crate::{
    Settings,
    check::{Check, WorkerGroup},
};

/// As the list of checks has it.
pub static CHECK: Check = Check {
    name: "clock",
    worker_group: WorkerGroup::Check,
    table: || Part::of(|all: &mut Settings| &mut all.clock),
    is_enabled: |all| all.clock.enabled,
    interval: |all| all.clock.interval,
    deadline: |_| Duration::from_secs(10),
    reader: |roots, all| Box::new(ClockReader::new(roots, &all.clock)),
    judge: |all, _| Box::new(ClockJudge::new(all.clock.clone())),
};
