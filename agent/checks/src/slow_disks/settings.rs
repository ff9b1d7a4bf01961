//! `[slow-disks]`: how often disks are compared with their siblings, and from where on one is slow.

use std::time::Duration;

use nodewell_settings::{
    Key, Table,
    kind::{Globs, Number, Time},
};
use serde::{Deserialize, Serialize};

use crate::probe::settings::{MINUTE, enabled, interval};

/// Counters that are read less often than once an hour show no load of one time any more.
const INTERVALS: Time = Time::from(Duration::from_secs(5)).to(Duration::from_hours(1));
const FLOORS: Time = Time::from(Duration::from_millis(1)).to(Duration::from_mins(1));

/// The values of the table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SlowDisksSettings {
    pub enabled: bool,
    pub interval: Duration,
    pub factor: u32,
    pub solid_state_floor: Duration,
    pub rotational_floor: Duration,
    pub windows: u32,
    pub ignore: Vec<String>,
}

impl Table for SlowDisksSettings {
    const NAME: &'static str = "[slow-disks]";
    const ABOUT: &'static str =
        "Disks that are slow against others of their model under a like load, by nodewell-check.service.";

    fn keys() -> Vec<Key<Self>> {
        vec![
            enabled(|it| &mut it.enabled),
            interval(|it| &mut it.interval, INTERVALS),
            // Less than twice may come from where on a disk the data lies, or from how full it is.
            Self::key("factor", |it| &mut it.factor, Number(2..=100))
                .help("A disk is slow whose requests take so many times as long as its siblings'."),
            Self::key("solid-state-floor", |it| &mut it.solid_state_floor, FLOORS)
                .help("A request to a solid-state disk that takes less is never slow."),
            Self::key("rotational-floor", |it| &mut it.rotational_floor, FLOORS).help("The same of a disk that turns."),
            Self::key("windows", |it| &mut it.windows, Number(1..=100)).help(
                "Three quarters of so many windows in which it could be compared decide, each of five intervals: \
                 that a disk is slow, and that it is not any more.",
            ),
            Self::key("ignore", |it| &mut it.ignore, Globs)
                .help("Names, models or serial numbers of disks that are not compared.")
                .example(r#"["nvme0n1", "*QEMU*"]"#),
        ]
    }
}

impl Default for SlowDisksSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            interval: MINUTE,
            factor: 4,
            // Solid-state disks answer within a millisecond, most also when busy; ten are a queue that is full.
            solid_state_floor: Duration::from_millis(20),
            // A seek and half a turn are some 15 ms: this takes retries, or a queue that the siblings have too.
            rotational_floor: Duration::from_millis(50),
            // An hour of load: a job on one disk, or the cleaning of its cells after it, is mostly shorter.
            windows: 16,
            ignore: Vec::new(),
        }
    }
}
