//! `[sensors]`: which fans and temperatures are read, and how often.

use std::time::Duration;

use nodewell_settings::{Key, Table, kind::Globs};
use serde::{Deserialize, Serialize};

use crate::probe::settings::{INTERVAL, MINUTE, enabled, interval};

/// The values of the table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SensorsSettings {
    pub enabled: bool,
    pub interval: Duration,
    pub ignore: Vec<String>,
}

impl Table for SensorsSettings {
    const NAME: &'static str = "[sensors]";
    const ABOUT: &'static str = "Fans and temperatures of the board (hwmon).";

    fn keys() -> Vec<Key<Self>> {
        vec![
            enabled(|it| &mut it.enabled),
            interval(|it| &mut it.interval, INTERVAL),
            Self::key("ignore", |it| &mut it.ignore, Globs)
                .help("Sensors, by subject, label or chip, that are not looked at.")
                .example(r#"["fan5 of nct6798*", "acpitz"]"#),
        ]
    }
}

impl Default for SensorsSettings {
    fn default() -> Self {
        Self { enabled: true, interval: MINUTE, ignore: Vec::new() }
    }
}
