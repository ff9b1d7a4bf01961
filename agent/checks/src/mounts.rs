//! Filesystems: free space, errors, servers that do not answer.
//!
//! mountinfo lists them, and hangs at nothing; what is asked of a filesystem or of a server is one question each,
//! because its answer may never come.

pub mod device;
mod errors;
mod fstab;
mod fullness;
mod history;
mod judge;
mod kind;
mod reader;
mod reading;
mod rough_bytes;
mod settings;
mod table;

pub use judge::MountsJudge;
pub use reader::MountsReader;
pub use settings::{MountsSettings, Threshold};

use nodewell_settings::Part;

use crate::{
    Settings,
    check::{Check, WorkerGroup},
};

/// As the list of checks has it.
pub static CHECK: Check = Check {
    name: "mounts",
    worker_group: WorkerGroup::Mounts,
    table: || Part::of(|all: &mut Settings| &mut all.mounts),
    is_enabled: |all| all.mounts.enabled,
    interval: |all| all.mounts.interval,
    deadline: |all| all.mounts.deadline,
    reader: |roots, all| Box::new(MountsReader::new(roots, &all.mounts)),
    judge: |all, _| Box::new(MountsJudge::new(all.mounts.clone())),
};
