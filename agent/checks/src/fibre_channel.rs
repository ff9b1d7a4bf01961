//! Fibre Channel: adapters' ports that lose their link to a storage network. Where another path is left no disk shows it, and
//! the next fault takes the storage away.

mod judge;
mod reader;

pub use judge::FibreChannelJudge;
pub use reader::FibreChannelReader;

use std::time::Duration;

use nodewell_settings::{Key, Part, Table, kind::Globs};
use serde::{Deserialize, Serialize};

use crate::{
    Settings,
    check::{Check, WorkerGroup},
    probe::settings::{INTERVAL, MINUTE, enabled, interval},
};

/// As the list of checks has it.
pub static CHECK: Check = Check {
    name: "fibre-channel",
    worker_group: WorkerGroup::Check,
    table: || Part::of(|all: &mut Settings| &mut all.fibre_channel),
    is_enabled: |all| all.fibre_channel.enabled,
    interval: |all| all.fibre_channel.interval,
    deadline: |_| Duration::from_secs(10),
    reader: |roots, all| Box::new(FibreChannelReader::new(roots, &all.fibre_channel)),
    judge: |_, _| Box::new(FibreChannelJudge::default()),
};

/// `[fibre-channel]`: which ports are looked at, and how often.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FibreChannelSettings {
    pub enabled: bool,
    pub interval: Duration,
    pub ignore: Vec<String>,
}

impl Table for FibreChannelSettings {
    const NAME: &'static str = "[fibre-channel]";
    const ABOUT: &'static str = "Ports of Fibre Channel adapters.";

    fn keys() -> Vec<Key<Self>> {
        vec![
            enabled(|it| &mut it.enabled),
            interval(|it| &mut it.interval, INTERVAL),
            Self::key("ignore", |it| &mut it.ignore, Globs)
                .help("Ports, by subject or worldwide name, that are not looked at.")
                .example(r#"["0000:82:00.1", "0x2100*"]"#),
        ]
    }
}

impl Default for FibreChannelSettings {
    fn default() -> Self {
        Self { enabled: true, interval: MINUTE, ignore: Vec::new() }
    }
}

#[cfg(test)]
mod tests;
