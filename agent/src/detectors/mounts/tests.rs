use std::{fs, io::Write, path::PathBuf};

use super::*;

const ROOT: &str = "27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard";

fn parse(text: &str) -> Vec<Mount> {
    mountinfo::parse(text.as_bytes())
}

struct Tree(tempfile::TempDir);

impl Tree {
    /// A host with the disk `sdb`.
    fn with_sdb() -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        tree.write("sys/class/block/sdb/dev", "8:16\n");
        tree
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn link(&self, path: &str, target: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, path).unwrap();
    }

    /// What stands at `path` can no more be read than a file of which the kernel has no memory for a copy.
    fn spoil(&self, path: &str) {
        let path = self.path(path);
        if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) }.unwrap();
        fs::create_dir(path).unwrap();
    }

    fn roots(&self) -> HostRoots {
        let path = |name| self.path(name);
        HostRoots { proc: path("proc"), sys: path("sys"), dev: path("dev"), run: path("run"), kubelet: path("kubelet") }
    }

    fn mounted_anywhere(&self) -> Result<MountedAnywhere, ReadError> {
        mounted_anywhere(&self.roots(), "sdb")
    }
}

#[test]
fn a_superblock_is_seen_from_every_mount_namespace() {
    use MountedAnywhere::{No, NotShown, Unknown, Yes};
    for (shown, kind, expected) in [
        ("fs/ext4/sdb/errors_count", "ext4", Yes),
        ("fs/xfs/sdb/log/log_head_lsn", "xfs", Yes),
        ("fs/btrfs/0a1b/devices/sdb/x", "btrfs", Yes),
        ("fs/ext4/sda/errors_count", "ext4", No),
        ("fs/btrfs/0a1b/devices/sda/x", "btrfs", No),
        ("fs/btrfs/features/raid56", "vfat", NotShown),
        ("fs/ext4/features/casefold", "bcachefs", NotShown),
        ("fs/ext4/features/casefold", "", Unknown),
    ] {
        let tree = Tree(tempfile::tempdir().unwrap());
        tree.write(&format!("sys/{shown}"), "");
        let pulled = if expected == Yes { Yes } else { Unknown };
        assert_eq!(tree.mounted_anywhere(), Ok(pulled), "there is no such device: {shown}");
        tree.write("sys/class/block/sdb/dev", "8:16\n");
        if !kind.is_empty() {
            let udev = format!("S:disk/by-id/x\nE:ID_FS_USAGE=filesystem\nE:ID_FS_TYPE={kind}\n");
            tree.write("run/udev/data/b8:16", &udev);
        }
        assert_eq!(tree.mounted_anywhere(), Ok(expected), "{shown} {kind}");
    }
}

#[test]
fn a_device_is_the_one_that_the_log_names() {
    for (name, found) in [
        ("sda1", Some("sda1")),
        ("/dev/sda1", Some("sda1")),
        ("etherd/e0.0p1", Some("etherd!e0.0p1")),
        ("../../etc/x", None),
        ("/etc/x", Some("!etc!x")),
        ("", None),
    ] {
        assert_eq!(in_sysfs(name).as_deref(), found, "{name}");
    }
}

#[test]
fn where_it_cannot_be_read_whether_it_is_mounted_it_is_not_unmounted() {
    let tree = Tree::with_sdb();
    tree.write("run/udev/data/b8:16", "E:ID_FS_TYPE=ext4\n");
    assert_eq!(tree.mounted_anywhere(), Ok(MountedAnywhere::No));
    tree.spoil("run/udev/data/b8:16");
    assert!(tree.mounted_anywhere().is_err());
    tree.spoil("sys/class/block/sdb/dev");
    assert!(tree.mounted_anywhere().is_err());
    assert!(device_number(&tree.path("sys"), "sdb").is_err());
    assert!(of_device(&parse(ROOT), &tree.roots(), "sdb").is_err());
    for folder in ["ext4", "xfs", "f2fs", "btrfs"] {
        let tree = Tree::with_sdb();
        tree.link(&format!("sys/fs/{folder}"), folder);
        assert!(tree.mounted_anywhere().is_err(), "{folder}");
    }
}

#[test]
fn a_device_is_found_by_number_and_by_name() {
    let tree = Tree::with_sdb();
    tree.write("sys/class/block/dm-0/dev", "254:0\n");
    let mounts = parse(ROOT);
    let count = |name: &str| of_device(&mounts, &tree.roots(), name).unwrap().len();
    assert_eq!((count("dm-0"), count("vda"), count("sdb"), count("../x")), (1, 1, 0, 0));
}

/// Nodes of block devices take a right that tests need not have: one of the machine stands for the volume's.
#[test]
fn a_mount_of_btrfs_is_one_of_all_devices_of_its_filesystem() {
    let Some((node, number)) = any_block_device() else {
        let test = "a_mount_of_btrfs_is_one_of_all_devices_of_its_filesystem";
        let _ = writeln!(std::io::stderr(), "SKIP {test}: /dev has no block device");
        return;
    };
    let tree = Tree::with_sdb();
    tree.write("sys/class/block/dm-0/dev", "253:0\n");
    tree.write("sys/class/block/sdz/dev", "65:144\n");
    tree.link(&format!("sys/dev/block/{number}"), "../../devices/virtual/block/dm-0");
    tree.link("dev/mapper/luks-0a1b", &node);
    let mounts = parse(&format!("{ROOT}\n40 27 0:35 /@ /srv rw - btrfs /dev/mapper/luks-0a1b ro"));
    let ids = |name: &str| -> Result<Vec<u64>, ReadError> {
        Ok(of_device(&mounts, &tree.roots(), name)?.iter().map(|mount| mount.id).collect())
    };
    assert_eq!(ids("dm-0"), Ok(Vec::new()), "no btrfs is known");
    tree.write("sys/fs/btrfs/0a1b/devices/dm-0/x", "");
    tree.write("sys/fs/btrfs/0a1b/devices/sdb/x", "");
    tree.write("sys/fs/btrfs/2c3d/devices/sdz/x", "");
    assert_eq!((ids("dm-0"), ids("sdb")), (Ok(vec![40]), Ok(vec![40])));
    assert_eq!(ids("sdz"), Ok(Vec::new()), "it is another filesystem's");
    // A source that leads nowhere may be any device of the filesystem.
    fs::remove_file(tree.path("dev/mapper/luks-0a1b")).unwrap();
    assert!(ids("dm-0").is_err() && ids("sdz").is_err());
    assert_eq!(ids("vda"), Ok(vec![27]), "that is no btrfs");
}

fn ids(tree: &Tree, mounts: &str, name: &str) -> Result<Vec<u64>, ReadError> {
    Ok(of_device(&parse(mounts), &tree.roots(), name)?.iter().map(|mount| mount.id).collect())
}

/// A host with these filesystems, by their folders in sysfs, and the devices of each.
fn with_btrfs(filesystems: &[(&str, &[&str])]) -> Tree {
    let tree = Tree(tempfile::tempdir().unwrap());
    for (uuid, devices) in filesystems {
        for device in *devices {
            tree.write(&format!("sys/class/block/{device}/dev"), "8:16\n");
            tree.link(&format!("sys/fs/btrfs/{uuid}/devices/{device}"), &format!("../../../../class/block/{device}"));
        }
    }
    tree
}

/// One disk of a mirror was pulled, and mountinfo still has its node.
#[test]
fn a_source_that_leads_nowhere_hides_no_mount_of_another_btrfs() {
    let tree = with_btrfs(&[("0a1b", &["sda"]), ("2c3d", &["sdc", "sdd"]), ("4e5f", &["sde"])]);
    for dead in ["/dev/sdb", "/dev/mapper/gone", "/dev/root", "/dev/disk/by-uuid/0a1b", "/dev/vg/lv"] {
        let mounts = format!(
            "40 27 0:35 / /srv rw - btrfs {dead} rw\n\
             41 27 0:36 / /data rw - btrfs /dev/sdc rw\n\
             42 27 0:36 /@x /x rw - btrfs /dev/sdc rw\n"
        );
        for name in ["sdc", "sdd"] {
            assert_eq!(ids(&tree, &mounts, name), Ok(vec![41, 42]), "{dead} {name}");
        }
        // It may be of the filesystem that is mounted by no other source.
        for name in ["sda", "sde"] {
            assert!(ids(&tree, &mounts, name).is_err(), "{dead} {name}");
        }
    }
}

#[test]
fn a_disk_that_was_pulled_is_in_its_filesystem_while_that_is_mounted() {
    let tree = with_btrfs(&[("0a1b", &["sda", "sdb"]), ("2c3d", &["sdc"])]);
    fs::remove_dir_all(tree.path("sys/class/block/sdb")).unwrap();
    let mounts = "40 27 0:35 / /srv rw - btrfs /dev/sdb rw\n";
    assert_eq!(ids(&tree, mounts, "sda"), Ok(vec![40]));
    assert_eq!(ids(&tree, mounts, "sdc"), Ok(Vec::new()), "a pod alone has it");
}

/// `..` is in every folder, and is no device.
#[test]
fn a_source_names_a_device_and_no_path() {
    let tree = with_btrfs(&[("0a1b", &["sda"]), ("2c3d", &["etherd!e0.0"])]);
    for source in ["/dev/..", "/dev/.", "/dev/", "/dev/../sda", "..", "sda/", "none"] {
        let mounts = format!("40 27 0:35 / /srv rw - btrfs {source} rw\n");
        assert!(ids(&tree, &mounts, "sda").is_err(), "{source}");
    }
    let mounts = "40 27 0:35 / /srv rw - btrfs /dev/etherd/e0.0 rw\n";
    assert_eq!(ids(&tree, mounts, "sda"), Ok(Vec::new()));
    assert_eq!(ids(&tree, mounts, "etherd!e0.0"), Ok(vec![40]));
}

/// Which device a name of device-mapper has may not be readable; what is found all the same is found.
#[test]
fn a_source_that_cannot_be_looked_up_is_unknown_and_hides_nothing() {
    let tree = with_btrfs(&[("0a1b", &["dm-0", "sda"]), ("2c3d", &["sdc", "sdd"])]);
    tree.write("sys/class/block/dm-0/dm/name/x", "");
    let mounts = "40 27 0:35 / /srv rw - btrfs /dev/mapper/luks-0a1b rw\n\
                  41 27 0:36 / /data rw - btrfs /dev/sdc rw\n";
    assert_eq!(ids(&tree, mounts, "sdd"), Ok(vec![41]));
    assert!(ids(&tree, mounts, "sda").is_err());
}

fn any_block_device() -> Option<(String, String)> {
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    let is_block = |path: &PathBuf| path.metadata().is_ok_and(|found| found.file_type().is_block_device());
    let path = fs::read_dir("/dev").unwrap().flatten().map(|entry| entry.path()).find(is_block)?;
    let device = path.metadata().unwrap().rdev();
    let number = format!("{}:{}", nix::sys::stat::major(device), nix::sys::stat::minor(device));
    Some((path.to_str()?.to_owned(), number))
}
