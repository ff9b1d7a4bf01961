//! `/proc/pressure`: time in which tasks waited for CPU, memory or disks (kernel/sched/psi.c; Linux 4.20).

use std::time::Duration;

use procfs::PressureRecord;

use super::lines;

/// The files of the folder.
pub const RESOURCES: [&str; 3] = ["cpu", "memory", "io"];

/// What was waited for, by whom, and how long since boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stall {
    pub resource: &'static str,
    pub share: Share,
    pub total: Duration,
}

/// Some tasks waited, or all that had work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    Some,
    Full,
}

impl Share {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Some => "some",
            Self::Full => "full",
        }
    }
}

pub(super) fn parse(resource: &'static str, bytes: &[u8]) -> Vec<Stall> {
    let share = |line: &str| {
        let share = if line.starts_with("some ") { Share::Some } else { Share::Full };
        // The crate cuts off five bytes unasked.
        let whole = line.starts_with("some ") || line.starts_with("full ");
        let PressureRecord { total, .. } = whole.then(|| procfs::parse_pressure_record(line).ok())??;
        Some(Stall { resource, share, total: Duration::from_micros(total) })
    };
    let mut found: Vec<Stall> = lines(bytes).filter_map(share).collect();
    found.dedup_by_key(|stall| stall.share);
    found.truncate(2);
    found
}
