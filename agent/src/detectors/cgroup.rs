//! Whether a process belongs to the node's own plumbing: its cgroup, looked up.

use std::{io, path::Path};

use nodewell_checks::cgroup::Cgroups;

/// Whether the process belongs to the node's own plumbing. A process that is gone belongs to no unit.
pub fn is_node_plumbing(proc_root: &Path, pid: u32) -> io::Result<bool> {
    match std::fs::read_to_string(proc_root.join(pid.to_string()).join("cgroup")) {
        Ok(text) => Ok(Cgroups::parse(&text).is_node_plumbing()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        // A process that exits between open and read answers ESRCH.
        Err(error) if error.raw_os_error() == Some(nix::errno::Errno::ESRCH as i32) => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_looked_up_and_a_gone_one_has_no_owner() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("7")).unwrap();
        std::fs::write(root.path().join("7/cgroup"), "1:name=systemd:/x\n0::/system.slice/docker.service\n").unwrap();
        assert!(is_node_plumbing(root.path(), 7).unwrap());
        assert!(!is_node_plumbing(root.path(), 8).unwrap());
    }
}
