//! `[pcie]`: how often links and errors are read, and what is too much.

use std::time::Duration;

use nodewell_settings::{
    Key, Table,
    kind::{Globs, Number},
};
use serde::{Deserialize, Serialize};

use crate::probe::settings::{INTERVAL, MINUTE, enabled, interval};

/// The values of the table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PcieSettings {
    pub enabled: bool,
    pub interval: Duration,
    pub corrected_per_hour: u32,
    pub ignore: Vec<String>,
}

impl Table for PcieSettings {
    const NAME: &'static str = "[pcie]";
    const ABOUT: &'static str =
        "PCI Express: links that are slower than they were, errors that are corrected, devices that are gone.";

    fn keys() -> Vec<Key<Self>> {
        vec![
            enabled(|it| &mut it.enabled),
            interval(|it| &mut it.interval, INTERVAL),
            Self::key("corrected-per-hour", |it| &mut it.corrected_per_hour, Number(1..=100_000_000))
                .help("Corrected errors of one device within an hour that make it a problem."),
            Self::key("ignore", |it| &mut it.ignore, Globs)
                .help("Addresses that are not judged.")
                .example(r#"["0000:3b:*"]"#),
        ]
    }
}

impl Default for PcieSettings {
    fn default() -> Self {
        Self { enabled: true, interval: MINUTE, corrected_per_hour: 1000, ignore: Vec::new() }
    }
}
