//! Disks: NVMe controllers, SATA and SAS disks, software RAID, RAID cards, multipath maps and pools, asked without a
//! program's help.
//!
//! [`DiskReader`] runs in a worker and asks; [`DiskJudge`] compares with what it remembers of each disk, by serial number.

pub mod ata;
mod baseline;
mod device_mapper;
#[doc(hidden)]
pub mod fuzzing;
mod judge;
pub(crate) mod list;
pub mod megaraid;
pub mod nvme;
pub mod page;
pub mod part;
pub mod raid;
mod raid_volume;
pub mod reading;
mod sas_phy;
pub mod scsi;
mod settings;
mod sysfs;
mod thin_pool;
mod zpool;

pub use judge::DiskJudge;
pub use settings::DiskSettings;

use std::time::Duration;

use nodewell_settings::Part;

use crate::{
    Settings,
    check::{Check, WorkerGroup},
};

use jiff::Timestamp;

use crate::probe::{RawReading, ReadError, Reader, Roots};
use list::{DiskKind, Listed};
use reading::{DiskReading, Health, Identity};

/// As the list of checks has it.
pub static CHECK: Check = Check {
    name: "disk",
    worker_group: WorkerGroup::Disk,
    table: || Part::of(|all: &mut Settings| &mut all.disk),
    is_enabled: |all| all.disk.enabled,
    interval: |all| all.disk.interval,
    // The block layer gives a command 30 s and more before it resets the device: ours ask for less.
    deadline: |_| Duration::from_secs(20),
    reader: |roots, all| Box::new(DiskReader::new(roots, &all.disk)),
    judge: |all, _| Box::new(DiskJudge::new(all.disk.clone())),
};

/// Reads in a worker.
pub struct DiskReader {
    roots: Roots,
    ignored: list::Ignored,
}

impl DiskReader {
    #[must_use]
    pub fn new(roots: Roots, settings: &DiskSettings) -> Self {
        Self { roots, ignored: list::Ignored::new(&settings.ignore) }
    }
}

impl Reader for DiskReader {
    fn list(&mut self) -> Result<Vec<String>, ReadError> {
        Ok(list::disks(&self.roots, &self.ignored).into_iter().map(|disk| disk.name).collect())
    }

    fn read(&mut self, device: &str) -> Result<RawReading, ReadError> {
        let asked = Timestamp::now();
        let Some(disk) = Listed::named(&self.roots, device) else {
            return Err(ReadError::Gone { what: device.to_owned() });
        };
        let (identity, health) = ask(&self.roots, &disk)?;
        RawReading::of(&DiskReading { asked, identity, health })
    }
}

fn ask(roots: &Roots, disk: &Listed) -> Result<(Identity, Health), ReadError> {
    let nameless = |health| (Identity::default(), health);
    match disk.kind {
        DiskKind::Nvme => nvme::read(roots, &disk.name).map(|(identity, reading)| (identity, Health::Nvme(reading))),
        DiskKind::Array => raid::array(roots, &disk.name).map(Health::Array).map(nameless),
        DiskKind::Map => raid::map(roots, &disk.name).map(Health::Map).map(nameless),
        DiskKind::ThinPool => thin_pool::read(roots, &disk.name),
        DiskKind::Zpool => zpool::read(&roots.proc, &disk.name).map(nameless),
        DiskKind::Phy => sas_phy::read(&roots.sys, &disk.name).map(Health::Phy).map(nameless),
        DiskKind::RaidVolume => ask_volume(roots, disk),
        DiskKind::Card => megaraid::read(roots, &disk.name).map(|(identity, card)| (identity, Health::Card(card))),
        DiskKind::Ata | DiskKind::Scsi | DiskKind::Usb | DiskKind::Plain => ask_block(roots, disk),
    }
}

/// Its driver, and not itself: a controller's volume has no health data of its own.
fn ask_volume(roots: &Roots, disk: &Listed) -> Result<(Identity, Health), ReadError> {
    let known = list::identity(roots, disk);
    if let Some(health) = list::without_asking(roots, disk) {
        return Ok((known, health));
    }
    let device = roots.sys.join("block").join(&disk.name).join("device");
    Ok((known, Health::Volume(raid_volume::read(&device, &disk.name)?)))
}

fn ask_block(roots: &Roots, disk: &Listed) -> Result<(Identity, Health), ReadError> {
    let known = list::identity(roots, disk);
    // Opening a disk that the kernel has suspended would wake it.
    if let Some(health) = list::without_asking(roots, disk) {
        return Ok((known, health));
    }
    let mut device = scsi::open(&roots.dev.join(&disk.name), &disk.name)?;
    if disk.kind == DiskKind::Scsi {
        return Ok((known, scsi::read(&mut device)?));
    }
    let (reported, health) = ata::read(&mut device)?;
    Ok((joined(known, reported), health))
}

/// What sysfs has of a SATA disk is cut to SCSI's shorter fields; but its serial number is there while the disk sleeps, too,
/// and must not change then.
fn joined(known: Identity, reported: Option<Identity>) -> Identity {
    let Some(reported) = reported else { return known };
    let serial = if known.serial.is_empty() { reported.serial } else { known.serial };
    Identity { serial, ..reported }
}
