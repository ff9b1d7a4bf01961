//! Which mounts a block device has, and whether it has any that cannot be seen from here. What cannot be read is an
//! error, and no absence: absence ends problems.

use std::path::Path;

use nodewell_checks::mounts::{
    device::{btrfs_folder, device_name},
    mountinfo,
};
use nodewell_hardware::{ReadError, attribute};

pub use nodewell_checks::mounts::mountinfo::Mount;

use crate::detectors::proof::HostRoots;

/// All mounts of this process's namespace.
pub fn read(proc_root: &Path) -> Result<Vec<Mount>, ReadError> {
    mountinfo::read(proc_root).map_err(|error| attribute::read_error(&proc_root.join("self/mountinfo"), &error))
}

/// The mounts of block device `name` (`sda1`, `dm-3`), by its number in sysfs, else by the name in the source. A mount
/// of btrfs has a number of its own and is one of all devices of its filesystem.
pub fn of_device<'a>(mounts: &'a [Mount], roots: &HostRoots, name: &str) -> Result<Vec<&'a Mount>, ReadError> {
    let number = device_number(&roots.sys, name)?;
    let btrfs = if number.is_some() { btrfs_folder(&roots.sys, name)? } else { None };
    let path = format!("/dev/{name}");
    let mut found = Vec::new();
    for mount in mounts {
        let is_its_own = Some(&mount.device_number) == number.as_ref() || mount.source == path || mount.source == name;
        if is_its_own || is_of_btrfs(btrfs.as_deref(), roots, mount)? {
            found.push(mount);
        }
    }
    Ok(found)
}

/// `folder`: of the filesystem in sysfs. A source that leads to no device may be one of its devices.
fn is_of_btrfs(folder: Option<&Path>, roots: &HostRoots, mount: &Mount) -> Result<bool, ReadError> {
    let Some(folder) = folder.filter(|_| mount.filesystem == "btrfs") else { return Ok(false) };
    match device_name(&roots.sys, &roots.dev, mount)? {
        Some(device) => attribute::is_there(&folder.join("devices").join(device)),
        None => Err(ReadError::Failed { message: format!("{}: no block device is there", mount.source) }),
    }
}

/// `major:minor` of a block device; `None` if the node has no such device.
pub fn device_number(sys_root: &Path, name: &str) -> Result<Option<String>, ReadError> {
    let is_plain = !name.is_empty() && !name.contains('/') && !name.starts_with('.');
    if is_plain { attribute::text(&sys_root.join("class/block").join(name).join("dev")) } else { Ok(None) }
}

/// Filesystems whose drivers show each superblock in sysfs, in whichever mount namespace it is mounted: ext4_register_sysfs
/// (fs/ext4/sysfs.c; ext2 and ext3 too), xfs_mount_sysfs_init (fs/xfs/xfs_mount.c), f2fs_register_sysfs (fs/f2fs/sysfs.c),
/// btrfs_sysfs_add_device (fs/btrfs/sysfs.c).
const SHOWN: [&str; 6] = ["ext2", "ext3", "ext4", "xfs", "f2fs", "btrfs"];

/// Whether a block device is mounted anywhere, in a pod's mount namespace too: nothing where its filesystem does not show
/// that. What the filesystem is udev reports, also of one that is not mounted.
pub fn is_mounted_anywhere(roots: &HostRoots, name: &str) -> Result<Option<bool>, ReadError> {
    let Some(number) = device_number(&roots.sys, name)? else { return Ok(None) };
    for kind in ["ext4", "xfs", "f2fs"] {
        if attribute::is_there(&roots.sys.join("fs").join(kind).join(name))? {
            return Ok(Some(true));
        }
    }
    if btrfs_folder(&roots.sys, name)?.is_some() {
        return Ok(Some(true));
    }
    let udev = attribute::text(&roots.run.join("udev/data").join(format!("b{number}")))?.unwrap_or_default();
    let kind = udev.lines().find_map(|line| line.strip_prefix("E:ID_FS_TYPE="));
    Ok(kind.is_some_and(|kind| SHOWN.contains(&kind)).then_some(false))
}

#[cfg(test)]
mod tests;
