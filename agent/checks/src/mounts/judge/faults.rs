//! The faults of filesystems. Those that rules of the kernel log report as well have the rules' reasons, severities and
//! actions (agent/rules/shipped/filesystem.toml).

use std::io;

use nix::errno::Errno;
use nodewell_hardware::Fault;
use nodewell_model::{Action, Name, Severity};

use crate::mounts::{kind::FilesystemKind, reading::Row};

/// It is not writable, and should be.
pub(super) fn read_only(row: &Row) -> Fault {
    let why = if row.is_cut_off { "the kernel has cut it off" } else { "its filesystem has turned read-only" };
    of_rule("FilesystemIsReadOnly", Severity::Critical, format!("{}: {why}", row.point))
}

/// It has counted errors; `None` for a filesystem that does not count.
pub(super) fn errors(row: &Row) -> Option<Fault> {
    let reason = if row.filesystem == "btrfs" { "BtrfsError" } else { "Ext4Error" };
    let count = row.errors?;
    Some(of_rule(reason, Severity::Error, format!("{}: it has counted further errors, {count} by now", row.point)))
}

pub(super) fn shut_down(row: &Row) -> Fault {
    of_rule("XfsHasShutdown", Severity::Critical, format!("{}: everything that is asked of it fails", row.point))
}

/// No answer at all.
pub(super) fn silent(row: &Row, how: &str) -> Fault {
    Fault::new("MountNotAnswering", format!("{} ({}): {how}", row.source, row.filesystem))
}

/// An answer that means that nothing can be had; `None` for one that shows nothing of its state.
pub(super) fn unusable(row: &Row, code: i32) -> Option<Fault> {
    let error = Errno::from_raw(code);
    let is_grave = matches!(
        error,
        Errno::ESTALE
            | Errno::ENOTCONN
            | Errno::EIO
            | Errno::EHOSTDOWN
            | Errno::EHOSTUNREACH
            | Errno::ETIMEDOUT
            | Errno::ECONNABORTED
            | Errno::ECONNREFUSED
            | Errno::EREMOTEIO
            | Errno::ENODEV
            | Errno::ENXIO
            | Errno::ESHUTDOWN
    );
    // An XFS that has shut down is reported by that name.
    let is_reported = row.kind == FilesystemKind::Disk && row.filesystem == "xfs" && error == Errno::EIO;
    let words = io::Error::from_raw_os_error(code);
    let message = || format!("{} ({}): {words}", row.source, row.filesystem);
    (is_grave && !is_reported).then(|| Fault::new("MountUnusable", message()))
}

/// For all filesystems of an NFS server at once.
pub(super) fn server_silent(points: usize, how: &str) -> Fault {
    let message = format!("{how}; {points} filesystem(s) of it are mounted here");
    Fault { action: Some(Action::CheckCabling), ..of_rule("NfsServerNotResponding", Severity::Error, message) }
}

fn of_rule(reason: &'static str, severity: Severity, message: String) -> Fault {
    Fault { reason: Name::fixed(reason), severity, action: Some(Action::CheckFilesystem), message, since: None }
}
