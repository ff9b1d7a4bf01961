//! The faults of filesystems. Those that rules of the kernel log report as well have the rules' reasons, severities and
//! actions (agent/rules/shipped/filesystem.toml).

use std::io;

use crate::probe::Fault;
use nix::errno::Errno;
use nodewell_message::MessageArgs;
use nodewell_model::{Action, Severity};

use crate::mounts::{kind::FilesystemKind, reading::Row};

/// It is not writable, and should be.
pub(super) fn read_only(row: &Row) -> Fault {
    let key = if row.is_cut_off { "FilesystemIsReadOnly/shutdown" } else { "FilesystemIsReadOnly" };
    of_rule(key, Severity::Critical, &[("mount", &row.point)])
}

/// It has counted errors; `None` for a filesystem that does not count.
pub(super) fn errors(row: &Row) -> Option<Fault> {
    let reason = if row.filesystem == "btrfs" { "BtrfsError" } else { "Ext4Error" };
    let count = row.errors?;
    Some(of_rule(reason, Severity::Error, &[("mount", &row.point), ("count", &count)]))
}

pub(super) fn shut_down(row: &Row) -> Fault {
    of_rule("XfsHasShutdown", Severity::Critical, &[("mount", &row.point)])
}

/// No answer at all.
pub(super) fn silent(row: &Row, how: &str) -> Fault {
    let args: MessageArgs<'_> = &[("source", &row.source), ("type", &row.filesystem), ("error", &how)];
    Fault::of("MountNotAnswering", args)
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
    let error = io::Error::from_raw_os_error(code);
    let args: MessageArgs<'_> = &[("source", &row.source), ("type", &row.filesystem), ("error", &error)];
    (is_grave && !is_reported).then(|| Fault::of("MountUnusable", args))
}

/// For all filesystems of an NFS server at once.
pub(super) fn server_silent(points: usize, how: &str) -> Fault {
    let args: MessageArgs<'_> = &[("error", &how), ("mounts", &points)];
    Fault::of_rule("NfsServerNotResponding", Severity::Error, Action::CheckCabling, args)
}

fn of_rule(key: &'static str, severity: Severity, args: MessageArgs<'_>) -> Fault {
    Fault::of_rule(key, severity, Action::CheckFilesystem, args)
}
