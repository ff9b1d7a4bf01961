//! Where the kubelet of each distribution stores its kubeconfig.

use std::path::{Path, PathBuf};

/// In the order in which they are tried.
pub(crate) const KUBECONFIGS: [(&str, &str); 7] = [
    ("kubeadm", "etc/kubernetes/kubelet.conf"),
    // EKS, AKS, GKE, kOps, OpenShift.
    ("kubelet", "var/lib/kubelet/kubeconfig"),
    ("Bottlerocket", "etc/kubernetes/kubelet/kubeconfig"),
    ("k3s", "var/lib/rancher/k3s/agent/kubelet.kubeconfig"),
    ("RKE2", "var/lib/rancher/rke2/agent/kubelet.kubeconfig"),
    ("k0s", "var/lib/k0s/kubelet.conf"),
    ("MicroK8s", "var/snap/microk8s/current/credentials/kubelet.config"),
];

/// The files below `root` that may be the kubelet's kubeconfig; or only the one that was `named`.
#[must_use]
pub fn kubelet_kubeconfigs(root: &Path, named: Option<&Path>) -> Vec<PathBuf> {
    let known = || KUBECONFIGS.iter().map(|(_, path)| root.join(path)).collect();
    named.map_or_else(known, |path| vec![path.to_owned()])
}
