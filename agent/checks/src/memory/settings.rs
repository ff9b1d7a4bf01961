//! `[memory]`: how often it is looked at, and what is too much.

use std::time::Duration;

use nodewell_settings::{Key, Table, kind::Number};
use serde::{Deserialize, Serialize};

use crate::probe::settings::{INTERVAL, MINUTE, enabled, interval};

/// The values of the table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemorySettings {
    pub enabled: bool,
    pub interval: Duration,
    pub corrected_per_day: u32,
}

impl Table for MemorySettings {
    const NAME: &'static str = "[memory]";
    const ABOUT: &'static str = "Memory: what its modules correct and what they cannot, by nodewell-check.service.";

    fn keys() -> Vec<Key<Self>> {
        vec![
            enabled(|it| &mut it.enabled),
            interval(|it| &mut it.interval, INTERVAL),
            Self::key("corrected-per-day", |it| &mut it.corrected_per_day, Number(1..=1_000_000))
                .help("Corrected errors of one module within a day that make it a problem."),
        ]
    }
}

impl Default for MemorySettings {
    fn default() -> Self {
        // Ten within a day is the limit of the kernel log's rule, too.
        Self { enabled: true, interval: MINUTE, corrected_per_day: 10 }
    }
}
