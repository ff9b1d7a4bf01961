//! What an operator can set, with its defaults. Reading the config file is the agent's.

mod limits;
mod network;

use std::{path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};

pub use crate::service::ServiceSettings;
pub use limits::{Levels, LimitsSettings};
pub use network::NetworkSettings;

/// One part for each check.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Settings {
    pub limits: LimitsSettings,
    pub mounts: MountsSettings,
    pub clock: ClockSettings,
    pub network: NetworkSettings,
    pub services: ServiceSettings,
}

/// `[mounts]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MountsSettings {
    pub enabled: bool,
    pub interval: Duration,
    /// For the answer of one filesystem or server.
    pub deadline: Duration,
    /// Globs of mount points or sources that are not asked.
    pub ignore: Vec<String>,
    pub space: Threshold,
    /// With so much left nothing is full, whatever the percentage.
    pub space_enough_bytes: u64,
    pub inodes: Threshold,
    /// Where the operator defines what is mounted how.
    pub fstab: PathBuf,
}

/// Percent used: full from the one, well below the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Threshold {
    pub percent: u32,
    pub clear_percent: u32,
}

impl Default for MountsSettings {
    fn default() -> Self {
        // The kubelet evicts pods from 90 % on, and cleans up images from 85 %.
        let threshold = Threshold { percent: 90, clear_percent: 85 };
        Self {
            enabled: true,
            interval: Duration::from_secs(60),
            // A server that is only busy answers within seconds.
            deadline: Duration::from_secs(10),
            ignore: Vec::new(),
            space: threshold,
            space_enough_bytes: 10 << 30,
            inodes: threshold,
            fstab: PathBuf::from("/etc/fstab"),
        }
    }
}

/// `[clock]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClockSettings {
    pub enabled: bool,
    pub interval: Duration,
    /// Whether a clock that is not synchronised is a fault although no program that would do it was ever seen.
    pub required: bool,
    /// For how long the clock may go without synchronisation.
    pub unsynchronised_after: Duration,
    /// The clock is off by so much or more.
    pub offset: Duration,
    /// Well again below this.
    pub offset_clear: Duration,
    /// A larger step of the wall clock is reported.
    pub step: Duration,
}

impl Default for ClockSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            interval: Duration::from_secs(60),
            required: false,
            // A daemon that restarts needs minutes.
            unsynchronised_after: Duration::from_secs(15 * 60),
            // ntpd steps from 128 ms on, systemd-timesyncd from 400 ms on.
            offset: Duration::from_millis(100),
            offset_clear: Duration::from_millis(50),
            // A leap second is none.
            step: Duration::from_secs(1),
        }
    }
}
