//! The API server is away for longer than any Lease lasts. When it is back, all nodes have been silent: none of them
//! is cordoned or loses its power for that, what the kernel reported meanwhile is on its Node, and a node that dies
//! then is fenced.

use std::{thread, time::Duration};

use jiff::Timestamp;
use nodewell_cluster::{
    CLUSTER, Cluster, Plan,
    manifests::{DEAD_NODES, SHOP},
    shop::POD,
    worker::Report,
};
use nodewell_tests::{
    suite::{Need, Suite},
    wait::{lasts, until_within},
};

use crate::off_before_release::assert_off_before_release;

const SOON: Duration = Duration::from_secs(60);
const FENCED: Duration = Duration::from_secs(150);
/// A node is not Ready after 40 s without a Lease, and silent after 15.
const AWAY: Duration = Duration::from_secs(100);
/// Everything that follows from what was missed has happened by then.
const SETTLED: Duration = Duration::from_secs(90);

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("api_server_away").case_with(
        &[Need::LongSuite, CLUSTER, Need::KernelLog, Need::LoopDevice],
        "costs_no_node_its_power",
        costs_no_node_its_power,
    );
}

fn costs_no_node_its_power() {
    let mut cluster = Cluster::start(Plan { kernel_log: Some(1), ..Plan::default() });
    cluster.install();
    [SHOP, DEAD_NODES].iter().for_each(|text| cluster.apply_text(text));
    cluster.wait_until_fences_are_ready();
    until_within(SOON, "the pod is ready", || (cluster.api().ready_on(POD)? == "w2").then_some(()));
    cluster.api().wait_condition(SOON, "w1", "KernelDeadlock", "False");

    cluster.stop_api_server();
    faulty_meanwhile(&cluster);
    thread::sleep(AWAY);
    cluster.start_api_server();
    let pod = uid(&cluster);
    lasts(SETTLED, "no node is cordoned, no power ordered and no pod released", || {
        cordoned(&cluster).is_empty() && orders(&cluster) == 0 && uid(&cluster) == pod
    });
    for worker in cluster.workers() {
        cluster.api().wait_condition(SOON, worker.name(), "Ready", "True");
        cluster.api().wait_given_back(SOON, worker.name());
    }
    cluster.api().wait_condition(SOON, "w1", "ReadonlyFilesystem", "True");

    let worker = cluster.worker("w2").unwrap();
    worker.off();
    let off_since = Timestamp::now();
    until_within(FENCED, "the pod is ready elsewhere", || {
        cluster.api().ready_on(POD).filter(|node| node != "w2").map(drop)
    });
    until_within(SOON, "its BMC turns it on again", || {
        worker.orders().iter().any(|order| order.text == "set power 1").then_some(())
    });
    assert_off_before_release(&cluster, worker, off_since);
    cluster.api().wait_given_back(FENCED, "w2");
}

/// A disk of w1 fails; its agent knows it at once.
fn faulty_meanwhile(cluster: &Cluster) {
    let disk = cluster.worker("w1").unwrap().ext4();
    disk.mount("/srv");
    disk.fail();
    until_within(SOON, "the agent knows of the fault", || {
        (disk.report("ReadonlyFilesystem")? == Report::Fault).then_some(())
    });
}

fn cordoned(cluster: &Cluster) -> Vec<&str> {
    cluster.workers().iter().map(|worker| worker.name()).filter(|name| cluster.api().is_cordoned(name)).collect()
}

fn uid(cluster: &Cluster) -> Option<String> {
    let pod = cluster.api().get(&format!("/api/v1/namespaces/default/pods/{POD}"))?;
    pod["metadata"]["uid"].as_str().map(str::to_owned)
}

/// How often a BMC was ordered anything.
fn orders(cluster: &Cluster) -> usize {
    let orders = cluster.workers().iter().flat_map(|worker| worker.orders());
    orders.filter(|order| order.text.starts_with("set power")).count()
}
