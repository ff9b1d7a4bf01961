//! The errors that filesystems count themselves.

use std::path::Path;

use crate::probe::{ReadError, attribute};

use super::device::{btrfs_folder, folders};

/// What the filesystem on device `name` has counted; `None` for those that do not count.
pub(super) fn counted(sys: &Path, filesystem: &str, name: &str) -> Result<Option<u64>, ReadError> {
    match filesystem {
        // One driver for all of them: Documentation/ABI/testing/sysfs-fs-ext4.
        "ext2" | "ext3" | "ext4" => {
            let text = attribute::text(&sys.join("fs/ext4").join(name).join("errors_count"))?;
            Ok(text.and_then(|text| text.trim().parse().ok()))
        }
        "btrfs" => btrfs(sys, name),
        _ => Ok(None),
    }
}

/// All counters of all devices of the filesystem that has `name` among its devices (fs/btrfs/sysfs.c, from Linux 5.14).
fn btrfs(sys: &Path, name: &str) -> Result<Option<u64>, ReadError> {
    let Some(folder) = btrfs_folder(sys, name)? else { return Ok(None) };
    let mut texts = Vec::new();
    for device in folders(&folder.join("devinfo"))? {
        texts.extend(attribute::text(&device.join("error_stats"))?);
    }
    let counts = texts.iter().flat_map(|text| text.lines()).filter_map(|line| line.rsplit(' ').next()?.parse().ok());
    Ok((!texts.is_empty()).then(|| counts.fold(0, |sum: u64, count| sum.saturating_add(count))))
}

#[cfg(test)]
mod tests {
    use std::fs;

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
            assert_eq!(counted(sys, filesystem, name), Ok(count), "{filesystem} {name}");
        }
    }

    #[test]
    fn a_counter_that_cannot_be_read_is_an_error() {
        let sys = tempfile::tempdir().unwrap();
        for (filesystem, counter) in
            [("ext4", "fs/ext4/sdb/errors_count"), ("btrfs", "fs/btrfs/1234/devinfo/1/error_stats")]
        {
            fs::create_dir_all(sys.path().join(counter)).unwrap();
            write(sys.path(), "fs/btrfs/1234/devices/sdb", "");
            assert!(counted(sys.path(), filesystem, "sdb").is_err(), "{filesystem}");
        }
    }
}
