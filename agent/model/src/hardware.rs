//! How many devices of a class there are, and how many of them are not well: one line of `nodewell status`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One class of devices of one daemon, such as `8 GPUs: 1 lost`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hardware {
    /// In the plural, as people say it: `disks`, `GPUs`, `memory modules`.
    pub class: String,
    /// All of them, also those that are expected and gone.
    pub total: u32,
    /// Those that are not well, by one word each: `lost`, `failing`, `not answering`. The others are.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub states: BTreeMap<String, u32>,
    /// No devices, but something of the host that is worth knowing and no fault: `9 cgroup controllers of version 1`,
    /// `1 reboot due`. It is shown apart from the hardware, and is in no metric.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub informational: bool,
    /// Of those by which the nodes of a fleet are compared: what they are, and what they run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<DeviceFacts>,
}

/// One device; what it does not show is empty.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceFacts {
    /// Its subject: a PCI address.
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// A GPU's VBIOS.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub firmware: String,
    /// `nvidia 580.65.06`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub driver: String,
}

impl Hardware {
    /// How many are well.
    #[must_use]
    pub fn healthy(&self) -> u32 {
        self.states.values().fold(self.total, |healthy, count| healthy.saturating_sub(*count))
    }
}
