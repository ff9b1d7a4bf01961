//! Unreachable nodes, seen from two hosts. Both hosts have to report it, and each must see other nodes, before a node
//! loses its power sooner than the cluster itself would give it up. The cluster does not give it up here: it stays
//! Ready to the end.

use std::time::Duration;

use nodewell_tests::{
    cluster::{Call, Cluster},
    controller::fence,
    controller_hosts::{self, LOST, Scenario},
    suite::{Need, Suite},
};
use serde_json::{Value, json};

const NEEDS: &[Need] = &[Need::Other(nodewell_bmc::missing), Need::Other(controller_hosts::missing), Need::LongSuite];
/// A host's report counts from 5 s on.
const LONG_ENOUGH_SECS: u64 = 10;
/// Far past the moment at which two hosts' reports would have been enough.
const FAR: Duration = Duration::from_secs(30);

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("controller_reach")
        .real_with(NEEDS, "a_node_that_neither_host_reaches_is_turned_off_early", a_node_that_neither_host_reaches)
        .real_with(NEEDS, "a_node_that_one_host_reaches_keeps_its_power", a_node_that_one_host_reaches)
        .real_with(NEEDS, "hosts_that_see_nothing_are_no_witnesses", hosts_that_see_nothing);
}

fn is_ready(scenario: &Scenario<'_>) -> bool {
    let node = scenario.node();
    let conditions = node["status"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions.iter().any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}

/// The number before ` s` that follows `before`.
fn seconds_after(text: &str, before: &str) -> Option<u64> {
    text.split_once(before)?.1.split_once(" s")?.0.trim().parse().ok()
}

fn a_node_that_neither_host_reaches(cluster: &Cluster) {
    let scenario = Scenario::start(cluster, 60);
    scenario.lose();
    scenario.until("it is turned off", |scenario| !scenario.lost.bmc.is_on());
    assert!(is_ready(&scenario), "{}", scenario.report());
    let log = fence(cluster, LOST).unwrap()["status"]["log"].to_string();
    assert!(log.contains("unreachable from 2 hosts"), "{log}");
    let silence = seconds_after(&log, "Leases silent for ").unwrap();
    assert!((15..50).contains(&silence), "{silence} s in {log}");
    scenario.mend_when_off();
    scenario.wait_recovered();
    assert_eq!((scenario.acts("off"), scenario.acts("on")), (1, 1), "{}", scenario.report());
}

fn a_node_that_one_host_reaches(cluster: &Cluster) {
    let scenario = Scenario::start(cluster, 63);
    scenario.lost.node.hang(true);
    for cut_off in [1, 0] {
        scenario.host(cut_off).loses(scenario.address());
        let is_long = |reach: Option<Option<u64>>| reach.flatten().is_some_and(|secs| secs >= LONG_ENOUGH_SECS);
        scenario.until("it has reported so for long enough", |scenario| is_long(scenario.reported_reach(cut_off)));
        assert_eq!(scenario.reported_reach(1 - cut_off), Some(None), "{}", scenario.report());
        scenario.until("the record is blocked", |scenario| scenario.blocked_by().contains("WithinGracePeriod"));
        scenario.stays_untouched(Duration::from_secs(10));
        scenario.host(cut_off).finds(scenario.address());
        scenario.until("it reaches it again", |scenario| scenario.reported_reach(cut_off) == Some(None));
    }
    // The same silence, and now no host reaches it.
    scenario.lose();
    scenario.until("it is turned off", |scenario| !scenario.lost.bmc.is_on());
    assert!(is_ready(&scenario), "{}", scenario.report());
}

/// A report of a host that died long ago.
fn leave_old_word(cluster: &Cluster) {
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {
            "name": "nodewell-controller-reach-host-z", "labels": { "nodewell.dev/reach": "" },
            "annotations": { "nodewell.dev/reach-sequence": "7", "nodewell.dev/reach": Value::from(json!({ LOST: 600 }).to_string()) },
        },
        "spec": { "holderIdentity": "host-z" },
    });
    let (code, answer) =
        cluster.admin(&Call::post("/apis/coordination.k8s.io/v1/namespaces/nodewell-controller/leases", &lease));
    assert_eq!(code, 201, "{answer}");
}

fn hosts_that_see_nothing(cluster: &Cluster) {
    let scenario = Scenario::start(cluster, 66);
    leave_old_word(cluster);
    let nodes = scenario.network.all_nodes();
    // A blind leader does not even open a record: it goes blind with one open.
    scenario.lost.node.hang(true);
    scenario.until("the record is blocked", |scenario| scenario.blocked_by().contains("WithinGracePeriod"));
    // Their uplinks to the nodes; the API server and the BMCs are reached another way.
    for host in [0, 1] {
        nodes.iter().for_each(|part| scenario.host(host).loses(part));
    }
    scenario.until("its own eyes are suspected", |scenario| scenario.blocked_by().contains("ControllerIsolated"));
    scenario.lose();
    scenario.stays_untouched(FAR);
    assert_eq!(
        (scenario.reported_reach(0).flatten(), scenario.reported_reach(1).flatten()),
        (None, None),
        "{}",
        scenario.report()
    );
    // The leader sees again. The other host is blind still, and a third one is dead: neither is a second witness.
    nodes.iter().for_each(|part| scenario.host(0).finds(part));
    scenario.until("it is blocked for another reason", |scenario| {
        scenario.blocked_by().contains("WithinGracePeriod") && !scenario.blocked_by().contains("ControllerIsolated")
    });
    scenario.until("the leader has reported so for long", |scenario| {
        scenario.reported_reach(0).flatten().is_some_and(|secs| secs >= LONG_ENOUGH_SECS)
    });
    scenario.stays_untouched(FAR);
    assert!(scenario.blocked_by().contains("WithinGracePeriod"), "{}", scenario.report());
    nodes.iter().for_each(|part| scenario.host(1).finds(part));
    scenario.until("it is turned off", |scenario| !scenario.lost.bmc.is_on());
    assert!(is_ready(&scenario), "{}", scenario.report());
}
