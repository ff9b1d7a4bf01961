//! A node that is cut off from the network still runs its pod, which writes. It is turned off by its BMC before the pod
//! starts elsewhere, so that no moment has two writers, and it is given back when its cable is in again.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nodewell_cluster::{
    CLUSTER, Cluster, Plan,
    manifests::{DEAD_NODES, SHOP},
};
use nodewell_tests::{
    suite::{Need, Suite},
    wait::until_within,
};

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
    let cut_at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    assert!(worker.is_on(), "the machine runs on");
    until_within(FENCED, "the pod is ready elsewhere", || {
        cluster.api().ready_on(POD).filter(|node| node != NODE).map(drop)
    });
    assert!(worker.orders().iter().any(|order| order.contains("set power 0")), "{:?}", worker.orders());
    until_within(SOON, "the machine is on again", || worker.is_on().then_some(()));
    assert_ne!(worker.inside().leader(), boot, "it is another boot");

    let last_of_old: u64 = worker.inside().sh(&format!("tail -n 1 {WRITTEN}")).parse().unwrap();
    let first_of_new = cluster.must_kubectl(&["exec", POD, "--", "head", "-n", "1", "/data/index.html"]);
    let first_of_new: u64 = first_of_new.trim().parse().unwrap();
    assert!(last_of_old > cut_at, "the old one wrote on after it was cut off, at {last_of_old}");
    assert!(last_of_old <= first_of_new, "two writers: the old one at {last_of_old}, the new one at {first_of_new}");

    let node = cluster.api().node(NODE).unwrap();
    assert_eq!(node["spec"]["unschedulable"], true, "its cable is out: {node}");
    worker.join();
    cluster.api().wait_given_back(FENCED, NODE);
    cluster.api().wait_condition(SOON, NODE, "Ready", "True");
}
