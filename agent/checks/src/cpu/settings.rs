//! `[cpu]`: how often they are looked at.

use std::time::Duration;

use nodewell_settings::{Key, Table};
use serde::{Deserialize, Serialize};

use crate::probe::settings::{INTERVAL, MINUTE, enabled, interval};

/// The values of the table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CpuSettings {
    pub enabled: bool,
    pub interval: Duration,
}

impl Table for CpuSettings {
    const NAME: &'static str = "[cpu]";
    const ABOUT: &'static str = "CPUs: which are online, how hot they run, which microcode they run.";

    fn keys() -> Vec<Key<Self>> {
        vec![enabled(|cpu| &mut cpu.enabled), interval(|cpu| &mut cpu.interval, INTERVAL)]
    }
}

impl Default for CpuSettings {
    fn default() -> Self {
        Self { enabled: true, interval: MINUTE }
    }
}
