//! What `/proc/PID` shows of a process: one reading, from which an identity is judged. Every reader takes the root.

use std::{num::NonZeroU32, path::Path};

use nodewell_checks::cgroup;
use nodewell_sys::proc::{self, Status, content};

/// One reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProcessReading {
    pub(super) cgroup: String,
    /// Real, effective, saved and file system user of now.
    pub(super) uids: [u32; 4],
    /// Numbers of the process in nested pid namespaces, the reader's own included.
    pub(super) pid_namespaces: usize,
    pub(super) stat: Stat,
}

/// The part of `/proc/PID/stat` that we need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stat {
    /// In ticks since boot.
    pub(super) start_ticks: u64,
    /// On cgroup v1 the kernel shows an exiting thread in the root cgroup, wherever it was (`proc_cgroup_show`). A
    /// process goes on while its other threads do, so without this a container's process could leave its container.
    pub(super) is_exiting: bool,
}

impl ProcessReading {
    /// `None` if the process is gone or any of it cannot be read: then nothing is known of it.
    pub(super) fn of(proc_root: &Path, pid: NonZeroU32) -> Option<Self> {
        let folder = proc_root.join(pid.to_string());
        let cgroup = cgroup::read(&folder).ok()??;
        let status = content(&folder.join("status")).ok()??;
        let status = Status::of(&status);
        // After the cgroup: a thread that is not exiting now was not then.
        let stat = Stat::of(proc_root, pid)?;
        Some(Self { cgroup, uids: status.uids()?, pid_namespaces: status.pid_namespaces()?, stat })
    }
}

impl Stat {
    pub(super) fn of(proc_root: &Path, pid: NonZeroU32) -> Option<Self> {
        let line = content(&proc_root.join(pid.to_string()).join("stat")).ok()??;
        let stat = proc::Stat::parse(&line)?;
        Some(Self { start_ticks: stat.started, is_exiting: stat.is_exiting() })
    }
}

/// The agent's own cgroups.
pub(super) fn own_cgroup(proc_root: &Path) -> Option<String> {
    cgroup::read(&proc_root.join("self")).ok().flatten()
}

/// Whether this procfs shows our own pid namespace, so that the kernel's numbers are found in it.
pub(super) fn is_our_namespace(proc_root: &Path) -> bool {
    let shown = std::fs::read_link(proc_root.join("self"));
    shown.is_ok_and(|pid| pid.as_os_str() == std::process::id().to_string().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_process_is_read() {
        let us = NonZeroU32::new(std::process::id()).unwrap();
        let reading = ProcessReading::of(Path::new("/proc"), us).unwrap();
        assert_eq!(reading.uids[1], nix::unistd::geteuid().as_raw());
        assert_eq!(reading.pid_namespaces, 1);
        assert!(!reading.stat.is_exiting && reading.stat.start_ticks > 0);
        assert_eq!(Some(reading.cgroup), own_cgroup(Path::new("/proc")));
        assert!(is_our_namespace(Path::new("/proc")));
    }
}
