//! Which filesystems the node has mounted where, from mountinfo: the superblock's options decide, never the mount's.

use std::{io, path::Path};

/// One line of `/proc/PID/mountinfo` (proc_pid_mountinfo(5)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Another id is another mount; the same id may have been used again after an unmount.
    pub id: u64,
    /// `major:minor` of the device.
    pub device_number: String,
    pub mount_point: String,
    /// Nobody writes through this mount, whatever the filesystem takes: a read-only bind, a service's sandbox.
    pub is_sealed: bool,
    pub filesystem: String,
    /// `/dev/sda1`, or whatever the mounter said.
    pub source: String,
    /// The options after the ` - `: what the filesystem itself does.
    pub super_options: Vec<String>,
}

impl Mount {
    /// Whether the filesystem takes no writes. 6.18 says `emergency_ro` where older kernels keep saying `rw`.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.super_options.iter().any(|option| option == "ro" || option == "emergency_ro" || option == "shutdown")
    }
}

/// All mounts of this process's namespace, or none where procfs does not say.
pub fn read(proc_root: &Path) -> io::Result<Vec<Mount>> {
    let text = std::fs::read(proc_root.join("self/mountinfo"))?;
    Ok(String::from_utf8_lossy(&text).lines().filter_map(parse).collect())
}

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

fn parse(line: &str) -> Option<Mount> {
    let (mount, filesystem) = line.split_once(" - ")?;
    let mut mount = mount.split(' ');
    let mut filesystem = filesystem.split(' ');
    Some(Mount {
        id: mount.next()?.parse().ok()?,
        device_number: mount.nth(1)?.to_owned(),
        mount_point: unescape(mount.nth(1)?),
        is_sealed: mount.next()?.split(',').any(|option| option == "ro"),
        filesystem: filesystem.next()?.to_owned(),
        source: unescape(filesystem.next()?),
        super_options: filesystem.next().unwrap_or_default().split(',').map(str::to_owned).collect(),
    })
}

/// Space, tab, newline and backslash are written as octal (`mangle` in fs/proc_namespace.c).
fn unescape(text: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .iter()
        .fold(text.to_owned(), |text, (octal, plain)| text.replace(octal, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = "27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard";

    #[test]
    fn superblock_options_are_read_and_mount_options_are_not() {
        let sandboxed = "36 27 254:0 / / ro,relatime - ext4 /dev/vda rw,discard";
        let sandboxed = parse(sandboxed).unwrap();
        assert!(!sandboxed.is_read_only() && sandboxed.is_sealed);
        let emergency = "36 27 7:1 / /mnt/a\\040b rw - ext4 /dev/loop1 rw,emergency_ro";
        let mount = parse(emergency).unwrap();
        assert!(mount.is_read_only() && !mount.is_sealed);
        assert_eq!(mount.mount_point, "/mnt/a b");
    }

    #[test]
    fn lines_that_are_not_mounts_are_passed_over() {
        for line in ["", "x", "27 1 254:0 / / rw", "a b c - d e f", "27 1 - ext4"] {
            assert_eq!(parse(line), None, "{line}");
        }
    }

    #[test]
    fn a_device_is_found_by_number_and_by_name() {
        let sys = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(sys.path().join("class/block/dm-0")).unwrap();
        std::fs::write(sys.path().join("class/block/dm-0/dev"), "254:0\n").unwrap();
        let mounts = vec![parse(ROOT).unwrap()];
        assert_eq!(of_device(&mounts, sys.path(), "dm-0").len(), 1);
        assert_eq!(of_device(&mounts, sys.path(), "vda").len(), 1);
        assert_eq!(of_device(&mounts, sys.path(), "../x").len(), 0);
    }
}
