//! A BMC that reads Off of a machine that runs, such as another machine's: it is found out while the node is well. When
//! the node is cut off, nothing is ordered and no pod is released, for the old one writes on. Once the BMC is
//! corrected, the node is fenced.

use std::time::Duration;

use jiff::Timestamp;
use nodewell_cluster::{
    CLUSTER, Cluster, Plan,
    manifests::{DEAD_NODES, SHOP},
    shop::{POD, first_written, last_written, runs_the_pod},
    worker::Worker,
};
use nodewell_tests::{
    suite::{Need, Suite},
    wait::{lasts, until_within},
};

use crate::off_before_release::assert_off_before_release;

const SOON: Duration = Duration::from_secs(60);
/// A well node's BMC is asked twice at least, and its Lease renewed between.
const FOUND_OUT: Duration = Duration::from_secs(120);
/// Longer than a node that can be fenced waits for anything: its Lease is silent after 15 s, two readings take some.
const NOT_RELEASED: Duration = Duration::from_secs(120);
/// A BMC of a node that is not well is asked every half minute; then it is fenced.
const FENCED: Duration = Duration::from_secs(240);
const NODE: &str = "w2";

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("bmc_lies").case_with(
        &[Need::LongSuite, CLUSTER],
        "nothing_is_released_by_it_until_it_is_corrected",
        nothing_is_released_by_it_until_it_is_corrected,
    );
}

fn nothing_is_released_by_it_until_it_is_corrected() {
    let cluster = Cluster::start(Plan::default());
    let worker = cluster.worker(NODE).unwrap();
    worker.bmc_lies(true);
    cluster.install();
    [SHOP, DEAD_NODES].iter().for_each(|text| cluster.apply_text(text));
    until_within(SOON, "the pod is ready", || (cluster.api().ready_on(POD)? == NODE).then_some(()));
    until_within(FOUND_OUT, "its BMC is found out", || {
        let ready = cluster.api().condition_of(NODE, "FenceReady")?;
        (ready["status"] == "False" && ready["reason"] == "ReadsOff").then_some(())
    });
    for other in ["w1", "w3"] {
        cluster.api().wait_condition(SOON, other, "FenceReady", "True");
    }

    let pod = uid(&cluster);
    worker.cut();
    until_within(SOON, "its record names what it waits for", || is_blocked(&cluster).then_some(()));
    let cut_at = last_written(worker).unwrap();
    lasts(NOT_RELEASED, "nothing is released, nor ordered", || {
        uid(&cluster) == pod && !is_out_of_service(&cluster) && orders(worker).is_empty() && worker.is_on()
    });
    assert!(runs_the_pod(worker) && last_written(worker).unwrap() > cut_at, "the pod writes on");

    worker.bmc_lies(false);
    until_within(FENCED, "the pod is ready elsewhere", || {
        cluster.api().ready_on(POD).filter(|node| node != NODE).map(drop)
    });
    until_within(SOON, "the machine is on again", || worker.is_on().then_some(()));
    let ordered = orders(worker)[0];
    assert_off_before_release(&cluster, worker, ordered);
    let (last_of_old, first_of_new) = (last_written(worker).unwrap(), first_written(&cluster));
    assert!(last_of_old < first_of_new, "two writers: the old one at {last_of_old}, the new one at {first_of_new}");
    worker.join();
    cluster.api().wait_given_back(FENCED, NODE);
}

fn uid(cluster: &Cluster) -> Option<String> {
    let pod = cluster.api().get(&format!("/api/v1/namespaces/default/pods/{POD}"))?;
    pod["metadata"]["uid"].as_str().map(str::to_owned)
}

fn is_blocked(cluster: &Cluster) -> bool {
    let record = cluster.api().record(NODE).unwrap_or_default();
    let blocked = record["status"]["blockedBy"].as_array().cloned().unwrap_or_default();
    blocked.iter().any(|blocker| blocker["reason"] == "FenceNotReady")
}

fn is_out_of_service(cluster: &Cluster) -> bool {
    let node = cluster.api().node(NODE).unwrap_or_default();
    let taints = node["spec"]["taints"].as_array().cloned().unwrap_or_default();
    taints.iter().any(|taint| taint["key"] == "node.kubernetes.io/out-of-service")
}

/// When its BMC was ordered anything.
fn orders(worker: &Worker) -> Vec<Timestamp> {
    let orders = worker.orders();
    orders.iter().filter(|order| order.text.starts_with("set power")).map(|order| order.at).collect()
}
