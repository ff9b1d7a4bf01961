//! Asks filesystems in a worker: each disk and each server once a round, because the first that hangs ends the worker.

use std::{collections::BTreeMap, os::fd::OwnedFd};

use crate::probe::{RawReading, ReadError, Reader, Roots};
use glob::Pattern;
use nix::{
    errno::Errno,
    fcntl::{OFlag, open},
    sys::{
        stat::{self, Mode, fstat},
        statvfs::fstatvfs,
    },
};
use nodewell_sys::proc::Mount;

use super::{
    device, errors, fstab,
    kind::{self, FilesystemKind},
    reading::{MountsReading, Row, StatfsResult, TABLE, Usage},
    table::Table,
};
use crate::mounts::MountsSettings;

/// No node has more filesystems that are worth a look; the rest of the table is not reported.
const ROWS_LIMIT: usize = 2000;
/// So many filesystems of one server are asked for in one question: pods may have mounted hundreds.
const OF_SERVER_LIMIT: usize = 16;

/// Reads; in a worker.
#[derive(Debug)]
pub struct MountsReader {
    roots: Roots,
    settings: MountsSettings,
    ignored: Vec<Pattern>,
    table: Table,
}

impl MountsReader {
    #[must_use]
    pub fn new(roots: Roots, settings: &MountsSettings) -> Self {
        let ignored = settings.ignore.iter().filter_map(|glob| Pattern::new(glob).ok()).collect();
        let table = Table::new(roots.proc.join("self/mountinfo"));
        Self { roots, settings: settings.clone(), ignored, table }
    }

    /// One mount for each filesystem, with what is to be known of it. Nothing here can hang. A device whose name or
    /// errors cannot be read spoils the table: under another name, or without its errors, its problems would be over.
    fn rows(&mut self) -> Result<Vec<Row>, ReadError> {
        let best = best(self.table.mounts()?, &self.ignored);
        let writable = fstab::writable(&self.settings.fstab);
        let row = |(mount, kind): (Mount, FilesystemKind)| {
            let name = match kind {
                FilesystemKind::Disk => device::device_name(&self.roots.sys, &self.roots.dev, &mount)?,
                FilesystemKind::Server | FilesystemKind::Fuse => None,
            };
            let errors = match &name {
                Some(name) => errors::counted(&self.roots.sys, &mount.filesystem, name)?,
                None => None,
            };
            Ok(Row {
                asked: kind::asked(kind, &mount),
                errors,
                name,
                is_volume: kind::is_volume(&mount.mount_point),
                is_read_only: mount.is_read_only(),
                is_cut_off: mount.is_cut_off(),
                wants_writes: writable.contains(&mount.mount_point),
                point: mount.mount_point,
                number: mount.device_number,
                filesystem: mount.filesystem,
                source: mount.source,
                kind,
            })
        };
        best.into_iter().map(row).collect()
    }

    fn ask(&mut self, device: &str) -> Result<MountsReading, ReadError> {
        let best = best(self.table.mounts()?, &self.ignored);
        let asked = best.iter().filter(|(mount, kind)| kind::asked(*kind, mount) == device).take(OF_SERVER_LIMIT);
        let results: MountsReading =
            asked.filter_map(|(mount, kind)| Some((mount.mount_point.clone(), ask(mount, *kind)?))).collect();
        // It was unmounted since it was listed.
        if results.is_empty() { Err(ReadError::Gone { what: device.to_owned() }) } else { Ok(results) }
    }
}

impl Reader for MountsReader {
    fn list(&mut self) -> Result<Vec<String>, ReadError> {
        let best = best(self.table.look()?, &self.ignored);
        let asked = best.iter().map(|(mount, kind)| kind::asked(*kind, mount));
        Ok(std::iter::once(TABLE.to_owned()).chain(asked).collect())
    }

    fn read(&mut self, device: &str) -> Result<RawReading, ReadError> {
        match device {
            TABLE => RawReading::of(&self.rows()?),
            _ => RawReading::of(&self.ask(device)?),
        }
    }
}

/// The mounts by which filesystems are known, in the order of their mount points.
fn best(mounts: &[Mount], ignored: &[Pattern]) -> Vec<(Mount, FilesystemKind)> {
    let mut best: BTreeMap<&str, (&Mount, FilesystemKind)> = BTreeMap::new();
    // Of two mounts at one point only the later one is seen.
    let seen: BTreeMap<&str, u64> = mounts.iter().map(|mount| (mount.mount_point.as_str(), mount.id)).collect();
    for mount in mounts.iter().filter(|mount| seen.get(mount.mount_point.as_str()) == Some(&mount.id)) {
        let Some(kind) = kind::of(mount).filter(|_| !is_ignored(ignored, mount)) else { continue };
        let known = best.entry(&mount.device_number).or_insert((mount, kind));
        if rank(mount) < rank(known.0) {
            *known = (mount, kind);
        }
    }
    // The disk of a pod is the pod's; whether its server answers concerns the kubelet, too.
    let counts = |(mount, kind): &(&Mount, FilesystemKind)| {
        *kind != FilesystemKind::Disk || !kind::is_volume(&mount.mount_point)
    };
    let mut rows: Vec<_> = best.into_values().filter(counts).map(|(mount, kind)| (mount.clone(), kind)).collect();
    rows.sort_by(|one, other| rank(&one.0).cmp(&rank(&other.0)));
    rows.truncate(ROWS_LIMIT);
    rows
}

fn is_ignored(ignored: &[Pattern], mount: &Mount) -> bool {
    ignored.iter().any(|glob| glob.matches(&mount.mount_point) || glob.matches(&mount.source))
}

/// The mount that people know a filesystem by: not a pod's, the whole of it, the shortest path.
fn rank(mount: &Mount) -> (bool, bool, usize, &str) {
    let point = mount.mount_point.as_str();
    (kind::is_volume(point), mount.root != "/", point.len(), point)
}

/// This may never return. `None`: it is not mounted there any more.
fn ask(mount: &Mount, kind: FilesystemKind) -> Option<StatfsResult> {
    match question(mount, kind) {
        Ok(answer) => answer,
        Err(Errno::ENOENT | Errno::ENOTDIR) => None,
        Err(error) => Some(StatfsResult::Failed(error as i32)),
    }
}

/// By a descriptor that opens nothing (`O_PATH`): it triggers no automount, and takes no right.
fn question(mount: &Mount, kind: FilesystemKind) -> Result<Option<StatfsResult>, Errno> {
    let place = open(mount.mount_point.as_str(), OFlag::O_PATH | OFlag::O_CLOEXEC, Mode::empty())?;
    let usage = Usage::from(&fstatvfs(&place)?);
    Ok((kind != FilesystemKind::Disk || is_there(mount, &place)?).then_some(StatfsResult::Usage(usage)))
}

/// Whether the path leads to that filesystem: another one may be mounted over a part of it. An XFS that has shut down
/// answers EIO (`xfs_vn_getattr` in fs/xfs/xfs_iops.c).
fn is_there(mount: &Mount, place: &OwnedFd) -> Result<bool, Errno> {
    let device = fstat(place)?.st_dev;
    // Subvolumes have numbers of their own.
    let is_subvolume = matches!(mount.filesystem.as_str(), "btrfs" | "bcachefs");
    Ok(is_subvolume || format!("{}:{}", stat::major(device), stat::minor(device)) == mount.device_number)
}

#[cfg(test)]
mod tests;
