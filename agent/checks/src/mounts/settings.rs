//! `[mounts]`: which filesystems are asked, and when one is as good as full.

use std::{ops::RangeInclusive, path::PathBuf, time::Duration};

use crate::probe::settings::{INTERVAL, enabled, interval};
use nodewell_settings::{
    Key, Kind, ReadKeys, Report, Schema, Section, Table,
    kind::{Globs, Maybe, Number, Time},
};
use serde::{Deserialize, Serialize};

/// Below a second a server that is only busy would be reported; a minute is as long as a round.
const DEADLINES: Time = Time::from(Duration::from_secs(1)).to(Duration::from_mins(1));
const PERCENT: RangeInclusive<u32> = 1..=100;
const CLEAR_PERCENT: RangeInclusive<u32> = 0..=99;
/// Percent between full and well again, where only the first is set.
const GAP: u32 = 5;

/// The values of the table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MountsSettings {
    pub enabled: bool,
    pub interval: Duration,
    pub deadline: Duration,
    pub ignore: Vec<String>,
    pub space: Threshold,
    pub space_enough_bytes: u64,
    pub inodes: Threshold,
    /// Where the operator defines what is mounted how.
    pub fstab: PathBuf,
}

/// Percent used: full from the one, well below the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Threshold {
    pub percent: u32,
    clear_percent: Option<u32>,
}

impl Threshold {
    pub const fn new(percent: u32, clear_percent: Option<u32>) -> Self {
        Self { percent, clear_percent }
    }

    /// Below this it is well again.
    #[must_use]
    pub fn clear_percent(self) -> u32 {
        self.clear_percent.unwrap_or(self.percent.saturating_sub(GAP)).min(self.percent.saturating_sub(1))
    }
}

impl Table for MountsSettings {
    const NAME: &'static str = "[mounts]";
    const ABOUT: &'static str = "Filesystems: their room, and whether what is mounted answers.";

    fn keys() -> Vec<Key<Self>> {
        vec![
            enabled(|it| &mut it.enabled),
            interval(|it| &mut it.interval, INTERVAL),
            Self::key("deadline", |it| &mut it.deadline, DEADLINES).help("For the answer of one filesystem or server."),
            Self::key("ignore", |it| &mut it.ignore, Globs)
                .help("Mount points or sources that are not asked.")
                .example(r#"["/scratch*", "me@*"]"#),
            Self::key("space-percent", |it| &mut it.space.percent, Number(PERCENT))
                .help("Percent of its space from which on a filesystem is full."),
            Self::key("space-clear-percent", |it| &mut it.space.clear_percent, Maybe(Number(CLEAR_PERCENT)))
                .help("Below this it is well again; if unset, below five percent less.")
                .example("85"),
            Self::key("space-enough-gib", |it| &mut it.space_enough_bytes, Gibibytes)
                .help("With so much left nothing is full, whatever the percentage."),
            Self::key("inodes-percent", |it| &mut it.inodes.percent, Number(PERCENT))
                .help("Percent of its inodes from which on a filesystem is full."),
            Self::key("inodes-clear-percent", |it| &mut it.inodes.clear_percent, Maybe(Number(CLEAR_PERCENT)))
                .help("Below this it is well again; if unset, below five percent less.")
                .example("85"),
        ]
    }

    fn check(&self, read: &ReadKeys<'_>, report: &mut Report<'_>) {
        let pairs = [
            ("space-percent", "space-clear-percent", self.space),
            ("inodes-percent", "inodes-clear-percent", self.inodes),
        ];
        for (full, clear, Threshold { percent, clear_percent }) in pairs {
            let both = read.has_all(&[full, clear]);
            if both && clear_percent.is_some_and(|clear_percent| clear_percent >= percent) {
                report.error(read.position(clear), format!("{clear:?} has to be below {full:?}"));
            }
        }
    }

    fn resolve(&mut self) {
        for threshold in [&mut self.space, &mut self.inodes] {
            threshold.clear_percent = Some(threshold.clear_percent());
        }
    }
}

impl Default for MountsSettings {
    fn default() -> Self {
        // The kubelet evicts pods from 90 % on, and cleans up images from 85 %.
        let threshold = Threshold::new(90, None);
        Self {
            enabled: true,
            interval: Duration::from_mins(1),
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

/// Whole GiB, in bytes. A pebibyte is more free space than any operator requires.
struct Gibibytes;

const GIBIBYTES: Number = Number(0..=1 << 20);

impl Kind for Gibibytes {
    type Of = u64;

    fn read(&self, section: Section<'_>, key: &'static str, report: &mut Report<'_>) -> Option<u64> {
        GIBIBYTES.read(section, key, report).map(|gib| u64::from(gib) << 30)
    }

    fn shown(&self, value: &u64) -> Option<String> {
        Some((value >> 30).to_string())
    }

    fn takes(&self) -> String {
        GIBIBYTES.takes()
    }

    fn schema(&self) -> Schema {
        GIBIBYTES.schema()
    }
}
