//! A real small Kubernetes cluster on one machine: a control plane of real programs, workers that are booted machines
//! with containerd and a kubelet, a switch whose ports can be pulled, a BMC for each worker whose power is the
//! machine's. All of it ends when it is dropped, and with the process that started it, however that ends.

#![allow(clippy::unwrap_used)]

pub mod api;
pub mod attacher;
pub mod cluster;
pub mod control_plane;
pub mod controller_host;
pub mod identity;
pub mod images;
pub mod network;
pub mod off_before_release;
mod room;
pub mod shop;
pub mod soak;
pub mod volumes;
pub mod worker;

use std::path::{Path, PathBuf};

use nodewell_tests::{
    machine::{self, Release, Tree},
    real,
    suite::Need,
};

pub use cluster::{Cluster, Plan, step};

/// What a cluster is shown with.
pub mod manifests {
    /// Dead nodes are fenced.
    pub const DEAD_NODES: &str = include_str!("../files/policies/dead-nodes.yaml");
    /// Nodes whose filesystems were cut off are drained.
    pub const READONLY_FILESYSTEMS: &str = include_str!("../files/policies/readonly-filesystems.yaml");
    /// A StatefulSet with one pod, `ledger-0`, and its attached volume, `ledger`.
    pub const LEDGER: &str = include_str!("../files/ledger.yaml");
    /// A StatefulSet with one pod, `shop-0`.
    pub const SHOP: &str = include_str!("../files/shop.yaml");
    /// A Deployment with a pod for each of three nodes.
    pub const TAIL: &str = include_str!("../files/tail.yaml");
}

/// A machine that can run a cluster.
pub const CLUSTER: Need = Need::Other(unmet);

/// A kubelet of an older version than the others' programs, in this variable; asked after [`CLUSTER`].
pub const OLDER_KUBELET: Need = Need::Other(|| older_kubelet().err());
const NAMES_OLDER_KUBELET: &str = "NODEWELL_OLDER_KUBELET";

/// What stands before two API servers; asked after [`CLUSTER`].
pub const BALANCER: Need = Need::Other(|| {
    let program = control_plane::balancer::PROGRAM;
    (!Path::new(program).exists()).then(|| format!("needs {program} (Debian's haproxy)"))
});

/// What a virtual worker takes beside a guest's; asked after [`CLUSTER`].
pub const VIRTUAL_WORKER: Need = Need::Other(|| {
    let needed = [("/dev/net/tun", "the kernel's module tun"), ("/sbin/mke2fs", "Debian's e2fsprogs")];
    let missing = needed.into_iter().find(|(path, _)| !Path::new(path).exists());
    missing.map(|(path, source)| format!("needs {path} ({source})"))
});

/// Where it lies.
fn older_kubelet() -> Result<PathBuf, String> {
    let named = std::env::var_os(NAMES_OLDER_KUBELET).map(PathBuf::from);
    let named =
        named.ok_or_else(|| format!("needs a kubelet of an older version: name it in {NAMES_OLDER_KUBELET}"))?;
    if named.is_file() { Ok(named) } else { Err(format!("{NAMES_OLDER_KUBELET}: there is no {}", named.display())) }
}

/// What all machines of a cluster boot from: workers and control-plane hosts differ in what is started.
pub const TREE: Tree = Tree::with(
    "cluster",
    Release::Bookworm,
    "kmod,procps,iproute2,iptables,conntrack,ethtool,socat,mount,e2fsprogs,iputils-ping,containerd,runc,\
     containernetworking-plugins,busybox-static,fence-agents,ipmitool",
);

/// The programs of Kubernetes that a cluster is made of.
const PROGRAMS: [&str; 6] =
    ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kubectl"];

/// How many clusters run well beside each other here.
#[must_use]
pub fn at_once() -> usize {
    room::at_once()
}

/// Why this machine cannot run a cluster, if it cannot.
#[must_use]
pub fn unmet() -> Option<String> {
    let missing = || PROGRAMS.into_iter().find_map(|name| real::present(name).err());
    let room = || missing().or_else(network::unmet).or_else(nodewell_bmc::missing).or_else(room::unmet);
    room().or_else(machine::controllers_unmet).or_else(|| machine::unmet(TREE))
}
