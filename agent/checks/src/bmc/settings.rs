//! `[bmc]`: how often the BMC's event log is read, and what of it is not judged.

use std::time::Duration;

use nodewell_settings::{Key, Table, kind::Globs};
use serde::{Deserialize, Serialize};

use crate::probe::settings::{INTERVAL, MINUTE, enabled, interval};

/// The values of the table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BmcSettings {
    pub enabled: bool,
    pub interval: Duration,
    pub ignore: Vec<String>,
}

impl Table for BmcSettings {
    const NAME: &'static str = "[bmc]";
    const ABOUT: &'static str = "The event log of the board's management controller (BMC), by /dev/ipmi0.";

    fn keys() -> Vec<Key<Self>> {
        vec![
            enabled(|it| &mut it.enabled),
            interval(|it| &mut it.interval, INTERVAL),
            Self::key("ignore", |it| &mut it.ignore, Globs)
                .help("Sensors, by subject, whose events are not judged.")
                .example(r#"["chassis sensor *", "fan sensor 0x41"]"#),
        ]
    }
}

impl Default for BmcSettings {
    fn default() -> Self {
        Self { enabled: true, interval: MINUTE, ignore: Vec::new() }
    }
}
