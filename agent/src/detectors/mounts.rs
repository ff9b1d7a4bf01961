//! Which mounts a block device has, and whether it has any that cannot be seen from here. What cannot be read is an
//! error, and no absence: absence ends problems.

use std::{collections::BTreeSet, path::Path};

use nodewell_checks::{
    mounts::device::{btrfs_folder, device_name, name_in_sysfs},
    probe::{ReadError, attribute},
};
use nodewell_sys::proc::mountinfo;

pub use nodewell_sys::proc::Mount;

use crate::detectors::proof::HostRoots;

/// All mounts of this process's namespace.
pub fn read(proc_root: &Path) -> Result<Vec<Mount>, ReadError> {
    mountinfo::read(proc_root).map_err(|error| attribute::read_error(&proc_root.join("self/mountinfo"), &error))
}

/// The mounts of block device `name` (`sda1`, `dm-3`), by its number in sysfs, else by the name in the source. A btrfs
/// has a number of its own, and all devices of it have its mounts.
pub fn of_device<'a>(mounts: &'a [Mount], roots: &HostRoots, name: &str) -> Result<Vec<&'a Mount>, ReadError> {
    let number = device_number(&roots.sys, name)?;
    let btrfs = if number.is_some() { btrfs_number(mounts, roots, name)? } else { None };
    let path = format!("/dev/{name}");
    let is_its_own = |mount: &&Mount| {
        let has = |number: Option<&str>| number == Some(mount.device_number.as_str());
        has(number.as_deref()) || has(btrfs) || mount.source == path || mount.source == name
    };
    Ok(mounts.iter().filter(is_its_own).collect())
}

/// The number of the btrfs that has device `name`, if it is mounted here. All its mounts have that number and no other
/// filesystem has it, so that one of them decides; a source that leads nowhere counts only where none does.
fn btrfs_number<'a>(mounts: &'a [Mount], roots: &HostRoots, name: &str) -> Result<Option<&'a str>, ReadError> {
    let Some(folder) = btrfs_folder(&roots.sys, name)? else { return Ok(None) };
    let mut numbers = BTreeSet::new();
    let mut unknown = None;
    for mount in mounts.iter().filter(|mount| mount.filesystem == "btrfs" && numbers.insert(&mount.device_number)) {
        match is_of_btrfs(&folder, roots, mount) {
            Ok(true) => return Ok(Some(&mount.device_number)),
            Ok(false) => {}
            Err(error) => unknown = Some(error),
        }
    }
    unknown.map_or(Ok(None), Err)
}

/// `folder`: of the filesystem in sysfs. Another filesystem's mount is one whose device is in that one's folder. A disk
/// that was pulled stays in it while the filesystem is mounted, and has no node any more.
fn is_of_btrfs(folder: &Path, roots: &HostRoots, mount: &Mount) -> Result<bool, ReadError> {
    let device = device_name(&roots.sys, &roots.dev, mount)?.or_else(|| name_in_sysfs(&mount.source));
    if let Some(device) = device {
        if attribute::is_there(&folder.join("devices").join(&device))? {
            return Ok(true);
        }
        if btrfs_folder(&roots.sys, &device)?.is_some() {
            return Ok(false);
        }
    }
    Err(ReadError::Failed { message: format!("{}: no btrfs in sysfs has this device", mount.source) })
}

/// `major:minor` of a block device; `None` if the node has no such device.
pub fn device_number(sys_root: &Path, name: &str) -> Result<Option<String>, ReadError> {
    let Some(name) = in_sysfs(name) else { return Ok(None) };
    attribute::text(&sys_root.join("class/block").join(name).join("dev"))
}

/// What sysfs calls a device that a log names (`sda1`, `/dev/sda1`, `etherd/e0.0`). It leads out of no folder.
pub fn in_sysfs(name: &str) -> Option<String> {
    name_in_sysfs(&format!("/dev/{}", name.strip_prefix("/dev/").unwrap_or(name)))
}

/// Filesystems whose drivers show each superblock in sysfs, in whichever mount namespace it is mounted: ext4_register_sysfs
/// (fs/ext4/sysfs.c; ext2 and ext3 too), xfs_mount_sysfs_init (fs/xfs/xfs_mount.c), f2fs_register_sysfs (fs/f2fs/sysfs.c),
/// btrfs_sysfs_add_device (fs/btrfs/sysfs.c).
const SHOWN: [&str; 6] = ["ext2", "ext3", "ext4", "xfs", "f2fs", "btrfs"];

/// Whether a block device is mounted in some mount namespace, a pod's maybe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MountedAnywhere {
    Yes,
    No,
    /// Its filesystem does not show that (FAT, bcachefs), and to look into each namespace takes `CAP_SYS_PTRACE`.
    NotShown,
    /// There is no such device, or udev does not say what it has.
    Unknown,
}

/// What the filesystem is udev reports, also of one that is not mounted. A superblock outlives a disk that was pulled.
pub fn mounted_anywhere(roots: &HostRoots, name: &str) -> Result<MountedAnywhere, ReadError> {
    let Some(name) = in_sysfs(name) else { return Ok(MountedAnywhere::Unknown) };
    for kind in ["ext4", "xfs", "f2fs"] {
        if attribute::is_there(&roots.sys.join("fs").join(kind).join(&name))? {
            return Ok(MountedAnywhere::Yes);
        }
    }
    if btrfs_folder(&roots.sys, &name)?.is_some() {
        return Ok(MountedAnywhere::Yes);
    }
    let Some(number) = device_number(&roots.sys, &name)? else { return Ok(MountedAnywhere::Unknown) };
    let udev = attribute::text(&roots.run.join("udev/data").join(format!("b{number}")))?.unwrap_or_default();
    let kind = udev.lines().find_map(|line| line.strip_prefix("E:ID_FS_TYPE="));
    Ok(match kind {
        Some(kind) if SHOWN.contains(&kind) => MountedAnywhere::No,
        Some(_) => MountedAnywhere::NotShown,
        None => MountedAnywhere::Unknown,
    })
}

#[cfg(test)]
mod tests;
