//! What Kubernetes' own case asks of a node whose kubelet stopped (test/e2e/storage/non_graceful_node_shutdown.go), without
//! the administrator who knows that the node is down and taints it: the pod with its volume starts on another node, and
//! the node takes pods with volumes again once it is back.

use std::time::Duration;

use nodewell_cluster::{
    CLUSTER, Cluster, Plan,
    manifests::{DEAD_NODES, LEDGER},
};
use nodewell_tests::{
    suite::{Need, Suite},
    wait::until_within,
};

use crate::{cable_pulled::ordered_off, off_before_release::assert_off_before_release};

const SOON: Duration = Duration::from_secs(60);
/// Its port answers, so that fifty seconds of silence are needed; then two readings, a release, a detach, an attach.
const FENCED: Duration = Duration::from_secs(240);
const NODE: &str = "w2";

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("kubelet_stopped").case_with(
        &[Need::LongSuite, CLUSTER],
        "its_volumes_move_and_it_takes_others_later",
        its_volumes_move_and_it_takes_others_later,
    );
}

fn its_volumes_move_and_it_takes_others_later() {
    let cluster = Cluster::start(Plan::default());
    cluster.install();
    let _attacher = cluster.install_volumes();
    let _folders = ["ledger", "later"].map(|name| cluster.make_volume(name));
    [LEDGER, DEAD_NODES].iter().for_each(|text| cluster.apply_text(text));
    cluster.wait_until_fences_are_ready();
    until_within(SOON, "the pod is ready", || (cluster.api().ready_on("ledger-0")? == NODE).then_some(()));

    let worker = cluster.worker(NODE).unwrap();
    worker.inside().sh("systemctl stop kubelet");
    until_within(FENCED, "the pod is ready elsewhere", || {
        cluster.api().ready_on("ledger-0").filter(|node| node != NODE).map(drop)
    });
    assert!(cluster.forced_detaches("out-of-service") >= 1.0, "the volume was not detached for the taint");
    until_within(SOON, "its BMC turns it on again", || {
        worker.orders().iter().any(|order| order.text == "set power 1").then_some(())
    });
    assert_off_before_release(&cluster, worker, ordered_off(worker));
    cluster.api().wait_condition(FENCED, NODE, "Ready", "True");
    cluster.api().wait_given_back(FENCED, NODE);

    cluster.apply_text(&LEDGER.replace("ledger", "later"));
    until_within(FENCED, "another pod with a volume is ready there", || {
        (cluster.api().ready_on("later-0")? == NODE).then_some(())
    });
}
