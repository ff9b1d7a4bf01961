//! `/proc/diskstats`: what block devices have done (Documentation/admin-guide/iostats.rst).

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use procfs::DiskStat;

use super::{Truncated, lines};

/// A large storage node has some hundred.
const MOST: usize = 512;
/// The kernel counts in sectors of this many bytes, whatever the device's are.
const SECTOR_BYTES: u64 = 512;
/// RAM disks (Documentation/admin-guide/devices.txt).
const RAM_DISKS: i32 = 1;

/// A block device and its counts since it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disk {
    /// `major:minor`
    pub number: String,
    pub name: String,
    /// A disk of its own: no part of another one, and not made of others (LVM, RAID).
    pub is_whole: bool,
    pub read: IoCounts,
    pub written: IoCounts,
    /// Time in which it had something to do.
    pub busy_ms: u64,
    /// The time that all requests together have taken so far.
    pub weighted_ms: u64,
}

/// One direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IoCounts {
    pub operations: u64,
    pub merged: u64,
    pub bytes: u64,
    pub time_ms: u64,
}

/// Reads the file's text: devices that never did anything are left out, such as a loop device without a file; no name
/// twice, and not more than 512 devices, whole disks first.
#[must_use]
pub fn parse(bytes: &[u8]) -> Truncated<Disk> {
    let mut found: Vec<Disk> = lines(bytes).filter_map(disk).collect();
    let names: Vec<String> = found.iter().map(|disk| disk.name.clone()).collect();
    for disk in &mut found {
        disk.is_whole &= !names.iter().any(|whole| is_part(&disk.name, whole));
    }
    found.sort_by(|a, b| (!a.is_whole, &a.name).cmp(&(!b.is_whole, &b.name)));
    found.dedup_by(|a, b| a.name == b.name);
    Truncated::new(found, MOST)
}

/// `sda1` of `sda`, `nvme0n1p2` of `nvme0n1` (`add_partition`, block/partitions/core.c): a digit at the end of the disk's
/// name is parted from the partition's number by a `p`.
fn is_part(name: &str, whole: &str) -> bool {
    let Some(rest) = name.strip_prefix(whole) else { return false };
    let number = if whole.ends_with(|c: char| c.is_ascii_digit()) { rest.strip_prefix('p') } else { Some(rest) };
    number.is_some_and(|number| !number.is_empty() && super::count(number).is_some())
}

fn disk(line: &str) -> Option<Disk> {
    let stat = DiskStat::from_line(line).ok()?;
    let way = |operations, merged, sectors: u64, time_ms| {
        Some(IoCounts { operations, merged, bytes: sectors.checked_mul(SECTOR_BYTES)?, time_ms })
    };
    let disk = Disk {
        number: format!("{}:{}", stat.major, stat.minor),
        is_whole: !stat.name.starts_with("dm-") && !stat.name.starts_with("md"),
        read: way(stat.reads, stat.merged, stat.sectors_read, stat.time_reading)?,
        written: way(stat.writes, stat.writes_merged, stat.sectors_written, stat.time_writing)?,
        busy_ms: stat.time_in_progress,
        weighted_ms: stat.weighted_time_in_progress,
        name: stat.name,
    };
    (stat.major != RAM_DISKS && disk.has_worked()).then_some(disk)
}

impl Disk {
    /// The kernel reads the partition table of every disk that it finds.
    fn has_worked(&self) -> bool {
        self.read != IoCounts::default() || self.written != IoCounts::default()
    }
}

/// How many requests were under way on average: what the weighted time grew by, over the time that passed. The time is
/// from `interval` to twice that for a caller that asks often. For one that asks seldom it is the time since the last
/// question.
#[derive(Debug, Default)]
pub struct Queues {
    older: Option<Sample>,
    newer: Option<Sample>,
}

#[derive(Debug, Clone)]
struct Sample {
    at: Instant,
    weighted_ms: HashMap<String, u64>,
}

impl Queues {
    /// The average of each device that was there before, too.
    pub fn lengths(&mut self, disks: &[Disk], now: Instant, interval: Duration) -> Vec<(String, f64)> {
        let weighted_ms: HashMap<_, _> = disks.iter().map(|disk| (disk.name.clone(), disk.weighted_ms)).collect();
        let before = self.older.as_ref().or(self.newer.as_ref());
        let lengths = before.map(|before| before.lengths(disks, now)).unwrap_or_default();
        if self.newer.as_ref().is_none_or(|newer| now.duration_since(newer.at) >= interval) {
            self.older = self.newer.replace(Sample { at: now, weighted_ms });
        }
        lengths
    }
}

impl Sample {
    fn lengths(&self, disks: &[Disk], now: Instant) -> Vec<(String, f64)> {
        let passed_ms = now.duration_since(self.at).as_secs_f64() * 1000.0;
        if passed_ms <= 0.0 {
            return Vec::new();
        }
        let length = |disk: &Disk| {
            // A device that is another one now counts from nothing again.
            let grown = disk.weighted_ms.checked_sub(*self.weighted_ms.get(&disk.name)?)?;
            #[expect(clippy::cast_precision_loss, reason = "a quotient of two times")]
            Some((disk.name.clone(), grown as f64 / passed_ms))
        };
        disks.iter().filter_map(length).collect()
    }
}
