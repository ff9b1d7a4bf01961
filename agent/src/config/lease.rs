//! `lease` and `lease-renew` of `[apiserver]`: whether and how the agent renews a Lease.

use std::time::Duration;

/// Whether the agent renews a Lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LeaseMode {
    /// Where the identity allows it.
    #[default]
    Auto,
    /// Yes; that it is not allowed is a fault.
    Always,
    Never,
}

/// How the Lease is renewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseConfig {
    pub mode: LeaseMode,
    /// How often it is renewed.
    pub renew: Duration,
    /// It runs out after so many times as long.
    pub lasts: u32,
    /// How often a right that is not there is tried again.
    pub forbidden: Duration,
    /// A Lease that has gone is made again after so long: its Node may be on its way to be another one.
    pub vanished: Duration,
}

impl Default for LeaseConfig {
    fn default() -> Self {
        Self {
            mode: LeaseMode::default(),
            renew: Duration::from_mins(1),
            lasts: 4,
            forbidden: Duration::from_hours(1),
            vanished: Duration::from_secs(2),
        }
    }
}

impl LeaseConfig {
    /// How long it lasts after a renewal.
    #[must_use]
    pub fn duration(&self) -> Duration {
        self.renew * self.lasts
    }
}
