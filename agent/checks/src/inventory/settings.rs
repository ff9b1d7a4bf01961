//! `[inventory]`: whether hardware is compared over boots, and from when on in a boot.

use std::time::Duration;

use nodewell_settings::{
    Key, Table,
    kind::{Bool, Time},
};
use serde::{Deserialize, Serialize};

use crate::probe::settings::{INTERVAL, enabled, interval};

/// Some hundred files, which change with a boot or by a person's hand.
const SELDOM: Duration = Duration::from_mins(5);
/// Disks behind a controller that counts its shelves come minutes after the kernel.
const SETTLE: Duration = Duration::from_mins(10);
/// Later than that a node is in use, and its loss is not news of a boot.
const LONGEST_SETTLE: Time = Time::ANY.to(Duration::from_hours(24));

/// The values of the table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InventorySettings {
    pub enabled: bool,
    pub interval: Duration,
    pub settle: Duration,
    pub virtual_machines: bool,
}

impl Table for InventorySettings {
    const NAME: &'static str = "[inventory]";
    const ABOUT: &'static str = "Hardware over boots: what an earlier boot had, and this one has not.";

    fn keys() -> Vec<Key<Self>> {
        vec![
            enabled(|it| &mut it.enabled),
            interval(|it| &mut it.interval, INTERVAL),
            Self::key("settle", |it| &mut it.settle, LONGEST_SETTLE).help(
                "How long after its start a boot is compared with the ones before: until then devices come late.",
            ),
            Self::key("virtual-machines", |it| &mut it.virtual_machines, Bool)
                .help("Whether memory and CPUs of a virtual machine are compared; its devices never are."),
        ]
    }
}

impl Default for InventorySettings {
    fn default() -> Self {
        Self { enabled: true, interval: SELDOM, settle: SETTLE, virtual_machines: false }
    }
}
