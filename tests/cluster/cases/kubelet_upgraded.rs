//! Kubelets that are older than the API server by as many versions as Kubernetes allows, and their upgrade: what the
//! agents report goes on, a node with the older one is fenced as any other, and the upgrade costs no node anything.

use std::{thread, time::Duration};

use jiff::Timestamp;
use nodewell_cluster::{
    CLUSTER, Cluster, OLDER_KUBELET, Plan,
    manifests::{DEAD_NODES, SHOP},
    shop::POD,
    step,
    worker::Worker,
};
use nodewell_tests::{
    suite::{Need, Suite},
    wait::until_within,
};
use serde_json::Value;

use crate::{off_before_release::assert_off_before_release, untouched::Untouched};

const SOON: Duration = Duration::from_secs(60);
const FENCED: Duration = Duration::from_secs(150);
/// A node that was taken for silent would be cordoned by then.
const SETTLED: Duration = Duration::from_secs(45);
const NODE: &str = "w2";
/// What the agents report when it begins stands at the end.
const REPORT: &str = "nodewell report --source case --condition FilesystemFull=true --reason FilesystemIsFull \
                      --subject /case --message 'full for this case' --ttl 1h";

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("kubelet_upgraded").case_with(
        &[Need::LongSuite, CLUSTER, OLDER_KUBELET],
        "older_ones_are_served_and_upgraded_for_nothing",
        older_ones_are_served_and_upgraded_for_nothing,
    );
}

fn older_ones_are_served_and_upgraded_for_nothing() {
    let cluster = Cluster::start(Plan { older_kubelets: true, ..Plan::default() });
    let older = versions(&cluster);
    eprintln!("kubelets: {}", older.join(", "));
    cluster.install();
    [SHOP, DEAD_NODES].iter().for_each(|text| cluster.apply_text(text));
    cluster.wait_until_fences_are_ready();
    until_within(SOON, "the pod is ready", || (cluster.api().ready_on(POD)? == NODE).then_some(()));
    for worker in cluster.workers() {
        let reported = worker.inside().as_unit("case", &[], REPORT);
        assert_eq!(reported.code, 0, "{reported:?}");
        cluster.api().wait_condition(SOON, worker.name(), "FilesystemFull", "True");
    }
    step("a node with the older kubelet is fenced", || is_fenced(&cluster));
    // Its own report ended with its power.
    let standing: Vec<&Worker> = cluster.workers().iter().filter(|worker| worker.name() != NODE).collect();
    let since: Vec<Value> = standing.iter().map(|worker| full(&cluster, worker)).collect();
    step("the kubelets are upgraded, one after the other", || upgrade(&cluster));
    for (version, older) in versions(&cluster).iter().zip(&older) {
        assert_ne!(version, older);
    }
    for (worker, since) in standing.iter().zip(since) {
        assert_eq!(full(&cluster, worker), since, "{}: it is the same problem all the time", worker.name());
    }
}

fn is_fenced(cluster: &Cluster) {
    let worker = cluster.worker(NODE).unwrap();
    worker.off();
    let off_since = Timestamp::now();
    until_within(FENCED, "the pod is ready elsewhere", || {
        cluster.api().ready_on(POD).filter(|node| node != NODE).map(drop)
    });
    until_within(SOON, "its BMC turns it on again", || {
        worker.orders().iter().any(|order| order.text == "set power 1").then_some(())
    });
    assert_off_before_release(cluster, worker, off_since);
    cluster.api().wait_condition(FENCED, NODE, "Ready", "True");
    cluster.api().wait_given_back(FENCED, NODE);
    until_within(SOON, "its record is closed", || cluster.api().record(NODE).is_none().then_some(()));
}

fn upgrade(cluster: &Cluster) {
    let untouched = Untouched::of(cluster, |_| true);
    for worker in cluster.workers() {
        let older = version(cluster, worker);
        worker.upgrade_kubelet();
        until_within(SOON, &format!("{} has another kubelet", worker.name()), || {
            (version(cluster, worker) != older).then_some(())
        });
        thread::sleep(SETTLED / 3);
        cluster.api().wait_condition(SOON, worker.name(), "Ready", "True");
    }
    thread::sleep(SETTLED);
    untouched.end();
}

/// Since when its filesystem is full, and by which words.
fn full(cluster: &Cluster, worker: &Worker) -> Value {
    let mut condition = cluster.api().condition_of(worker.name(), "FilesystemFull").unwrap();
    condition.as_object_mut().unwrap().remove("lastHeartbeatTime");
    condition
}

fn versions(cluster: &Cluster) -> Vec<String> {
    cluster.workers().iter().map(|worker| version(cluster, worker)).collect()
}

fn version(cluster: &Cluster, worker: &Worker) -> String {
    let node = cluster.api().node(worker.name()).unwrap();
    node["status"]["nodeInfo"]["kubeletVersion"].as_str().unwrap().to_owned()
}
