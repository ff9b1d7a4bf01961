//! Fabrics: ports of InfiniBand and RoCE cards that go down, flap, slow down or make errors.

mod counters;
mod hw_counters;
mod judge;
mod link_downs;
mod port;
mod reader;
mod reading;
mod recovery;
mod settings;
mod shown_counters;

pub use judge::FabricJudge;
pub use reader::FabricReader;
pub use reading::{Interface, PortReading, Rate, parse_number, parse_rate};
pub use settings::FabricSettings;

use std::time::Duration;

use nodewell_settings::Part;

use crate::{
    Settings,
    check::{Check, WorkerGroup},
};

/// As the list of checks has it.
pub static CHECK: Check = Check {
    name: "fabric",
    worker_group: WorkerGroup::Check,
    table: || Part::of(|all: &mut Settings| &mut all.fabric),
    is_enabled: |all| all.fabric.enabled,
    interval: |all| all.fabric.interval,
    // Counters of a fabric's ports are asked of the card's firmware.
    deadline: |_| Duration::from_secs(10),
    reader: |roots, all| Box::new(FabricReader::new(roots, &all.fabric)),
    judge: |all, _| Box::new(FabricJudge::new(all.fabric.clone())),
};
