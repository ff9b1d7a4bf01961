//! What all measures share: how long they may take, the kernel log and the API server.

use nodewell_tests::{
    agent::Plan,
    cluster::{Cluster, Identity},
    real,
};

use crate::kernel_log::KernelLog;

pub(crate) struct Setting {
    pub(crate) quick: bool,
    pub(crate) log: KernelLog,
    /// The real server, or why there is none.
    pub(crate) cluster: Result<Cluster, String>,
}

impl Setting {
    pub(crate) fn new(quick: bool) -> Self {
        let cluster = real::version().map(|_| Cluster::shared_real());
        Self { quick, log: KernelLog::here(), cluster }
    }

    /// `usual`, or less for a quick look.
    pub(crate) fn times(&self, usual: usize, quick: usize) -> usize {
        if self.quick { quick } else { usual }
    }
}

/// A plan for a new Node of `cluster` under the identity that its kubelet would have.
pub(crate) fn joined(cluster: &Cluster, node: &str) -> Plan {
    cluster.create_node(node);
    let plan = Plan::new(node);
    let kubeconfig = cluster.write_kubeconfig(&Identity::Node(node.to_owned()), plan.folder());
    plan.kubeconfig(kubeconfig)
}
