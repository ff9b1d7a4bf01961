//! What the reader reports: the table of mounts, and what each that was asked answered.

use std::collections::BTreeMap;

use nix::sys::statvfs::Statvfs;
use serde::{Deserialize, Serialize};

use super::kind::FilesystemKind;

/// The device that stands for mountinfo itself: no mount point and no server is called so.
pub(super) const TABLE: &str = "mounts";

/// One filesystem, at the mount point that people know it by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Row {
    pub(super) point: String,
    /// `major:minor`
    pub(super) number: String,
    pub(super) filesystem: String,
    pub(super) source: String,
    pub(super) kind: FilesystemKind,
    /// The device that is asked for it.
    pub(super) asked: String,
    /// As the kernel log calls the device: `sda1`, `dm-3`.
    pub(super) name: Option<String>,
    /// Only pods see it.
    pub(super) is_volume: bool,
    pub(super) is_read_only: bool,
    /// By the kernel, after an error.
    pub(super) is_cut_off: bool,
    /// The operator's table of filesystems wants it writable.
    pub(super) wants_writes: bool,
    /// Counted by the filesystem itself, since its last check or for ever.
    pub(super) errors: Option<u64>,
}

/// Of each mount point that was asked.
pub(super) type MountsReading = BTreeMap<String, StatfsResult>;

/// An answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum StatfsResult {
    Usage(Usage),
    /// The number of an error.
    Failed(i32),
}

/// `statfs(2)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Usage {
    pub(super) used_bytes: u64,
    /// For ordinary users: what is reserved for root is not left.
    pub(super) left_bytes: u64,
    /// 0 where they are made as they are needed.
    pub(super) inodes: u64,
    pub(super) inodes_left: u64,
}

impl From<&Statvfs> for Usage {
    fn from(found: &Statvfs) -> Self {
        let block = found.fragment_size();
        let bytes = |blocks: u64| blocks.saturating_mul(block);
        Self {
            used_bytes: bytes(found.blocks().saturating_sub(found.blocks_free())),
            left_bytes: bytes(found.blocks_available()),
            inodes: found.files(),
            inodes_left: found.files_free(),
        }
    }
}
