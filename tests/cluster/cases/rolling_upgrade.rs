//! All packages are upgraded, or taken back to the version before, host after host, while each machine's agent takes
//! reports. None of these is lost or counted twice, and a node that dies in the middle is fenced.

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
    suite
        .behaviour("rolling_upgrade")
        .case_with(&[Need::LongSuite, CLUSTER], "loses_no_report_and_no_fence", loses_no_report_and_no_fence)
        .case_with(&[Need::LongSuite, CLUSTER], "and_the_way_back_neither", and_the_way_back_neither);
}

/// What hosts are rolled to.
struct Version {
    agent: Package,
    controller: Package,
    /// How its number begins.
    number: &'static str,
}

fn before() -> Version {
    Version { agent: Package::built(), controller: Package::controller(), number: env!("CARGO_PKG_VERSION") }
}

fn newer() -> Version {
    Version { agent: Package::newer(), controller: Package::newer_controller(), number: "99.0.0" }
}

fn loses_no_report_and_no_fence() {
    let cluster = Cluster::start(Plan::default());
    cluster.install();
    rolled(&cluster, &newer());
}

fn and_the_way_back_neither() {
    let cluster = Cluster::start(Plan::default());
    cluster.install();
    cluster.workers().iter().for_each(|worker| worker.inside().install(newer().agent));
    cluster.controllers().iter().for_each(|host| install(host, &newer()));
    rolled(&cluster, &before());
}

fn rolled(cluster: &Cluster, to: &Version) {
    [SHOP, DEAD_NODES].iter().for_each(|text| cluster.apply_text(text));
    cluster.wait_until_fences_are_ready();
    until_within(SOON, "the pod is ready", || (cluster.api().ready_on(POD)? == NODE).then_some(()));
    let [w1, w2, w3] = ["w1", NODE, "w3"].map(|name| cluster.worker(name).unwrap());
    let loaded = [w1, w3];
    loaded.iter().for_each(|worker| load::begin(worker));

    let [c1, c2] = cluster.controllers() else { panic!("two controllers") };
    w1.inside().install(to.agent);
    install(c1, to);
    w2.off();
    let off_since = Timestamp::now();
    install(c2, to);
    until_within(FENCED, "the pod is ready elsewhere", || {
        cluster.api().ready_on(POD).filter(|node| node != NODE).map(drop)
    });
    w3.inside().install(to.agent);
    until_within(SOON, "its BMC turns it on again", || {
        w2.orders().iter().any(|order| order.text == "set power 1").then_some(())
    });
    assert_off_before_release(cluster, w2, off_since);
    cluster.api().wait_given_back(FENCED, NODE);
    w2.inside().install(to.agent);

    for worker in loaded {
        load::end_and_count(cluster, worker);
        assert!(worker.orders().iter().all(|order| !order.text.starts_with("set power")), "{:?}", worker.orders());
    }
    for worker in cluster.workers() {
        let version = worker.inside().sh("dpkg-query --show --showformat='${Version}' nodewell");
        assert!(version.starts_with(to.number), "{}: {version}", worker.name());
        until_within(SOON, "the agent answers", || worker.inside().ask("/v1/version"));
        cluster.api().wait_condition(SOON, worker.name(), "FenceReady", "True");
    }
}

fn install(host: &ControllerHost, version: &Version) {
    host.inside().install(version.controller);
    host.wait_until_ready();
}
