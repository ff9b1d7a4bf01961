//! What drivers of a fabric's cards count of their own, shown under the names that the drivers give it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The counters of one port, or of a device as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HwCounters {
    /// As the kernel calls it: `mlx5_0`.
    pub device: String,
    /// `None`: they are of the device, not of a port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<String>,
    pub counters: BTreeMap<String, u64>,
}

/// All that the last round read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HwCountersView {
    pub shown: Vec<HwCounters>,
    /// Ports that have counters, too, and are more than are shown.
    #[serde(default)]
    pub left_out: usize,
    /// Seconds since the boot, suspend included. By then another round has read them, or they are too old to be shown.
    pub valid_until_secs: u64,
}
