//! `/proc/meminfo`, in bytes (fs/proc/meminfo.c).
//!
//! Not by the procfs crate: it takes the file whole or not at all, and a key beyond ASCII makes it panic.

use std::collections::BTreeMap;

use super::{count, lines};

/// What the kernel reports of memory; what it does not report is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Memory {
    bytes: BTreeMap<String, u64>,
}

/// The file has some 60 lines.
const MOST_LINES: usize = 256;

impl Memory {
    /// Bytes under the kernel's own name, such as `MemTotal` or `Active(anon)`.
    #[must_use]
    pub fn bytes(&self, key: &str) -> Option<u64> {
        self.bytes.get(key).copied()
    }

    /// What is neither free nor buffers, cache or slab: what `free` once called used.
    #[must_use]
    pub fn used(&self) -> Option<u64> {
        let rest = ["MemFree", "Buffers", "Cached", "Slab"];
        rest.into_iter().try_fold(self.bytes("MemTotal")?, |left, key| left.checked_sub(self.bytes(key)?))
    }
}

/// Reads the file's text. Lines without a unit are no memory (`HugePages_Total` is a number of pages).
#[must_use]
pub fn parse(bytes: &[u8]) -> Memory {
    let parse = |line: &str| {
        let (key, value) = line.split_once(':')?;
        let kibibytes = count(value.strip_suffix(" kB")?.trim_ascii_start())?;
        Some((key.to_owned(), kibibytes.checked_mul(1024)?))
    };
    Memory { bytes: lines(bytes).filter_map(parse).take(MOST_LINES).collect() }
}
