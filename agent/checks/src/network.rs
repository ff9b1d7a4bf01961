//! The way out: default routes, interfaces, bonds, tunnels that are larger than what carries them, names that resolve.
//!
//! Ports of InfiniBand and RoCE cards are the fabric monitor's; of their interfaces only damaged packets are judged here.

mod judge;
mod names;
mod reader;
mod reading;
mod routes;
mod settings;

pub use judge::NetworkJudge;
pub use reader::NetworkReader;
pub use settings::NetworkSettings;

use std::time::Duration;

use nodewell_settings::Part;

use crate::{
    Settings,
    check::{Check, WorkerGroup},
};

/// As the list of checks has it.
pub static CHECK: Check = Check {
    name: "network",
    worker_group: WorkerGroup::Check,
    table: || Part::of(|all: &mut Settings| &mut all.network),
    is_enabled: |all| all.network.enabled,
    interval: |all| all.network.interval,
    deadline: |_| Duration::from_secs(10),
    reader: |roots, all| Box::new(NetworkReader::new(roots, &all.network)),
    judge: |all, _| Box::new(NetworkJudge::new(all.network.clone())),
};

/// The devices that the reader lists.
const LINKS: &str = "links";
const DNS: &str = "dns";

#[cfg(test)]
mod tests;
