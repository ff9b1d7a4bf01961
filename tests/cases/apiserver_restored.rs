//! The API server is restored from an old backup: what was reported since is reported again.

use std::time::Duration;

use jiff::Timestamp;
use nodewell_tests::{
    cluster::Cluster,
    suite::Suite,
    wait::{until, until_within},
};

use crate::{
    api_conditions::{plan_on, wait_published},
    lease::with_lease,
    lines::OOPS,
};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("apiserver_restored")
        .api_alone("a_past_node_is_written_again", a_past_node_is_written_again)
        .api_alone("a_lease_shows_it_before_the_heartbeat", a_lease_shows_it_before_the_heartbeat);
}

/// More than a starting API server writes itself.
const WRITES_LOST: u32 = 200;
/// A heartbeat of ten seconds, and what an outage adds for a node with nothing to deliver.
const REPORTED_AGAIN: Duration = Duration::from_secs(90);

fn a_past_node_is_written_again(cluster: &Cluster) {
    let node = "restored";
    let agent = plan_on(cluster, node).config("[apiserver]\nheartbeat = \"10s\"\n").start();
    wait_published(cluster, node, "KernelUnhealthy", "False");
    cluster.back_up();
    agent.kmsg().write(OOPS);
    wait_published(cluster, node, "KernelUnhealthy", "True");
    // What the rest of the cluster wrote in the time that is lost.
    (0..WRITES_LOST).for_each(|other| _ = cluster.create_node(&format!("lost-{other}")));
    let after = Timestamp::now();
    until_within(REPORTED_AGAIN, "a heartbeat after them", || {
        let now = cluster.condition(node, "KernelUnhealthy").unwrap();
        let heartbeat: Timestamp = now["lastHeartbeatTime"].as_str().unwrap().parse().unwrap();
        (heartbeat > after).then_some(())
    });
    cluster.restore();
    until_within(REPORTED_AGAIN, "the past is noticed", || {
        agent.log().contains("the API server was restored from a backup").then_some(())
    });
    wait_published(cluster, node, "KernelUnhealthy", "True");
    until("all is well", || agent.view().apiserver.message.is_empty().then_some(()));
}

/// The heartbeat is five minutes away: the Lease, whose version is past, makes the agent report the conditions again.
fn a_lease_shows_it_before_the_heartbeat(cluster: &Cluster) {
    let node = "restored-lease";
    let agent = with_lease(cluster, node);
    wait_published(cluster, node, "KernelUnhealthy", "False");
    until("a Lease", || cluster.lease(node));
    cluster.back_up();
    agent.kmsg().write(OOPS);
    wait_published(cluster, node, "KernelUnhealthy", "True");
    let version =
        |lease: &serde_json::Value| lease["metadata"]["resourceVersion"].as_str().unwrap().parse::<u64>().unwrap();
    let before = cluster.lease(node).map(|lease| version(&lease)).unwrap();
    until("a renewal after the backup", || cluster.lease(node).filter(|lease| version(lease) > before));
    cluster.restore();
    until_within(REPORTED_AGAIN, "the Node is reported again", || {
        cluster.condition(node, "KernelUnhealthy").filter(|reported| reported["status"] == "True")
    });
}
