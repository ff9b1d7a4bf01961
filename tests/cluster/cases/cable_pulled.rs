//! A node that is cut off from the network still runs its pod, which writes. It is turned off by its BMC before the pod
//! starts elsewhere, so that no moment has two writers, and it is given back when its cable is in again.

use std::{fs, time::Duration};

use jiff::Timestamp;
use nodewell_cluster::{
    CLUSTER, Cluster, Plan,
    manifests::{DEAD_NODES, SHOP},
    shop::{POD, first_written, last_written, runs_the_pod, uptime},
    worker::Worker,
};
use nodewell_tests::{
    suite::{Need, Suite},
    wait::{lasts, until_within},
};

use crate::off_before_release::assert_off_before_release;

const SOON: Duration = Duration::from_secs(60);
/// Two hosts do not reach it, its BMC is ordered, Off is read twice.
const FENCED: Duration = Duration::from_secs(150);
const NODE: &str = "w2";
/// A node that is well for so long is given back: `healthyDelay` of the policy.
const HEALTHY_DELAY: Duration = Duration::from_secs(5);

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
    assert!(runs_the_pod(worker), "its processes are known by their command line");

    worker.cut();
    let cut_at = uptime(&fs::read_to_string("/proc/uptime").unwrap()).unwrap();
    until_within(FENCED, "the pod is ready elsewhere", || {
        cluster.api().ready_on(POD).filter(|node| node != NODE).map(drop)
    });
    until_within(SOON, "the machine is on again", || worker.is_on().then_some(()));
    assert_ne!(worker.inside().leader(), boot, "it is another boot");
    assert_off_before_release(&cluster, worker, ordered_off(worker));

    // The new boot's kubelet, which hears nothing from the API server, starts what it is to start.
    until_within(FENCED, "its kubelet runs", || is_kubelet_up(worker).then_some(()));
    let last_of_old = last_written(worker).unwrap();
    let first_of_new = first_written(&cluster);
    assert!(last_of_old > cut_at, "the old one wrote on after it was cut off, at {last_of_old}");
    assert!(last_of_old < first_of_new, "two writers: the old one at {last_of_old}, the new one at {first_of_new}");

    until_within(SOON, "the record waits for the node", || waits_for_node(&cluster).then_some(()));
    lasts(2 * HEALTHY_DELAY, "its cable is out: it is cordoned, awaited, and nothing writes there", || {
        waits_for_node(&cluster) && cluster.api().is_cordoned(NODE) && last_written(worker) == Some(last_of_old)
    });
    worker.join();
    cluster.api().wait_given_back(FENCED, NODE);
    cluster.api().wait_condition(SOON, NODE, "Ready", "True");
    // Its kubelet may have removed the old volume by now.
    assert!(last_written(worker).is_none_or(|last| last == last_of_old), "a second writer, after it was given back");
    assert!(!runs_the_pod(worker), "a second pod, after it was given back");
}

fn is_kubelet_up(worker: &Worker) -> bool {
    worker.inside().run(["curl", "--silent", "--fail", "http://127.0.0.1:10248/healthz"]).code == 0
}

fn waits_for_node(cluster: &Cluster) -> bool {
    cluster.api().record(NODE).is_some_and(|record| record["status"]["phase"] == "AwaitReady")
}

/// When its BMC was ordered to turn it off.
pub(crate) fn ordered_off(worker: &Worker) -> Timestamp {
    let orders = worker.orders();
    let off = orders.iter().find(|order| order.text == "set power 0");
    off.unwrap_or_else(|| panic!("its BMC was not ordered to turn it off: {orders:?}")).at
}
