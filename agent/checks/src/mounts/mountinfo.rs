//! Which filesystems are mounted where, from mountinfo: the superblock's options decide, never the mount's.

use std::{io, path::Path};

/// One line of `/proc/PID/mountinfo` (proc_pid_mountinfo(5)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Another id is another mount; the same id may have been used again after an unmount.
    pub id: u64,
    /// `major:minor` of the device.
    pub device_number: String,
    /// What of the filesystem is seen at the mount point: `/`, or a folder of it.
    pub root: String,
    pub mount_point: String,
    /// No process writes through this mount, whatever the filesystem takes: a read-only bind, a service's sandbox.
    pub is_mount_read_only: bool,
    pub filesystem: String,
    /// `/dev/sda1`, or whatever the mounting program passed.
    pub source: String,
    /// The options after the ` - `: what the filesystem itself does.
    pub super_options: Vec<String>,
}

impl Mount {
    /// Whether the filesystem takes no writes. 6.18 shows `emergency_ro` where older kernels still show `rw`.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.has("ro") || self.is_cut_off()
    }

    /// Whether the kernel has cut it off after an error: it is never mounted so.
    #[must_use]
    pub fn is_cut_off(&self) -> bool {
        self.has("emergency_ro") || self.has("shutdown")
    }

    fn has(&self, option: &str) -> bool {
        self.super_options.iter().any(|one| one == option)
    }
}

/// All mounts of this process's namespace, or none where procfs does not list them.
pub fn read(proc_root: &Path) -> io::Result<Vec<Mount>> {
    let text = std::fs::read(proc_root.join("self/mountinfo"))?;
    Ok(parse(&String::from_utf8_lossy(&text)))
}

/// The mounts of a whole mountinfo; lines that are none are passed over.
#[must_use]
pub fn parse(text: &str) -> Vec<Mount> {
    text.lines().filter_map(parse_line).collect()
}

/// One of them.
pub(super) fn parse_line(line: &str) -> Option<Mount> {
    let (mount, filesystem) = line.split_once(" - ")?;
    let mut mount = mount.split(' ');
    let mut filesystem = filesystem.split(' ');
    Some(Mount {
        id: mount.next()?.parse().ok()?,
        device_number: mount.nth(1)?.to_owned(),
        root: unescape(mount.next()?),
        mount_point: unescape(mount.next()?),
        is_mount_read_only: mount.next()?.split(',').any(|option| option == "ro"),
        filesystem: filesystem.next()?.to_owned(),
        source: unescape(filesystem.next()?),
        super_options: filesystem.next().unwrap_or_default().split(',').map(str::to_owned).collect(),
    })
}

/// Space, tab, newline, number sign and backslash are written as octal (`mangle` in fs/proc_namespace.c).
pub(super) fn unescape(text: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\043", "#"), ("\\134", "\\")]
        .iter()
        .fold(text.to_owned(), |text, (octal, plain)| text.replace(octal, plain))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn superblock_options_are_read_and_mount_options_are_not() {
        let sandboxed = parse_line("36 27 254:0 / / ro,relatime - ext4 /dev/vda rw,discard").unwrap();
        assert!(!sandboxed.is_read_only() && sandboxed.is_mount_read_only);
        let emergency = "36 27 7:1 /sub /mnt/a\\040b rw shared:3 - ext4 /dev/loop1 rw,emergency_ro";
        let mount = parse_line(emergency).unwrap();
        assert!(mount.is_read_only() && mount.is_cut_off() && !mount.is_mount_read_only);
        assert_eq!((mount.mount_point.as_str(), mount.root.as_str()), ("/mnt/a b", "/sub"));
    }

    #[test]
    fn lines_that_are_not_mounts_are_passed_over() {
        for line in ["", "x", "27 1 254:0 / / rw", "a b c - d e f", "27 1 - ext4"] {
            assert_eq!(parse_line(line), None, "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_bad(text in "(?s)[0-9a-z /:,\\\\\n-]{0,200}") {
            prop_assert!(parse(&text).len() <= text.lines().count());
        }
    }
}
