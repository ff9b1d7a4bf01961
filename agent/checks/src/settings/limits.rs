//! `[limits]`: from where on something is a problem, and from where on it is not any more.

use std::{path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};

/// Two levels, so that what wavers around one of them is reported once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Levels {
    /// At this or above it is a problem.
    pub high: u32,
    /// Below this it is over.
    pub low: u32,
}

/// `[limits]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LimitsSettings {
    pub enabled: bool,
    pub interval: Duration,
    /// For how long a level has to be high before it counts.
    pub for_duration: Duration,
    /// For how long it has to be low before it is over.
    pub keep_firing_for: Duration,
    /// Of the table's maximum.
    pub conntrack_percent: Levels,
    /// Packets that connection tracking threw away within ten minutes; over at half of it.
    pub conntrack_drops: u32,
    /// Of what the kernel opens at most.
    pub file_handles_percent: Levels,
    /// Of the PIDs, threads and tasks of a cgroup that there may be.
    pub tasks_percent: Levels,
    /// Of the last five minutes in which no task went on for want of memory (`full`).
    pub memory_pressure_percent: Levels,
    /// Of the last five minutes in which some task waited for a CPU (`some`).
    pub cpu_pressure_percent: Levels,
    /// Of the last five minutes in which no task went on for want of a disk (`full`).
    pub io_pressure_percent: Levels,
    /// Pages that go in each direction, in and out.
    pub swap_pages_per_second: Levels,
    /// Of one parent.
    pub zombies: Levels,
    pub blocked_tasks: Levels,
    /// Whether growth over a day is looked for.
    pub leaks: bool,
    /// Of one pod.
    pub oom_kills_per_hour: u32,
    /// PEM files, or kubeconfigs with a certificate in them. Those that are not there are none.
    pub certificates: Vec<PathBuf>,
    /// A certificate of a year or more is reported so long before its end.
    pub certificate_days: u32,
}

const MINUTE: Duration = Duration::from_secs(60);

/// Where kubelets and control planes store what expires. The kubelet's own self-signed `kubelet.crt` is none of them:
/// no client checks it.
const CERTIFICATES: [&str; 15] = [
    "/var/lib/kubelet/pki/kubelet-client-current.pem",
    "/var/lib/kubelet/pki/kubelet-server-current.pem",
    "/etc/kubernetes/kubelet.conf",
    "/etc/kubernetes/admin.conf",
    "/etc/kubernetes/controller-manager.conf",
    "/etc/kubernetes/scheduler.conf",
    "/etc/kubernetes/pki/apiserver.crt",
    "/etc/kubernetes/pki/apiserver-etcd-client.crt",
    "/etc/kubernetes/pki/apiserver-kubelet-client.crt",
    "/etc/kubernetes/pki/front-proxy-client.crt",
    "/etc/kubernetes/pki/etcd/server.crt",
    "/etc/kubernetes/pki/etcd/peer.crt",
    "/etc/kubernetes/pki/ca.crt",
    "/var/lib/rancher/k3s/agent/client-kubelet.crt",
    "/var/lib/rancher/rke2/agent/client-kubelet.crt",
];

impl Levels {
    #[must_use]
    pub const fn new(high: u32, low: u32) -> Self {
        Self { high, low }
    }
}

impl Default for LimitsSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            interval: MINUTE,
            for_duration: 2 * MINUTE,
            keep_firing_for: 5 * MINUTE,
            conntrack_percent: Levels::new(90, 80),
            conntrack_drops: 1000,
            file_handles_percent: Levels::new(90, 80),
            tasks_percent: Levels::new(90, 80),
            memory_pressure_percent: Levels::new(20, 10),
            cpu_pressure_percent: Levels::new(95, 80),
            io_pressure_percent: Levels::new(60, 40),
            swap_pages_per_second: Levels::new(2000, 500),
            zombies: Levels::new(100, 50),
            blocked_tasks: Levels::new(10, 5),
            leaks: true,
            oom_kills_per_hour: 5,
            certificates: CERTIFICATES.iter().map(PathBuf::from).collect(),
            certificate_days: 30,
        }
    }
}
