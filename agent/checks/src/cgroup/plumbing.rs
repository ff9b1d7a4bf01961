//! Which units are the node's own plumbing: what it needs to run pods.

/// Container runtimes, kubelets in all their wrappings, and systemd itself. It escapes none of these names: a cgroup
/// that has its mark before one of them is another.
const UNITS: &[&str] = &[
    "containerd.service",
    "cri-docker.service",
    "cri-dockerd.service",
    "crio.service",
    "docker.service",
    "init.scope",
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

/// Whether it is such a unit, or one of systemd's own.
pub(super) fn is_unit(unit: &str) -> bool {
    UNITS.contains(&unit) || (unit.starts_with("systemd-") && unit.ends_with(".service"))
}
