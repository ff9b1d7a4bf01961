//! What an operator can set of what is looked at beside devices; each has its own table.

use serde::{Deserialize, Serialize};

pub use crate::{
    clock::ClockSettings,
    limits::{Levels, LimitsSettings},
    mounts::{MountsSettings, Threshold},
    network::NetworkSettings,
    service::ServiceSettings,
};

/// One part for each check.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Settings {
    pub limits: LimitsSettings,
    pub mounts: MountsSettings,
    pub clock: ClockSettings,
    pub network: NetworkSettings,
    pub services: ServiceSettings,
}
