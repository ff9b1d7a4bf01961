//! The errors that filesystems count themselves, and the names of their devices.

use std::{
    fs,
    path::{Path, PathBuf},
};

use nix::sys::stat;
use nodewell_hardware::{Roots, attribute};

use super::mountinfo::Mount;

/// The device as the kernel log calls it: `sda1`, `dm-3`; by its number, or by its node where the filesystem has a
/// number of its own (btrfs).
pub(super) fn device_name(roots: &Roots, mount: &Mount) -> Option<String> {
    let named = |number: &str| {
        let target = fs::read_link(roots.sys.join("dev/block").join(number)).ok()?;
        Some(target.file_name()?.to_str()?.to_owned())
    };
    named(&mount.device_number).or_else(|| named(&number_of_node(roots, &mount.source)?))
}

fn number_of_node(roots: &Roots, source: &str) -> Option<String> {
    let node = stat::stat(&roots.dev.join(source.strip_prefix("/dev/")?)).ok()?;
    (node.st_mode & nix::libc::S_IFMT == nix::libc::S_IFBLK)
        .then(|| format!("{}:{}", stat::major(node.st_rdev), stat::minor(node.st_rdev)))
}

/// What the filesystem on device `name` has counted; `None` for those that do not count.
pub(super) fn counted(sys: &Path, filesystem: &str, name: &str) -> Option<u64> {
    match filesystem {
        // One driver for all of them: Documentation/ABI/testing/sysfs-fs-ext4.
        "ext2" | "ext3" | "ext4" => attribute::number(&sys.join("fs/ext4").join(name).join("errors_count")),
        "btrfs" => btrfs(sys, name),
        _ => None,
    }
}

/// All counters of all devices of the filesystem that has `name` among its devices (fs/btrfs/sysfs.c, from Linux 5.14).
fn btrfs(sys: &Path, name: &str) -> Option<u64> {
    let filesystem = folders(&sys.join("fs/btrfs")).find(|folder| folder.join("devices").join(name).exists())?;
    let texts = folders(&filesystem.join("devinfo"))
        .filter_map(|device| attribute::text(&device.join("error_stats")).ok().flatten())
        .collect::<Vec<_>>();
    let counts = texts.iter().flat_map(|text| text.lines()).filter_map(|line| line.rsplit(' ').next()?.parse().ok());
    (!texts.is_empty()).then(|| counts.fold(0, |sum: u64, count| sum.saturating_add(count)))
}

fn folders(folder: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(sys: &Path, name: &str, text: &str) {
        let path = sys.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn each_filesystem_counts_in_its_own_way() {
        let sys = tempfile::tempdir().unwrap();
        let sys = sys.path();
        write(sys, "fs/ext4/sda1/errors_count", "4\n");
        write(sys, "fs/ext4/sdc1/errors_count", "many\n");
        write(sys, "fs/btrfs/features/x", "1\n");
        write(sys, "fs/btrfs/1234/devices/sdb", "");
        write(
            sys,
            "fs/btrfs/1234/devinfo/1/error_stats",
            "write_errs 1\nread_errs 0\nflush_errs 0\ncorruption_errs 6\n",
        );
        write(sys, "fs/btrfs/1234/devinfo/2/error_stats", "write_errs 18446744073709551615\ngeneration_errs x\n");
        for (filesystem, name, count) in [
            ("ext4", "sda1", Some(4)),
            ("ext4", "sdc1", None),
            ("ext4", "sdd1", None),
            ("btrfs", "sdb", Some(u64::MAX)),
            ("btrfs", "sda1", None),
            ("xfs", "sda1", None),
        ] {
            assert_eq!(counted(sys, filesystem, name), count, "{filesystem} {name}");
        }
    }

    #[test]
    fn a_device_has_the_name_that_the_kernel_log_gives_it() {
        let sys = tempfile::tempdir().unwrap();
        let roots = Roots { sys: sys.path().to_owned(), ..Roots::default() };
        fs::create_dir_all(sys.path().join("dev/block")).unwrap();
        std::os::unix::fs::symlink("../../devices/virtual/block/dm-3", sys.path().join("dev/block/253:3")).unwrap();
        let mount = |number: &str| {
            let line = format!("30 1 {number} / / rw - ext4 /dev/mapper/root rw");
            super::super::mountinfo::parse_line(&line).unwrap()
        };
        assert_eq!(device_name(&roots, &mount("253:3")).as_deref(), Some("dm-3"));
        assert_eq!(device_name(&roots, &mount("253:4")), None);
    }
}
