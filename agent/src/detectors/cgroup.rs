//! Which unit or container a process belongs to: read from its cgroup, because any process can choose its own name.

use std::{io, path::Path};

/// Units that a node needs to run pods: container runtimes, kubelets in all their wrappings, and systemd's own.
const PLUMBING_UNITS: &[&str] = &[
    "containerd.service",
    "cri-docker.service",
    "cri-dockerd.service",
    "crio.service",
    "docker.service",
    "k0scontroller.service",
    "k0sworker.service",
    "k3s-agent.service",
    "k3s.service",
    "kube-proxy.service",
    "kubelet.service",
    "rke2-agent.service",
    "rke2-server.service",
    "snap.microk8s.daemon-containerd.service",
    "snap.microk8s.daemon-kubelite.service",
];

/// Whether the process belongs to the node's own plumbing. A process that is gone belongs to no unit.
pub fn is_node_plumbing(proc_root: &Path, pid: u32) -> io::Result<bool> {
    match std::fs::read_to_string(proc_root.join(pid.to_string()).join("cgroup")) {
        Ok(text) => Ok(is_plumbing(&text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        // A process that exits between open and read answers ESRCH.
        Err(error) if error.raw_os_error() == Some(nix::errno::Errno::ESRCH as i32) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether this text of `/proc/PID/cgroup` is that of a process of the node's own plumbing.
pub(crate) fn is_plumbing(text: &str) -> bool {
    text.lines().filter_map(path_of).any(is_plumbing_path)
}

/// The path of a line such as `0::/system.slice/kubelet.service` (cgroups(7)); it may hold colons itself.
fn path_of(line: &str) -> Option<&str> {
    line.splitn(3, ':').nth(2)
}

/// The first component below the slices decides: a delegated sub-cgroup must not choose its own name.
fn is_plumbing_path(path: &str) -> bool {
    let mut below_slices = path.split('/').filter(|part| !part.is_empty()).skip_while(|part| part.ends_with(".slice"));
    let in_pods = path.split('/').any(|part| part.starts_with("kubepods"));
    match below_slices.next() {
        Some(_) if in_pods => false,
        Some("init.scope") => true,
        Some(unit) => PLUMBING_UNITS.contains(&unit) || (unit.starts_with("systemd-") && unit.ends_with(".service")),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_below_the_slices_decides() {
        for (path, plumbing) in [
            ("/system.slice/containerd.service", true),
            ("/system.slice/containerd.service/kubepods-burstable-pod1.slice:cri-containerd:abc", false),
            ("/runtime.slice/kubelet.service", true),
            ("/init.scope", true),
            ("/system.slice/systemd-journald.service", true),
            ("/system.slice/postgresql.service", false),
            ("/system.slice/evil.service/kubelet.service", false),
            ("/kubepods.slice/kubepods-pod1.slice/cri-containerd-abc.scope", false),
            ("/kubepods/besteffort/pod1/kubelet.service", false),
            ("/user.slice/user-1000.slice/session-1.scope", false),
            ("/", false),
        ] {
            assert_eq!(is_plumbing_path(path), plumbing, "{path}");
        }
    }

    #[test]
    fn a_process_is_looked_up_and_a_gone_one_has_no_owner() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("7")).unwrap();
        std::fs::write(root.path().join("7/cgroup"), "1:name=systemd:/x\n0::/system.slice/docker.service\n").unwrap();
        assert!(is_node_plumbing(root.path(), 7).unwrap());
        assert!(!is_node_plumbing(root.path(), 8).unwrap());
    }
}
