//! Which disks there are, by sysfs, and how each can be asked.

use std::{
    fs,
    path::{Path, PathBuf},
};

use glob::Pattern;

use super::{
    megaraid, page, raid_volume,
    reading::{Health, Identity},
    sas_phy, sysfs, thin_pool, zpool,
};
use crate::probe::Roots;

/// How a disk is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DiskKind {
    /// A controller, not a namespace: it is what has a health log, and what dies.
    Nvme,
    /// A SATA disk: libata and SAS controllers give "ATA" as its vendor.
    Ata,
    /// A SCSI or SAS disk, or a controller's volume that looks like one.
    Scsi,
    /// A disk behind USB: many bridges hang or reset on commands that they do not know.
    Usb,
    /// Software RAID.
    Array,
    /// Multipath, by the device mapper.
    Map,
    /// Volumes share its room: LVM's thin pools and others of the device mapper.
    ThinPool,
    /// Of ZFS.
    Zpool,
    /// A RAID controller's volume whose driver shows its state.
    RaidVolume,
    /// One end of a SAS link: only what happens to it is reported.
    Phy,
    /// A RAID card: what it lists has no device of its own.
    Card,
    /// A disk of a virtual machine, or a volume across a network: only its host knows its state.
    Plain,
}

/// One disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) name: String,
    pub(crate) kind: DiskKind,
}

/// What the operator does not want asked: globs of names, models and serial numbers.
pub(super) struct Ignored(Vec<Pattern>);

impl Ignored {
    /// Invalid globs are passed over: the loading of the config has reported them.
    pub(super) fn new(globs: &[String]) -> Self {
        Self(globs.iter().filter_map(|glob| Pattern::new(glob).ok()).collect())
    }

    fn has(&self, words: &[&str]) -> bool {
        self.0.iter().any(|glob| words.iter().any(|word| glob.matches(word)))
    }
}

/// All of them in the order of their names, without the ignored.
pub(super) fn disks(roots: &Roots, ignored: &Ignored) -> Vec<Listed> {
    let controllers = sysfs::names(&roots.sys.join("class/nvme"));
    let blocks = sysfs::names(&roots.sys.join("block"));
    let (cards, phys, pools) = (megaraid::cards(&roots.sys), sas_phy::all(&roots.sys), zpool::all(&roots.proc));
    let thin_pools = thin_pool::all(&blocks, roots);
    let names = controllers.iter().chain(&blocks).chain(&cards).chain(&phys).chain(&pools).chain(&thin_pools);
    let listed = names.filter_map(|name| Listed::named(roots, name));
    let mut disks: Vec<_> = listed.filter(|disk| !is_ignored(roots, disk, ignored)).collect();
    disks.sort_by_key(|disk| natural(&disk.name));
    disks
}

impl Listed {
    /// The disk of that name, if it is there and is one that is looked after.
    pub(crate) fn named(roots: &Roots, name: &str) -> Option<Self> {
        let kind = kind(roots, name)?;
        Some(Self { name: name.to_owned(), kind })
    }

    fn folder(&self, roots: &Roots) -> PathBuf {
        match self.kind {
            DiskKind::Nvme => roots.sys.join("class/nvme").join(&self.name),
            _ => roots.sys.join("block").join(&self.name).join("device"),
        }
    }
}

fn kind(roots: &Roots, name: &str) -> Option<DiskKind> {
    if zpool::pool(name).is_some() {
        return zpool::is_there(&roots.proc, name).then_some(DiskKind::Zpool);
    }
    if thin_pool::is_number(name) {
        return thin_pool::map_name(roots, name).map(|_| DiskKind::ThinPool);
    }
    if sas_phy::is_name(name) {
        return sas_phy::is_there(&roots.sys, name).then_some(DiskKind::Phy);
    }
    // A card's address on the PCI bus, which is compared with those that there are.
    if name.contains(':') {
        return megaraid::host(&roots.sys, name).map(|_| DiskKind::Card);
    }
    // The name becomes a path: nothing but what the kernel calls disks.
    if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)) {
        return None;
    }
    let numbered = |prefix: &str| name.strip_prefix(prefix).is_some_and(|rest| rest.parse::<u32>().is_ok());
    let lettered = |prefix: &str| {
        let rest = name.strip_prefix(prefix).unwrap_or_default();
        !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_lowercase())
    };
    if numbered("nvme") {
        return nvme_kind(roots, name);
    }
    let folder = roots.sys.join("block").join(name);
    match () {
        () if !folder.is_dir() => None,
        () if lettered("vd") || lettered("xvd") => Some(DiskKind::Plain),
        () if lettered("sd") => scsi_kind(&folder),
        () if name.starts_with("md") && folder.join("md").is_dir() => Some(DiskKind::Array),
        () if numbered("dm-") && is_multipath(&folder) => Some(DiskKind::Map),
        () => None,
    }
}

/// Only disks (type 0) and zoned ones (20, include/scsi/scsi_proto.h TYPE_ZBC): not what a RAID controller shows beside them.
fn scsi_kind(folder: &Path) -> Option<DiskKind> {
    let device = folder.join("device");
    let is_disk = matches!(sysfs::number::<u8>(&device, "type"), None | Some(0 | 20));
    let path = fs::canonicalize(folder).unwrap_or_default();
    let is_below = |bus: &str| path.components().any(|part| part.as_os_str().to_string_lossy().starts_with(bus));
    // What iSCSI (scsi_transport_iscsi.c) and Fibre Channel (scsi_transport_fc.c) call the other end.
    let is_remote = || is_below("session") || is_below("rport-");
    match sysfs::word(&device, "vendor").as_deref() {
        _ if !is_disk => None,
        _ if is_below("usb") => Some(DiskKind::Usb),
        _ if is_remote() => Some(DiskKind::Plain),
        _ if raid_volume::is_one(&device) => Some(DiskKind::RaidVolume),
        Some("ATA") => Some(DiskKind::Ata),
        _ => Some(DiskKind::Scsi),
    }
}

/// Discovery and administrative controllers of fabrics have no disk behind them (`cntrltype`, Linux 5.18); a fabric's
/// other ones are an array's volumes.
fn nvme_kind(roots: &Roots, name: &str) -> Option<DiskKind> {
    let folder = roots.sys.join("class/nvme").join(name);
    let word = |name| sysfs::word(&folder, name);
    let has_disk = word("cntrltype").is_none_or(|kind| !matches!(kind.as_str(), "discovery" | "admin"));
    let is_local = word("transport").is_none_or(|transport| transport == "pcie");
    (folder.is_dir() && has_disk).then_some(if is_local { DiskKind::Nvme } else { DiskKind::Plain })
}

/// By the prefix that multipath-tools give: other maps are volumes, encryption, snapshots.
fn is_multipath(folder: &Path) -> bool {
    sysfs::word(&folder.join("dm"), "uuid").is_some_and(|uuid| uuid.starts_with("mpath-"))
}

/// What is known of a disk that is not to be asked: that would fail, wait, or wake it.
pub(super) fn without_asking(roots: &Roots, disk: &Listed) -> Option<Health> {
    let plain = |why: &str| Some(Health::Plain { why: why.to_owned() });
    match disk.kind {
        DiskKind::Plain => plain("a disk of a virtual machine or across a network, only its host knows its health"),
        DiskKind::Usb => plain("a disk behind USB"),
        _ => {
            let folder = disk.folder(roots);
            let state = sysfs::word(&folder, "state").filter(|state| state != "running");
            let is_suspended = sysfs::word(&folder.join("power"), "runtime_status").as_deref() == Some("suspended");
            state.map(|state| Health::Stopped { state }).or(is_suspended.then_some(Health::Asleep))
        }
    }
}

/// What sysfs shows of it, without asking the device.
pub(crate) fn identity(roots: &Roots, disk: &Listed) -> Identity {
    let folder = disk.folder(roots);
    let word = |name| sysfs::word(&folder, name).unwrap_or_default();
    match disk.kind {
        DiskKind::Nvme => Identity { model: word("model"), serial: word("serial"), firmware: word("firmware_rev") },
        DiskKind::Ata | DiskKind::Scsi | DiskKind::Usb | DiskKind::RaidVolume => {
            let model = format!("{} {}", word("vendor"), word("model"));
            Identity { model: model.trim().to_owned(), serial: unit_serial(&folder), firmware: word("rev") }
        }
        DiskKind::Array | DiskKind::Map | DiskKind::Card => Identity::default(),
        DiskKind::ThinPool | DiskKind::Zpool | DiskKind::Phy => Identity::default(),
        DiskKind::Plain => {
            // A virtual disk's serial number, if its host gave it one, is with the block device.
            let serial = sysfs::word(&roots.sys.join("block").join(&disk.name), "serial").unwrap_or_default();
            Identity { serial, ..Identity::default() }
        }
    }
}

/// VPD page 80h, as the kernel read it when it found the disk: four bytes of head, then the serial number.
fn unit_serial(folder: &Path) -> String {
    let page = fs::read(folder.join("vpd_pg80")).unwrap_or_default();
    page::text(page.get(4..).unwrap_or_default().iter().copied())
}

fn is_ignored(roots: &Roots, disk: &Listed, ignored: &Ignored) -> bool {
    if ignored.0.is_empty() {
        return false;
    }
    let identity = identity(roots, disk);
    let known_as = match disk.kind {
        // People name the disk, which is the controller's first namespace.
        DiskKind::Nvme => format!("{}n1", disk.name),
        DiskKind::ThinPool => thin_pool::map_name(roots, &disk.name).unwrap_or_default(),
        _ => zpool::pool(&disk.name).unwrap_or_default().to_owned(),
    };
    ignored.has(&[&disk.name, &known_as, &identity.model, &identity.serial])
}

/// `nvme2` before `nvme10`, `sdz` before `sdaa`.
fn natural(name: &str) -> (String, usize, String) {
    let word = name.trim_end_matches(|last: char| last.is_ascii_digit());
    let family = ["nvme", "xvd", "vd", "sd", "md", "dm"].into_iter().find(|prefix| word.starts_with(prefix));
    (family.unwrap_or(word).to_owned(), name.len(), name.to_owned())
}

#[cfg(test)]
mod tests;
