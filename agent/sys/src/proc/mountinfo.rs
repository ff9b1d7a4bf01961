//! Which filesystems are mounted where, from mountinfo: the superblock's options decide, never the mount's.

use std::{fs, io, path::Path};

/// One line of `/proc/PID/mountinfo` (proc_pid_mountinfo(5)). Names are as [`text`] shows them.
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
    /// Reads a line; `None` if it is none.
    #[must_use]
    pub fn parse(line: &[u8]) -> Option<Self> {
        let mut fields = line.split(|byte| *byte == b' ');
        let id = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
        // After the mount that it lies on.
        let device_number = text(fields.nth(1)?);
        let (root, mount_point) = (text(fields.next()?), text(fields.next()?));
        let is_mount_read_only = fields.next()?.split(|byte| *byte == b',').any(|option| option == b"ro");
        // Fields that only some mounts have end with a hyphen.
        fields.find(|field| *field == b"-")?;
        let (filesystem, source) = (text(fields.next()?), text(fields.next()?));
        let options = fields.next().unwrap_or_default().split(|byte| *byte == b',');
        let super_options = options.map(text).collect();
        Some(Self { id, device_number, root, mount_point, is_mount_read_only, filesystem, source, super_options })
    }

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

/// All mounts of this process's namespace, in the order in which they were made.
///
/// # Errors
/// Where procfs does not list them.
pub fn read(proc_root: &Path) -> io::Result<Vec<Mount>> {
    Ok(parse(&fs::read(proc_root.join("self/mountinfo"))?))
}

/// The mounts of a whole mountinfo; lines that are none are passed over.
#[must_use]
pub fn parse(content: &[u8]) -> Vec<Mount> {
    content.split(|byte| *byte == b'\n').filter_map(Mount::parse).collect()
}

/// A name as it is shown and compared. The kernel writes spaces, line breaks and whatever else would break a line as
/// three octal digits (`mangle` in fs/proc_namespace.c), as fstab(5) has them. Bytes that are no UTF-8 become `\xff`,
/// so that two names stay two.
#[must_use]
pub fn text(escaped: &[u8]) -> String {
    let bytes = unescaped(escaped);
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
    text
}

fn unescaped(mut escaped: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(escaped.len());
    while let Some((first, rest)) = escaped.split_first() {
        let octal = octal(escaped);
        bytes.push(octal.unwrap_or(*first));
        escaped = if octal.is_some() { &escaped[4..] } else { rest };
    }
    bytes
}

/// The byte that stands at the beginning of `escaped` as a backslash and three digits.
fn octal(escaped: &[u8]) -> Option<u8> {
    let [b'\\', high @ b'0'..=b'3', middle @ b'0'..=b'7', low @ b'0'..=b'7', ..] = escaped else { return None };
    Some(((high - b'0') << 6) | ((middle - b'0') << 3) | (low - b'0'))
}
