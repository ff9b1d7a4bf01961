//! Which mounts a block device has, and whether it has any that cannot be seen from here.

use std::{fs, path::Path};

pub use nodewell_checks::mounts::mountinfo::{Mount, read};

/// The mounts of block device `name` (`sda1`, `dm-3`), by its number in sysfs, else by the name in the source.
#[must_use]
pub fn of_device<'a>(mounts: &'a [Mount], sys_root: &Path, name: &str) -> Vec<&'a Mount> {
    let number = device_number(sys_root, name);
    let path = format!("/dev/{name}");
    mounts
        .iter()
        .filter(|mount| Some(&mount.device_number) == number.as_ref() || mount.source == path || mount.source == name)
        .collect()
}

/// `major:minor` of a block device; `None` if the node has no such device.
#[must_use]
pub fn device_number(sys_root: &Path, name: &str) -> Option<String> {
    let plain = !name.is_empty() && !name.contains('/') && !name.starts_with('.');
    let text = plain.then(|| std::fs::read_to_string(sys_root.join("class/block").join(name).join("dev")).ok())??;
    Some(text.trim().to_owned())
}

/// Filesystems whose drivers show each superblock in sysfs, in whichever mount namespace it is mounted: ext4_register_sysfs
/// (fs/ext4/sysfs.c; ext2 and ext3 too), xfs_mount_sysfs_init (fs/xfs/xfs_mount.c), f2fs_register_sysfs (fs/f2fs/sysfs.c),
/// btrfs_sysfs_add_device (fs/btrfs/sysfs.c).
const SHOWN: [&str; 6] = ["ext2", "ext3", "ext4", "xfs", "f2fs", "btrfs"];

/// Whether a block device is mounted anywhere, in a pod's mount namespace too: nothing where its filesystem does not show
/// that. What the filesystem is udev reports, also of one that is not mounted.
#[must_use]
pub fn is_mounted_anywhere(sys_root: &Path, run_root: &Path, name: &str) -> Option<bool> {
    let number = device_number(sys_root, name)?;
    let filesystems = sys_root.join("fs");
    let by_name = ["ext4", "xfs", "f2fs"].map(|kind| filesystems.join(kind).join(name));
    let volumes = fs::read_dir(filesystems.join("btrfs")).into_iter().flatten().flatten();
    let mut of_volumes = volumes.map(|volume| volume.path().join("devices").join(name));
    // A link to the device, where it is one.
    let is_there = |path: &Path| path.symlink_metadata().is_ok();
    if by_name.iter().any(|path| is_there(path)) || of_volumes.any(|path| is_there(&path)) {
        return Some(true);
    }
    let udev = fs::read_to_string(run_root.join("udev/data").join(format!("b{number}"))).ok()?;
    let kind = udev.lines().find_map(|line| line.strip_prefix("E:ID_FS_TYPE="))?;
    SHOWN.contains(&kind).then_some(false)
}

#[cfg(test)]
mod tests {
    use nodewell_checks::mounts::mountinfo::parse;

    use super::*;

    const ROOT: &str = "27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard";

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn a_superblock_is_seen_from_every_mount_namespace() {
        for (shown, kind, expected) in [
            ("fs/ext4/sdb/errors_count", "ext4", Some(true)),
            ("fs/xfs/sdb/log/log_head_lsn", "xfs", Some(true)),
            ("fs/btrfs/0a1b/devices/sdb/x", "btrfs", Some(true)),
            ("fs/ext4/sda/errors_count", "ext4", Some(false)),
            ("fs/btrfs/0a1b/devices/sda/x", "btrfs", Some(false)),
            ("fs/btrfs/features/raid56", "vfat", None),
            ("fs/ext4/features/casefold", "", None),
        ] {
            let root = tempfile::tempdir().unwrap();
            let (sys, run) = (root.path().join("sys"), root.path().join("run"));
            let look = || is_mounted_anywhere(&sys, &run, "sdb");
            write(&sys, shown, "");
            assert_eq!(look(), None, "there is no such device");
            write(&sys, "class/block/sdb/dev", "8:16\n");
            if !kind.is_empty() {
                write(
                    &run,
                    "udev/data/b8:16",
                    &format!("S:disk/by-id/x\nE:ID_FS_USAGE=filesystem\nE:ID_FS_TYPE={kind}\n"),
                );
            }
            assert_eq!(look(), expected, "{shown} {kind}");
        }
    }

    #[test]
    fn a_device_is_found_by_number_and_by_name() {
        let sys = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(sys.path().join("class/block/dm-0")).unwrap();
        std::fs::write(sys.path().join("class/block/dm-0/dev"), "254:0\n").unwrap();
        let mounts = parse(ROOT);
        assert_eq!(of_device(&mounts, sys.path(), "dm-0").len(), 1);
        assert_eq!(of_device(&mounts, sys.path(), "vda").len(), 1);
        assert_eq!(of_device(&mounts, sys.path(), "../x").len(), 0);
    }
}
