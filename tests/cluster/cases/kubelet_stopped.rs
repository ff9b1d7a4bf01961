//! What Kubernetes' own case asks of a node whose kubelet stopped (test/e2e/storage/non_graceful_node_shutdown.go), without
//! the administrator who knows that the node is down and taints it: the pod with its volume starts on another node, and
//! the node takes pods with volumes again once it is back.

use std::time::Duration;

use nodewell_cluster::{
    CLUSTER, Cluster, Plan,
    attacher::Act,
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
        "volumes_of_a_deployment_and_a_set_move_and_it_takes_others_later",
        volumes_of_a_deployment_and_a_set_move_and_it_takes_others_later,
    );
}

/// The same pod with a volume of its own, of a Deployment, as upstream's case has it: the pod that takes its place has
/// another name.
fn deployment() -> String {
    let text = LEDGER.replace("kind: StatefulSet", "kind: Deployment").replace("  serviceName: ledger\n", "");
    text.replace("  replicas: 1\n", "  replicas: 1\n  strategy: { type: Recreate }\n").replace("ledger", "stock")
}

/// The ready pod of the Deployment, and where it is.
fn stock(cluster: &Cluster) -> Option<(String, String)> {
    let pods = cluster.api().get("/api/v1/namespaces/default/pods?labelSelector=app%3Dstock")?;
    let names = pods["items"].as_array()?.iter().filter_map(|pod| pod["metadata"]["name"].as_str());
    names.map(str::to_owned).find_map(|name| Some((name.clone(), cluster.api().ready_on(&name)?)))
}

fn volumes_of_a_deployment_and_a_set_move_and_it_takes_others_later() {
    let cluster = Cluster::start(Plan::default());
    cluster.install();
    let attacher = cluster.install_volumes();
    let _folders = ["ledger", "stock", "later"].map(|name| cluster.make_volume(name));
    [LEDGER, &deployment(), DEAD_NODES].iter().for_each(|text| cluster.apply_text(text));
    cluster.wait_until_fences_are_ready();
    until_within(SOON, "the pod is ready", || (cluster.api().ready_on("ledger-0")? == NODE).then_some(()));
    let (before, _) = until_within(SOON, "the Deployment's, too", || stock(&cluster).filter(|(_, node)| node == NODE));

    let worker = cluster.worker(NODE).unwrap();
    worker.inside().sh("systemctl stop kubelet");
    until_within(FENCED, "the pod is ready elsewhere", || {
        cluster.api().ready_on("ledger-0").filter(|node| node != NODE).map(drop)
    });
    let (after, next) =
        until_within(FENCED, "so is the Deployment's", || stock(&cluster).filter(|(_, node)| node != NODE));
    assert_ne!(before, after, "a pod of the same name");
    assert!(cluster.forced_detaches("out-of-service") >= 2.0, "not both volumes were detached for the taint");
    let history = attacher.history("stock");
    let moves = history.iter().filter(|change| change.act != Act::Refused);
    let acts: Vec<(Act, &str)> = moves.map(|change| (change.act, change.node.as_str())).collect();
    assert_eq!(acts, [(Act::Attached, NODE), (Act::Detached, NODE), (Act::Attached, next.as_str())], "{history:?}");
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
