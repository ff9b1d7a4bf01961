//! How a permanent problem ends that Node Problem Detector would hold until its own restart.

use std::time::Duration;

use crate::rule::{Clears, RecoveryCheck};

/// The recovery of a rule by its condition: always a new boot, and what is known of its kind.
pub(super) fn of(condition: &str) -> Clears {
    let (quiet, check) = match condition {
        // A hung task is logged every two minutes for as long as it hangs, ten times at most by default.
        "KernelDeadlock" => (Some(Duration::from_secs(30 * 60)), None),
        "ReadonlyFilesystem" | "XfsShutdown" => (None, Some(RecoveryCheck::FilesystemWritable)),
        _ => (None, None),
    };
    Clears { patterns: Vec::new(), quiet, boot: true, check }
}
