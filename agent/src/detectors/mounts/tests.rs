use std::{fs, path::PathBuf};

use nodewell_checks::mounts::mountinfo::parse;

use super::*;

const ROOT: &str = "27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard";

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

    fn is_mounted_anywhere(&self) -> Result<Option<bool>, ReadError> {
        is_mounted_anywhere(&self.roots(), "sdb")
    }
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
        let tree = Tree(tempfile::tempdir().unwrap());
        tree.write(&format!("sys/{shown}"), "");
        assert_eq!(tree.is_mounted_anywhere(), Ok(None), "there is no such device");
        tree.write("sys/class/block/sdb/dev", "8:16\n");
        if !kind.is_empty() {
            let udev = format!("S:disk/by-id/x\nE:ID_FS_USAGE=filesystem\nE:ID_FS_TYPE={kind}\n");
            tree.write("run/udev/data/b8:16", &udev);
        }
        assert_eq!(tree.is_mounted_anywhere(), Ok(expected), "{shown} {kind}");
    }
}

#[test]
fn where_it_cannot_be_read_whether_it_is_mounted_it_is_not_unmounted() {
    let tree = Tree::with_sdb();
    tree.write("run/udev/data/b8:16", "E:ID_FS_TYPE=ext4\n");
    assert_eq!(tree.is_mounted_anywhere(), Ok(Some(false)));
    tree.spoil("run/udev/data/b8:16");
    assert!(tree.is_mounted_anywhere().is_err());
    tree.spoil("sys/class/block/sdb/dev");
    assert!(tree.is_mounted_anywhere().is_err());
    assert!(device_number(&tree.path("sys"), "sdb").is_err());
    assert!(of_device(&parse(ROOT), &tree.roots(), "sdb").is_err());
    for folder in ["ext4", "xfs", "f2fs", "btrfs"] {
        let tree = Tree::with_sdb();
        tree.link(&format!("sys/fs/{folder}"), folder);
        assert!(tree.is_mounted_anywhere().is_err(), "{folder}");
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
