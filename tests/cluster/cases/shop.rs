//! The pod of [`SHOP`](nodewell_cluster::manifests::SHOP), which writes ten times a second for how long the kernel has run: that
//! is one clock for all machines, and shows who wrote when.

use nodewell_cluster::{Cluster, worker::Worker};

pub(crate) const POD: &str = "shop-0";
/// Where its volume lies on its node.
const WRITTEN: &str = "/var/lib/kubelet/pods/*/volumes/kubernetes.io~empty-dir/data/index.html";

/// Its processes are known by their command line.
pub(crate) fn runs_the_pod(worker: &Worker) -> bool {
    worker.inside().run(["pgrep", "--full", "httpd -p 8080 -h /data"]).code == 0
}

/// What the pod that there is now has written first.
pub(crate) fn first_written(cluster: &Cluster) -> u64 {
    uptime(&cluster.must_kubectl(&["exec", POD, "--", "head", "-n", "1", "/data/index.html"]))
}

/// What a pod has written last to a volume of this machine, if it has one.
pub(crate) fn last_written(worker: &Worker) -> Option<u64> {
    let last = worker.inside().sh(&format!("cat {WRITTEN} 2>/dev/null | sort -n | tail -n 1"));
    (!last.is_empty()).then(|| uptime(&last))
}

/// For how many hundredths of a second the kernel had run: `7.25 …` is 725.
pub(crate) fn uptime(text: &str) -> u64 {
    text.split_whitespace().next().unwrap().replacen('.', "", 1).parse().unwrap()
}
