//! Which units are the node's own plumbing.

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

/// Whether this text of `/proc/PID/cgroup` is that of a process of the node's own plumbing.
pub(super) fn is_plumbing(text: &str) -> bool {
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
