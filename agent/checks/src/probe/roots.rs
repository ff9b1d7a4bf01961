//! Where the host's own files are: tests put a tree of their own there.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The roots of what readers read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Roots {
    pub proc: PathBuf,
    pub sys: PathBuf,
    pub dev: PathBuf,
    /// What programs of this boot leave for others: `/run`.
    pub run: PathBuf,
    /// tracefs, usually `/sys/kernel/tracing`.
    pub tracing: PathBuf,
}

impl Default for Roots {
    fn default() -> Self {
        let path = PathBuf::from;
        let (proc, sys, dev, run) = (path("/proc"), path("/sys"), path("/dev"), path("/run"));
        Self { proc, sys, dev, run, tracing: path("/sys/kernel/tracing") }
    }
}
