//! Reads `/proc/diskstats` (Documentation/admin-guide/iostats.rst), and which disks these are from sysfs, in a worker.
//! All of it is the kernel's own memory.

use std::{fs, time::Duration};

use glob::Pattern;
use nix::time::{ClockId, clock_gettime};
use procfs::DiskStat;

use super::{
    SlowDisksSettings,
    reading::{ALL, Counters, Device, Model, SlowDisksReading, Transfers},
};
use crate::{
    disk::list::{self, DiskKind, Listed},
    probe::{RawReading, ReadError, Reader, Roots, attribute},
};

/// More has no machine that one agent looks after; what is beyond is not compared.
const LIMIT: usize = 1024;
/// Longer serial numbers and models are no disk's: a page of garbage.
const TEXT_LIMIT: usize = 64;

/// Who makes SAS disks, as these name themselves. What else looks like a SCSI disk is a volume of a RAID controller or
/// of an array: what lies under two of them is not comparable, and one that rebuilds is slow and well.
const MAKERS: [&str; 11] =
    ["SEAGATE", "HGST", "HITACHI", "WDC", "WD", "TOSHIBA", "KIOXIA", "SAMSUNG", "MICRON", "IBM-ESXS", "LENOVO-X"];
/// Disks that a hypervisor or a cloud makes up: their speed is what was paid for, and is throttled.
const MADE_UP: [&str; 14] = [
    "QEMU",
    "BHYVE",
    "bhyve",
    "VBOX",
    "VMware",
    "Virtual",
    "VIRTUAL",
    "Parallels",
    "Elastic Block Stor",
    "nvme_card-pd",
    "MSFT NVMe Accelerator",
    "SPDK",
    "SNAP",
    "BlueField",
];

/// Reads; in a worker.
#[derive(Debug)]
pub struct SlowDisksReader {
    roots: Roots,
    ignored: Vec<Pattern>,
    /// What was read to list it.
    latest: Option<SlowDisksReading>,
}

impl SlowDisksReader {
    #[must_use]
    pub fn new(roots: Roots, settings: &SlowDisksSettings) -> Self {
        let ignored = settings.ignore.iter().filter_map(|pattern| Pattern::new(pattern).ok()).collect();
        Self { roots, ignored, latest: None }
    }

    fn reading(&self) -> Result<SlowDisksReading, ReadError> {
        let path = self.roots.proc.join("diskstats");
        let at = clock_gettime(ClockId::CLOCK_MONOTONIC).map(Duration::from);
        let at = at.map_err(|error| ReadError::Failed { message: format!("CLOCK_MONOTONIC: {error}") })?;
        let Some(text) = attribute::text(&path)? else {
            return Err(ReadError::Gone { what: path.display().to_string() });
        };
        let stats = text.lines().filter_map(|line| DiskStat::from_line(line).ok());
        let devices = stats.filter_map(|stat| self.device(&stat)).take(LIMIT).collect();
        Ok(SlowDisksReading { at, devices })
    }

    /// Nothing for what is no disk that could be compared, or of which anything is not known.
    fn device(&self, stat: &DiskStat) -> Option<Device> {
        // Without a count of flushes (before Linux 5.5) a disk that writes logs would look like one that is slow.
        let (discards, flushes) = (stat.discards?, stat.flushes?);
        let disk = self.disk(&stat.name)?;
        let identity = list::identity(&self.roots, &disk);
        let (name, serial) = (cut(&identity.model), cut(&identity.serial));
        let is_ignored = self.is_ignored(&[&stat.name, &disk.name, &name, &serial]);
        if is_ignored || serial.is_empty() || !is_physical(&disk, &name) {
            return None;
        }
        let reads = transfers(stat.reads, stat.sectors_read, stat.time_reading);
        let writes = transfers(stat.writes, stat.sectors_written, stat.time_writing);
        Some(Device {
            sequence: self.number(&stat.name, "diskseq"),
            model: self.model(&stat.name, name)?,
            name: stat.name.clone(),
            subject: disk.name,
            serial,
            counters: Counters { reads, writes, discards, flushes, busy_millis: stat.time_in_progress },
        })
    }

    /// The disk that a block device is, or is a path to, or a namespace of. Partitions have no folder of their own, and
    /// everything that is made of other disks (device mapper, RAID, loop, compressed memory) has none of these names.
    fn disk(&self, name: &str) -> Option<Listed> {
        if name.starts_with("sd") {
            let is_local = |disk: &Listed| matches!(disk.kind, DiskKind::Ata | DiskKind::Scsi);
            return Listed::named(&self.roots, name).filter(is_local);
        }
        let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !name.starts_with("nvme") || !is_plain {
            return None;
        }
        // With the kernel's own multipath the disk (nvme0n1) lies below its subsystem, and counts what its hidden paths
        // (nvme0c0n1) count, too, or nothing on older kernels (drivers/nvme/host/multipath.c): the paths are counted.
        let controller = fs::canonicalize(self.roots.sys.join("block").join(name).join("device")).ok()?;
        let controller = controller.file_name()?.to_str()?;
        Listed::named(&self.roots, controller).filter(|disk| disk.kind == DiskKind::Nvme)
    }

    fn model(&self, device: &str, name: String) -> Option<Model> {
        let is_rotational = match self.number(device, "queue/rotational")? {
            0 => false,
            1 => true,
            _ => return None,
        };
        let size_class = self.number(device, "size")?.checked_ilog2()?;
        // `none [mq-deadline] bfq`
        let schedulers = self.text(device, "queue/scheduler");
        let scheduler = schedulers.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
        let scheduler = scheduler.map(|(scheduler, _)| cut(scheduler)).unwrap_or_default();
        let write_cache = cut(&self.text(device, "queue/write_cache"));
        Some(Model { name, is_rotational, size_class, scheduler, write_cache })
    }

    /// Empty where the kernel shows none.
    fn text(&self, device: &str, name: &str) -> String {
        let path = self.roots.sys.join("block").join(device).join(name);
        attribute::text(&path).ok().flatten().unwrap_or_default()
    }

    fn number(&self, device: &str, name: &str) -> Option<u64> {
        attribute::number(&self.roots.sys.join("block").join(device).join(name))
    }

    fn is_ignored(&self, words: &[&str]) -> bool {
        self.ignored.iter().any(|pattern| words.iter().any(|word| pattern.matches(word)))
    }
}

impl Reader for SlowDisksReader {
    /// Reads all of it, for the question that follows: to know whether there is anything is the same work.
    fn list(&mut self) -> Result<Vec<String>, ReadError> {
        let reading = self.reading()?;
        if reading.devices.is_empty() {
            return Err(ReadError::Gone { what: "a disk that could be compared".to_owned() });
        }
        self.latest = Some(reading);
        Ok(vec![ALL.to_owned()])
    }

    fn read(&mut self, device: &str) -> Result<RawReading, ReadError> {
        if device != ALL {
            return Err(ReadError::Gone { what: device.to_owned() });
        }
        match self.latest.take() {
            Some(reading) => RawReading::of(&reading),
            None => RawReading::of(&self.reading()?),
        }
    }
}

fn transfers(operations: u64, sectors: u64, millis: u64) -> Transfers {
    Transfers { operations, sectors, millis }
}

fn is_physical(disk: &Listed, model: &str) -> bool {
    let maker = model.split(' ').next().unwrap_or_default();
    let is_known = disk.kind != DiskKind::Scsi || MAKERS.contains(&maker);
    is_known && !MADE_UP.iter().any(|word| model.contains(word))
}

/// What a device says of itself, fit for a message.
fn cut(text: &str) -> String {
    let printable = |one: char| if one.is_ascii_graphic() || one == ' ' { one } else { '?' };
    text.trim().chars().take(TEXT_LIMIT).map(printable).collect()
}
