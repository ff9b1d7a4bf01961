//! What the host shows of a broken filesystem and its device. What cannot be read makes the whole reading an error: as
//! absence it would end the problem.

use std::path::Path;

use nodewell_checks::probe::{ReadError, attribute};
use nodewell_rules::rule::RecoveryCheck;

use crate::{
    check_process::filesystem::probe::{ProbeResult, Probes},
    detectors::{
        mounts::{self, Mount, MountedAnywhere},
        proof::HostRoots,
    },
};

/// What the host shows of a device right now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FilesystemReading {
    /// Whether the kernel has such a block device.
    pub(super) exists: bool,
    /// The ids of its mounts.
    pub(super) mount_ids: Vec<u64>,
    /// Also in a mount namespace that is not seen here.
    pub(super) mounted_anywhere: MountedAnywhere,
    pub(super) read_only: bool,
    /// `/sys/fs/ext4/DEVICE/errors_count`, for the filesystems that count.
    pub(super) errors: Option<u64>,
    /// Whether it takes a write; not asked while it is mounted read-only.
    pub(super) probe: ProbeResult,
    pub(super) check: RecoveryCheck,
}

impl FilesystemReading {
    /// Looks at the host. A probe that hangs keeps only its own thread.
    pub(super) fn take(
        roots: &HostRoots,
        device: &str,
        check: RecoveryCheck,
        probes: &mut Probes,
    ) -> Result<Self, ReadError> {
        let all = mounts::read(&roots.proc)?;
        let mounts = mounts::of_device(&all, roots, device)?;
        let mut reading = Self {
            exists: mounts::device_number(&roots.sys, device)?.is_some(),
            mount_ids: mounts.iter().map(|mount| mount.id).collect(),
            mounted_anywhere: mounts::mounted_anywhere(roots, device)?,
            read_only: mounts.iter().any(|mount| mount.is_read_only()),
            errors: errors(&roots.sys, device)?,
            probe: ProbeResult::Pending,
            check,
        };
        if !mounts.is_empty() && !reading.read_only && check == RecoveryCheck::FilesystemWritable {
            reading.probe = probe(device, &mounts, probes);
        }
        Ok(reading)
    }
}

/// `None` for a filesystem that does not count.
fn errors(sys: &Path, device: &str) -> Result<Option<u64>, ReadError> {
    let Some(device) = mounts::in_sysfs(device) else { return Ok(None) };
    let path = sys.join("fs/ext4").join(device).join("errors_count");
    let Some(text) = attribute::text(&path)? else { return Ok(None) };
    let odd = |_| ReadError::Failed { message: format!("{}: {text:?} is no number", path.display()) };
    text.parse().map(Some).map_err(odd)
}

/// A write through a mount that is not itself read-only. A filesystem that takes writes may be mounted read-only in
/// some places (bind mounts): that a write fails there proves nothing.
fn probe(device: &str, mounts: &[&Mount], probes: &mut Probes) -> ProbeResult {
    let open = mounts.iter().find(|mount| !mount.is_mount_read_only);
    open.map_or(ProbeResult::Denied, |mount| probes.poll(device, &mount.mount_point))
}
