//! Whether a process belongs to the node's own plumbing: its cgroup, looked up.

use std::{io, path::Path};

use nodewell_checks::cgroup::{self, Cgroups};

/// Whether the process belongs to the node's own plumbing. A process that is gone belongs to no unit.
pub fn is_node_plumbing(proc_root: &Path, pid: u32) -> io::Result<bool> {
    let text = cgroup::read(&proc_root.join(pid.to_string()))?;
    Ok(text.is_some_and(|text| Cgroups::parse(&text).is_node_plumbing()))
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

    #[test]
    fn a_process_with_bytes_in_its_cgroup_that_are_no_text_is_none_of_the_nodes() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("7")).unwrap();
        std::fs::write(root.path().join("7/cgroup"), b"0::/system.slice/docker.service/\xff\n").unwrap();
        assert!(!is_node_plumbing(root.path(), 7).unwrap());
    }
}
