//! The host of the leading controller dies in the same moment as a worker: the other controller takes the lead, and fences
//! the worker.

use std::{process::Command, time::Duration};

use nodewell_cluster::{
    CLUSTER, Cluster, Plan,
    manifests::{DEAD_NODES, SHOP},
};
use nodewell_tests::{
    suite::{Need, Suite},
    wait::until_within,
};

use crate::off_before_release::assert_off_before_release;

const SOON: Duration = Duration::from_secs(60);
/// A Lease of the lead runs out, another replica reads everything, and fences; a second host's look is not to be had.
const FENCED: Duration = Duration::from_secs(240);
const POD: &str = "shop-0";

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("controller_host_dies").case_with(
        &[Need::LongSuite, CLUSTER],
        "the_other_controller_fences",
        the_other_controller_fences,
    );
}

fn the_other_controller_fences() {
    let cluster = Cluster::start(Plan::default());
    cluster.install();
    [SHOP, DEAD_NODES].iter().for_each(|text| cluster.apply_text(text));
    cluster.wait_until_fences_are_ready();
    let node = until_within(SOON, "the pod is ready", || cluster.api().ready_on(POD));
    let worker = cluster.worker(&node).unwrap();
    let host = until_within(SOON, "one leads", || cluster.leader());

    // As by a power loss of both: PID 1 of the host is killed with everything in it.
    let killed = Command::new("kill").args(["-KILL", &host.inside().leader().to_string()]).status().unwrap();
    assert!(killed.success());
    worker.off();
    let off_since = jiff::Timestamp::now();
    until_within(FENCED, "the pod is ready elsewhere", || {
        cluster.api().ready_on(POD).filter(|now| *now != node).map(drop)
    });
    until_within(SOON, "its BMC turns it on again", || {
        worker.orders().iter().any(|order| order.text == "set power 1").then_some(())
    });
    assert_off_before_release(&cluster, worker, off_since);
    assert_ne!(cluster.leader().unwrap().name(), host.name(), "another one leads");
    cluster.api().wait_condition(FENCED, &node, "Ready", "True");
    cluster.api().wait_given_back(FENCED, &node);
}
