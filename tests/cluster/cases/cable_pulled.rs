//! A node that is cut off from the network still runs its pod, which writes. It is turned off by its BMC before the pod
//! starts elsewhere, so that no moment has two writers, and it is given back when its cable is in again.

use std::{fs, time::Duration};

use jiff::Timestamp;
use nodewell_cluster::{
    CLUSTER, Cluster, Plan,
    manifests::{DEAD_NODES, SHOP},
    worker::Worker,
};
use nodewell_tests::{
    suite::{Need, Suite},
    wait::until_within,
};

use crate::off_before_release::assert_off_before_release;

const SOON: Duration = Duration::from_secs(60);
/// Two hosts do not reach it, its BMC is ordered, Off is read twice.
const FENCED: Duration = Duration::from_secs(150);
const POD: &str = "shop-0";
const NODE: &str = "w2";
/// Where a pod's volume lies on its node.
const WRITTEN: &str = "/var/lib/kubelet/pods/*/volumes/kubernetes.io~empty-dir/data/index.html";

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("cable_pulled").case_with(
        &[Need::LongSuite, CLUSTER],
        "the_old_pod_is_dead_before_the_new_one_writes",
        the_old_pod_is_dead_before_the_new_one_writes,
    );
}

fn the_old_pod_is_dead_before_the_new_one_writes() {
    let cluster = Cluster::start(Plan::default());
    cluster.install();
    [SHOP, DEAD_NODES].iter().for_each(|text| cluster.apply_text(text));
    cluster.wait_until_fences_are_ready();
    until_within(SOON, "the pod is ready", || (cluster.api().ready_on(POD)? == NODE).then_some(()));
    let worker = cluster.worker(NODE).unwrap();
    let boot = worker.inside().leader();

    worker.cut();
    let cut_at = uptime(&fs::read_to_string("/proc/uptime").unwrap());
    until_within(FENCED, "the pod is ready elsewhere", || {
        cluster.api().ready_on(POD).filter(|node| node != NODE).map(drop)
    });
    until_within(SOON, "the machine is on again", || worker.is_on().then_some(()));
    assert_ne!(worker.inside().leader(), boot, "it is another boot");
    assert_off_before_release(&cluster, worker, ordered_off(worker));

    let last_of_old = last_written(worker).unwrap();
    let first_of_new = uptime(&cluster.must_kubectl(&["exec", POD, "--", "head", "-n", "1", "/data/index.html"]));
    assert!(last_of_old > cut_at, "the old one wrote on after it was cut off, at {last_of_old}");
    assert!(last_of_old < first_of_new, "two writers: the old one at {last_of_old}, the new one at {first_of_new}");

    let node = cluster.api().node(NODE).unwrap();
    assert_eq!(node["spec"]["unschedulable"], true, "its cable is out: {node}");
    worker.join();
    cluster.api().wait_given_back(FENCED, NODE);
    cluster.api().wait_condition(SOON, NODE, "Ready", "True");
}

fn ordered_off(worker: &Worker) -> Timestamp {
    let orders = worker.orders();
    let off = orders.iter().find(|order| order.text == "set power 0");
    off.unwrap_or_else(|| panic!("its BMC was not ordered to turn it off: {orders:?}")).at
}

/// What a pod has written last to a volume of this machine, if it has one.
fn last_written(worker: &Worker) -> Option<u64> {
    let last = worker.inside().sh(&format!("cat {WRITTEN} 2>/dev/null | sort -n | tail -n 1"));
    (!last.is_empty()).then(|| uptime(&last))
}

/// For how many hundredths of a second the kernel had run: `7.25 …` is 725.
fn uptime(text: &str) -> u64 {
    text.split_whitespace().next().unwrap().replacen('.', "", 1).parse().unwrap()
}
