//! Whether a device that the kernel has can be opened: its file under /dev.

use std::{
    fs,
    io::ErrorKind,
    path::{Component, Path},
};

use nodewell_sys::proc::{Mount, mountinfo};

use super::Roots;

/// The name below /dev of the file that the device at `entry` of sysfs should have and has not; `None` also where that
/// is not known.
///
/// The kernel names it (`DEVNAME` of `uevent`), and makes it in devtmpfs (drivers/base/core.c `device_add`). Only where
/// /dev is one does its absence mean something: containers and sandboxes have a /dev of their own that shows less.
pub fn missing(roots: &Roots, entry: &Path) -> Option<String> {
    let uevent = fs::read_to_string(entry.join("uevent")).ok()?;
    let name = uevent.lines().find_map(|line| line.strip_prefix("DEVNAME="))?;
    let is_below = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
    if name.is_empty() || !is_below {
        return None;
    }
    let file = roots.dev.join(name);
    let found = fs::symlink_metadata(&file);
    let is_absent = found.is_err_and(|error| error.kind() == ErrorKind::NotFound);
    // Last of all: the device may have gone meanwhile.
    let is_missing = is_absent && is_shown(roots, &file) && entry.join("dev").exists();
    is_missing.then(|| name.to_owned())
}

/// Whether `file` would be seen if it were there: the newest mount on /dev is the kernel's own, from the root on, and
/// none below covers the place (a sandbox may hide a folder).
fn is_shown(roots: &Roots, file: &Path) -> bool {
    let mounts = mountinfo::read(&roots.proc).unwrap_or_default();
    let newest = mounts.iter().rfind(|mount| Path::new(&mount.mount_point) == roots.dev);
    let is_the_kernels = newest.is_some_and(|mount| mount.root == "/" && mount.filesystem == "devtmpfs");
    let covers = |mount: &Mount| {
        let point = Path::new(&mount.mount_point);
        point != roots.dev && point.starts_with(&roots.dev) && file.starts_with(point)
    };
    is_the_kernels && !mounts.iter().any(covers)
}

#[cfg(test)]
pub(crate) mod tests {
    use tempfile::TempDir;

    use super::*;

    /// Writes a mount table of a /dev of that kind.
    pub(crate) fn mount_dev(roots: &Roots, kinds: &[&str]) {
        let line = |kind: &&str| format!("24 1 0:5 / {} rw,nosuid shared:2 - {kind} udev rw\n", roots.dev.display());
        let others = "22 1 0:21 / /proc rw - proc proc rw\n".to_owned();
        let mounts = kinds.iter().map(line).fold(others, |all, line| all + &line);
        fs::create_dir_all(roots.proc.join("self")).unwrap();
        fs::write(roots.proc.join("self/mountinfo"), mounts).unwrap();
    }

    /// Writes what sysfs has of a device.
    pub(crate) fn add(entry: &Path, uevent: &str) {
        fs::create_dir_all(entry).unwrap();
        fs::write(entry.join("uevent"), uevent).unwrap();
        fs::write(entry.join("dev"), "231:192\n").unwrap();
    }

    fn roots(folder: &TempDir) -> Roots {
        let root = folder.path();
        Roots { proc: root.join("proc"), dev: root.join("dev"), ..Roots::default() }
    }

    const UEVENT: &str = "MAJOR=231\nMINOR=192\nDEVNAME=infiniband/uverbs0\n";

    #[test]
    fn a_file_is_missing_where_the_kernel_should_have_made_it() {
        let folder = TempDir::new().unwrap();
        let (roots, entry) = (roots(&folder), folder.path().join("uverbs0"));
        add(&entry, UEVENT);
        let cases: [(&[&str], Option<&str>); 5] = [
            (&["devtmpfs"], Some("infiniband/uverbs0")),
            (&["tmpfs"], None),
            (&["devtmpfs", "tmpfs"], None),
            (&["tmpfs", "devtmpfs"], Some("infiniband/uverbs0")),
            (&[], None),
        ];
        for (kinds, expected) in cases {
            mount_dev(&roots, kinds);
            assert_eq!(missing(&roots, &entry).as_deref(), expected, "{kinds:?}");
        }
        fs::create_dir_all(roots.dev.join("infiniband")).unwrap();
        fs::write(roots.dev.join("infiniband/uverbs0"), "").unwrap();
        mount_dev(&roots, &["devtmpfs"]);
        assert_eq!(missing(&roots, &entry), None);
    }

    #[test]
    fn what_a_mount_hides_is_not_missing() {
        let folder = TempDir::new().unwrap();
        let (roots, entry) = (roots(&folder), folder.path().join("uverbs0"));
        add(&entry, UEVENT);
        mount_dev(&roots, &["devtmpfs"]);
        let table = roots.proc.join("self/mountinfo");
        let ordinary = fs::read_to_string(&table).unwrap();
        let line =
            |root: &str, at: &Path, kind: &str| format!("25 24 0:6 {root} {} rw - {kind} none rw\n", at.display());
        let cases = [
            (line("/", &roots.dev.join("shm"), "tmpfs"), Some("infiniband/uverbs0")),
            (line("/", &roots.dev.join("infiniband"), "tmpfs"), None),
            (line("/part", &roots.dev, "devtmpfs"), None),
        ];
        for (line, expected) in cases {
            fs::write(&table, format!("{ordinary}{line}")).unwrap();
            assert_eq!(missing(&roots, &entry).as_deref(), expected, "{line}");
        }
    }

    #[test]
    fn what_is_no_device_has_no_file() {
        let folder = TempDir::new().unwrap();
        let (roots, entry) = (roots(&folder), folder.path().join("uverbs0"));
        mount_dev(&roots, &["devtmpfs"]);
        assert_eq!(missing(&roots, &entry), None, "it is gone");
        for uevent in ["", "DEVNAME=\n", "DEVNAME=../uverbs0\n", "DEVNAME=/uverbs0\n"] {
            add(&entry, uevent);
            assert_eq!(missing(&roots, &entry), None, "{uevent:?}");
        }
        add(&entry, UEVENT);
        fs::remove_file(entry.join("dev")).unwrap();
        assert_eq!(missing(&roots, &entry), None, "it went meanwhile");
    }
}
