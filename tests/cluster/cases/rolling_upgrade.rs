//! All packages are upgraded, host after host, while each machine's agent takes reports. None of these is lost or
//! counted twice, and a node that dies in the middle is fenced.

use std::time::Duration;

use jiff::Timestamp;
use nodewell_cluster::{
    CLUSTER, Cluster, Plan,
    controller_host::ControllerHost,
    manifests::{DEAD_NODES, SHOP},
    shop::POD,
};
use nodewell_tests::{
    machine::Package,
    suite::{Need, Suite},
    wait::until_within,
};

use crate::{load, off_before_release::assert_off_before_release};

const SOON: Duration = Duration::from_secs(60);
const FENCED: Duration = Duration::from_secs(150);
const NODE: &str = "w2";
pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("rolling_upgrade").case_with(
        &[Need::LongSuite, CLUSTER],
        "loses_no_report_and_no_fence",
        loses_no_report_and_no_fence,
    );
}

fn loses_no_report_and_no_fence() {
    let cluster = Cluster::start(Plan::default());
    cluster.install();
    [SHOP, DEAD_NODES].iter().for_each(|text| cluster.apply_text(text));
    cluster.wait_until_fences_are_ready();
    until_within(SOON, "the pod is ready", || (cluster.api().ready_on(POD)? == NODE).then_some(()));
    let [w1, w2, w3] = ["w1", NODE, "w3"].map(|name| cluster.worker(name).unwrap());
    let loaded = [w1, w3];
    loaded.iter().for_each(|worker| load::begin(worker));

    let [c1, c2] = cluster.controllers() else { panic!("two controllers") };
    w1.inside().install(Package::newer());
    upgrade(c1);
    w2.off();
    let off_since = Timestamp::now();
    upgrade(c2);
    until_within(FENCED, "the pod is ready elsewhere", || {
        cluster.api().ready_on(POD).filter(|node| node != NODE).map(drop)
    });
    w3.inside().install(Package::newer());
    until_within(SOON, "its BMC turns it on again", || {
        w2.orders().iter().any(|order| order.text == "set power 1").then_some(())
    });
    assert_off_before_release(&cluster, w2, off_since);
    cluster.api().wait_given_back(FENCED, NODE);
    w2.inside().install(Package::newer());

    for worker in loaded {
        load::end_and_count(&cluster, worker);
        assert!(worker.orders().iter().all(|order| !order.text.starts_with("set power")), "{:?}", worker.orders());
    }
    for worker in cluster.workers() {
        let version = worker.inside().sh("dpkg-query --show --showformat='${Version}' nodewell");
        assert!(version.starts_with("99.0.0"), "{}: {version}", worker.name());
        until_within(SOON, "the agent answers", || worker.inside().ask("/v1/version"));
        cluster.api().wait_condition(SOON, worker.name(), "FenceReady", "True");
    }
}

fn upgrade(host: &ControllerHost) {
    host.inside().install(Package::newer_controller());
    host.wait_until_ready();
}
