//! PCI Express: error counters, links that run below what both ends can do, devices that vanish or fall silent.
//!
//! The counters are the truth and the kernel log is the time: from 6.16 on it writes ten lines in five seconds for a
//! device at most. A fatal error is the same problem in both (`PcieAerFatal`); a single nonfatal or corrected one is an
//! event of the log alone, and their rates are judged here.

mod errors;
mod judge;
mod link;
mod presence;
mod reader;
mod reading;
mod settings;

pub use judge::PcieJudge;
pub use reader::PcieReader;
pub use reading::{Aer, Errors, Lanes, Link, PcieReading, Slot, parse_errors, parse_speed, parse_width};
pub use settings::PcieSettings;

use std::time::Duration;

use nodewell_settings::Part;

use crate::{
    Settings,
    check::{Check, WorkerGroup},
};

/// As the list of checks has it.
pub static CHECK: Check = Check {
    name: "pcie",
    worker_group: WorkerGroup::Check,
    table: || Part::of(|all: &mut Settings| &mut all.pcie),
    is_enabled: |all| all.pcie.enabled,
    interval: |all| all.pcie.interval,
    deadline: |_| Duration::from_secs(10),
    reader: |roots, all| Box::new(PcieReader::new(roots, &all.pcie)),
    judge: |all, _| Box::new(PcieJudge::new(all.pcie.clone())),
};
