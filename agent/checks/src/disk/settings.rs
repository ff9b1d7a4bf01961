//! `[disk]`: which disks are asked, and how often.

use std::time::Duration;

use nodewell_settings::{Key, Table, kind::Globs};
use serde::{Deserialize, Serialize};

use crate::probe::settings::{INTERVAL, MINUTE, enabled, interval};

/// The values of the table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DiskSettings {
    pub enabled: bool,
    pub interval: Duration,
    pub ignore: Vec<String>,
}

impl Table for DiskSettings {
    const NAME: &'static str = "[disk]";
    const ABOUT: &'static str = "Disks: SMART, NVMe, arrays. A restart of nodewell-disk.service takes it in.";

    fn keys() -> Vec<Key<Self>> {
        let intervals = INTERVAL.not_below(MINUTE, "would keep disks awake");
        vec![
            enabled(|it| &mut it.enabled),
            interval(|it| &mut it.interval, intervals),
            Self::key("ignore", |it| &mut it.ignore, Globs)
                .help("Names, models or serial numbers that are not asked.")
                .example(r#"["sdx", "VBOX*"]"#),
        ]
    }
}

impl Default for DiskSettings {
    fn default() -> Self {
        Self { enabled: true, interval: 5 * MINUTE, ignore: Vec::new() }
    }
}
