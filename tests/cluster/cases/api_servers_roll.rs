//! Two API servers behind a balancer are restarted, one after the other and again: no report is lost or counted twice, no
//! node is taken for silent, and one that dies meanwhile is fenced.

use std::{thread, time::Duration};

use jiff::Timestamp;
use nodewell_cluster::{
    BALANCER, CLUSTER, Cluster, Plan,
    manifests::{DEAD_NODES, SHOP},
    shop::POD,
    step,
    worker::Worker,
};
use nodewell_tests::{
    suite::{Need, Suite},
    wait::until_within,
};

use crate::{load, off_before_release::assert_off_before_release, untouched::Untouched};

const SOON: Duration = Duration::from_secs(60);
const FENCED: Duration = Duration::from_secs(150);
/// A node that was taken for silent would be cordoned by then.
const SETTLED: Duration = Duration::from_secs(45);
const NODE: &str = "w2";

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("api_servers_roll").case_with(
        &[Need::LongSuite, CLUSTER, BALANCER],
        "costs_no_report_and_no_fence",
        costs_no_report_and_no_fence,
    );
}

fn costs_no_report_and_no_fence() {
    let mut cluster = Cluster::start(Plan { two_api_servers: true, ..Plan::default() });
    cluster.install();
    [SHOP, DEAD_NODES].iter().for_each(|text| cluster.apply_text(text));
    cluster.wait_until_fences_are_ready();
    until_within(SOON, "the pod is ready", || (cluster.api().ready_on(POD)? == NODE).then_some(()));
    loaded(&cluster).for_each(load::begin);

    let untouched = Untouched::of(&cluster, |_| true);
    step("the first is restarted", || cluster.restart_api_server(0, |_| thread::sleep(SETTLED)));
    step("the second is restarted", || cluster.restart_api_server(1, |_| thread::sleep(SETTLED)));
    thread::sleep(SETTLED);
    untouched.end();
    let untouched = Untouched::of(&cluster, |worker| worker.name() != NODE);
    step("once more, with a dead node", || cluster.restart_api_server(0, is_fenced));
    cluster.restart_api_server(1, |_| {});
    cluster.api().wait_given_back(FENCED, NODE);
    loaded(&cluster).for_each(|worker| load::end_and_count(&cluster, worker));
    untouched.end();
}

fn is_fenced(cluster: &Cluster) {
    let dead = cluster.worker(NODE).unwrap();
    dead.off();
    let off_since = Timestamp::now();
    until_within(FENCED, "the pod is ready elsewhere", || {
        cluster.api().ready_on(POD).filter(|node| node != NODE).map(drop)
    });
    until_within(SOON, "its BMC turns it on again", || {
        dead.orders().iter().any(|order| order.text == "set power 1").then_some(())
    });
    assert_off_before_release(cluster, dead, off_since);
}

/// Those that take reports meanwhile.
fn loaded(cluster: &Cluster) -> impl Iterator<Item = &Worker> {
    cluster.workers().iter().filter(|worker| worker.name() != NODE)
}
