//! Where a record came from, precisely enough to know it again after a restart.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// One boot of one machine, as `/proc/sys/kernel/random/boot_id` names it (16 random bytes).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BootId([u8; 16]);

impl BootId {
    /// Reads 32 hexadecimal digits, with or without dashes.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits: Vec<u8> = text.trim().bytes().filter(|b| *b != b'-').collect();
        if digits.len() != 32 || !digits.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        let mut id = [0; 16];
        for (byte, pair) in id.iter_mut().zip(digits.chunks(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(Self(id))
    }

    /// Takes sixteen bytes as they are.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The sixteen bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl fmt::Display for BootId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.0 {
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for BootId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl TryFrom<String> for BootId {
    type Error = &'static str;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or("a boot id has 32 hexadecimal digits")
    }
}

impl From<BootId> for String {
    fn from(id: BootId) -> Self {
        id.to_string()
    }
}

/// What makes a record itself: the same origin twice is the same record twice.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// `/dev/kmsg`: the sequence number is unique within a boot (`Documentation/ABI/testing/dev-kmsg`).
    Kmsg { boot_id: BootId, sequence: u64 },
    /// The journal's opaque cursor (`sd_journal_get_cursor(3)`).
    Journal { cursor: String },
    /// A log file: device and inode outlive a rename; the offset is where the line begins.
    File { device: u64, inode: u64, offset: u64 },
    /// A line of a saved log, counted from 1.
    Line { number: u64 },
    /// A report over the socket.
    Peer { peer: String, report_id: String },
    /// The end of a problem that no record reports: it ends once, whichever part concludes it.
    Ended { problem: String, since: Timestamp },
    /// The agent itself: the number is counted up within this run, the boot id and start time make it unique.
    Agent { boot_id: BootId, started_ns: u64, sequence: u64 },
}
