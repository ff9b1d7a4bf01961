//! The kernel's names of the block devices that a filesystem is on. What cannot be read is an error, and no absence.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::probe::{ReadError, attribute};
use nix::sys::stat;
use nodewell_sys::proc::Mount;

/// The device as the kernel log calls it: `sda1`, `dm-3`; by its number, or by its source where the filesystem has a
/// number of its own (btrfs). A source is looked up in sysfs first: a sandboxed service has no nodes of block devices
/// (`PrivateDevices=`). `None` where there is no such device, or no node of it.
pub fn device_name(sys: &Path, dev: &Path, mount: &Mount) -> Result<Option<String>, ReadError> {
    if let Some(name) = name_of(sys, &mount.device_number)? {
        return Ok(Some(name));
    }
    if let Some(name) = name_of_source(sys, &mount.source)? {
        return Ok(Some(name));
    }
    match number_of_node(dev, &mount.source)? {
        Some(number) => name_of(sys, &number),
        None => Ok(None),
    }
}

/// The folder in `/sys/fs/btrfs` of the filesystem that has `device` among its devices (btrfs_sysfs_add_device in
/// fs/btrfs/sysfs.c). It is there while the filesystem is mounted anywhere.
pub fn btrfs_folder(sys: &Path, device: &str) -> Result<Option<PathBuf>, ReadError> {
    for folder in folders(&sys.join("fs/btrfs"))? {
        if attribute::is_there(&folder.join("devices").join(device))? {
            return Ok(Some(folder));
        }
    }
    Ok(None)
}

/// What is in the folder; nothing where there is no such folder.
pub(super) fn folders(folder: &Path) -> Result<Vec<PathBuf>, ReadError> {
    let paths = |entries: fs::ReadDir| entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>();
    match fs::read_dir(folder).and_then(paths) {
        Ok(found) => Ok(found),
        Err(error) => attribute::forgive_absence(folder, &error).map(Option::unwrap_or_default),
    }
}

fn name_of(sys: &Path, number: &str) -> Result<Option<String>, ReadError> {
    let link = sys.join("dev/block").join(number);
    match fs::read_link(&link) {
        Ok(target) => Ok(target.file_name().and_then(|name| Some(name.to_str()?.to_owned()))),
        Err(error) => attribute::forgive_absence(&link, &error),
    }
}

/// `None` for links that udev made, and for nodes of other names.
fn name_of_source(sys: &Path, source: &str) -> Result<Option<String>, ReadError> {
    if let Some(mapped) = source.strip_prefix("/dev/mapper/") {
        return name_of_mapped(sys, mapped);
    }
    let Some(name) = name_in_sysfs(source) else { return Ok(None) };
    Ok(attribute::is_there(&sys.join("class/block").join(&name))?.then_some(name))
}

/// The name that sysfs has for `/dev/NAME`, if it has that device: a slash is `!` there (kobject_set_name_vargs in
/// lib/kobject.c).
pub fn name_in_sysfs(source: &str) -> Option<String> {
    let name = source.strip_prefix("/dev/")?.replace('/', "!");
    (!name.is_empty() && !name.starts_with('.')).then_some(name)
}

/// The device that device-mapper has under the name `mapped` (dm_attr_name_show in drivers/md/dm-sysfs.c).
fn name_of_mapped(sys: &Path, mapped: &str) -> Result<Option<String>, ReadError> {
    for device in folders(&sys.join("class/block"))? {
        let Some(name) = device.file_name().and_then(|name| name.to_str()) else { continue };
        if name.starts_with("dm-") && attribute::text(&device.join("dm/name"))?.as_deref() == Some(mapped) {
            return Ok(Some(name.to_owned()));
        }
    }
    Ok(None)
}

fn number_of_node(dev: &Path, source: &str) -> Result<Option<String>, ReadError> {
    let Some(name) = source.strip_prefix("/dev/") else { return Ok(None) };
    let node = dev.join(name);
    match stat::stat(&node) {
        Ok(found) => Ok((found.st_mode & nix::libc::S_IFMT == nix::libc::S_IFBLK)
            .then(|| format!("{}:{}", stat::major(found.st_rdev), stat::minor(found.st_rdev)))),
        Err(error) => attribute::forgive_absence(&node, &error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mount(number: &str, source: &str) -> Mount {
        Mount::parse(format!("30 1 {number} / / rw - btrfs {source} rw").as_bytes()).unwrap()
    }

    fn link(sys: &Path, number: &str, name: &str) {
        fs::create_dir_all(sys.join("dev/block")).unwrap();
        let target = format!("../../devices/virtual/block/{name}");
        std::os::unix::fs::symlink(target, sys.join("dev/block").join(number)).unwrap();
    }

    #[test]
    fn a_device_has_the_name_that_the_kernel_log_gives_it() {
        let sys = tempfile::tempdir().unwrap();
        link(sys.path(), "253:3", "dm-3");
        let name = |number: &str| device_name(sys.path(), Path::new("/dev"), &mount(number, "/dev/mapper/none"));
        assert_eq!(name("253:3"), Ok(Some("dm-3".to_owned())));
        assert_eq!(name("253:4"), Ok(None));
    }

    /// A service with `PrivateDevices=` sees no node of any of them.
    #[test]
    fn a_source_is_found_in_sysfs_without_its_node() {
        let root = tempfile::tempdir().unwrap();
        let (sys, dev) = (root.path().join("sys"), root.path().join("dev"));
        let write = |file: &str, text: &str| {
            let path = sys.join("class/block").join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        for name in ["vda3", "nvme1n1", "loop0p1", "zram0", "etherd!e0.0p1"] {
            write(&format!("{name}/dev"), "8:16\n");
        }
        write("dm-0/dm/name", "luks-0a1b\n");
        write("dm-1/dm/name", "vg-my\\x20lv\n");
        for (source, name) in [
            ("/dev/vda3", Some("vda3")),
            ("/dev/nvme1n1", Some("nvme1n1")),
            ("/dev/loop0p1", Some("loop0p1")),
            ("/dev/zram0", Some("zram0")),
            ("/dev/etherd/e0.0p1", Some("etherd!e0.0p1")),
            ("/dev/dm-0", Some("dm-0")),
            ("/dev/mapper/luks-0a1b", Some("dm-0")),
            ("/dev/mapper/vg-my\\134x20lv", Some("dm-1")),
            ("/dev/mapper/luks", None),
            ("/dev/mapper/dm-0", None),
            ("/dev/mapper/", None),
            ("/dev/root", None),
            ("/dev/disk/by-uuid/0a1b", None),
            ("/dev/vg/lv", None),
            ("/dev/", None),
            ("/dev/.", None),
            ("/dev/..", None),
            ("/dev/../block/vda3", None),
            ("vda3", None),
        ] {
            assert_eq!(device_name(&sys, &dev, &mount("0:35", source)), Ok(name.map(str::to_owned)), "{source}");
        }
        // What has the name cannot be read: this one may have it.
        fs::create_dir_all(sys.join("class/block/dm-2/dm/name")).unwrap();
        assert!(device_name(&sys, &dev, &mount("0:35", "/dev/mapper/luks")).is_err());
    }

    #[test]
    fn what_cannot_be_read_is_no_absence() {
        let root = tempfile::tempdir().unwrap();
        let (sys, dev) = (root.path().join("sys"), root.path().join("dev"));
        assert_eq!(btrfs_folder(&sys, "sdb"), Ok(None));
        fs::create_dir_all(sys.join("fs/btrfs/0a1b/devices/sdb")).unwrap();
        assert_eq!(btrfs_folder(&sys, "sdb"), Ok(Some(sys.join("fs/btrfs/0a1b"))));
        // A link that leads to itself is an error that no right of the reader forgives.
        std::os::unix::fs::symlink("loop", sys.join("fs/btrfs/0a1b/loop")).unwrap();
        fs::rename(sys.join("fs/btrfs/0a1b/loop"), sys.join("fs/loop")).unwrap();
        assert!(folders(&sys.join("fs/loop")).is_err());
        fs::create_dir(&dev).unwrap();
        std::os::unix::fs::symlink("sdb", dev.join("sdb")).unwrap();
        assert!(device_name(&sys, &dev, &mount("0:35", "/dev/sdb")).is_err());
    }
}
