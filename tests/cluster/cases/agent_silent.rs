//! One agent of three falls silent while the others report, with the kubelet's identity (it has no Lease of its own, and
//! is known by its conditions' heartbeats alone), where fencing is set up and the controller's own condition beats on each
//! Node, too.

use std::{collections::BTreeSet, time::Duration};

use nodewell_cluster::{CLUSTER, Cluster, Plan};
use nodewell_tests::{
    suite::{Need, Suite},
    wait::until_within,
};
use serde_json::Value;

const SOON: Duration = Duration::from_secs(60);
/// 15 minutes without a heartbeat; the controller looks at all Nodes every minute.
const SILENT: Duration = Duration::from_secs(20 * 60);
const NODE: &str = "w3";
const OTHERS: [&str; 2] = ["w1", "w2"];
const FENCE_READY: &str = "FenceReady";
/// Two that every agent has.
const SOME_OF_AGENT: [&str; 2] = ["DiskUnhealthy", "TasksUnhealthy"];

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("agent_silent").case_with(
        &[Need::LongSuite, CLUSTER],
        "one_of_three_is_named_and_taken_back_while_the_others_are_heard",
        one_of_three_is_named_and_taken_back_while_the_others_are_heard,
    );
}

fn one_of_three_is_named_and_taken_back_while_the_others_are_heard() {
    let cluster = Cluster::start(Plan { workers: 3, controllers: 1, ..Plan::default() });
    cluster.install();
    cluster.wait_until_fences_are_ready();
    for node in OTHERS.into_iter().chain([NODE]) {
        until_within(SOON, "its agent has reported", || has(&cluster, node, &SOME_OF_AGENT).then_some(()));
    }
    let worker = cluster.worker(NODE).unwrap();

    // Not a stop, at which it might say something: a machine whose agent the kernel has killed.
    worker.inside().sh("systemctl kill --signal=SIGKILL nodewell; systemctl mask --runtime --now nodewell");
    until_within(SILENT, "the controller names it", || {
        for node in OTHERS {
            let silent = silent(&cluster, node)?;
            assert!(silent.is_empty(), "{node} reports, and its {silent:?} were set to Unknown");
        }
        let silent = silent(&cluster, NODE)?;
        (silent.iter().any(|name| name == SOME_OF_AGENT[0])).then_some(())
    });
    let silent_ones = silent(&cluster, NODE).unwrap();
    assert!(SOME_OF_AGENT.iter().all(|name| silent_ones.contains(*name)), "{silent_ones:?}");
    // The controller's own is no agent's.
    assert_eq!(cluster.api().condition(NODE, FENCE_READY).as_deref(), Some("True"));
    assert_eq!(cluster.api().happened(NODE, "AgentSilent"), 1);
    assert_eq!(gauge(&cluster, "nodewell_controller_agents_silent"), "1");
    assert_eq!(gauge(&cluster, "nodewell_controller_agents_blocked"), "0");
    assert!(!cluster.api().is_cordoned(NODE), "a silent agent is no fault of its node");

    worker.inside().sh("systemctl unmask --runtime nodewell; systemctl start nodewell");
    until_within(SOON, "its agent takes all of it back", || silent(&cluster, NODE)?.is_empty().then_some(()));
    until_within(SOON, "the controller counts it no more", || {
        (gauge(&cluster, "nodewell_controller_agents_silent") == "0").then_some(())
    });
}

/// Its conditions that the controller has set for a silent agent; `None` if the API server does not answer.
fn silent(cluster: &Cluster, node: &str) -> Option<BTreeSet<String>> {
    let node = cluster.api().node(node)?;
    let set = conditions(&node).filter(|condition| condition["reason"] == "AgentSilent");
    let of = set.inspect(|condition| assert_eq!(condition["status"], "Unknown", "{condition}"));
    Some(of.filter_map(|condition| condition["type"].as_str().map(str::to_owned)).collect())
}

fn has(cluster: &Cluster, node: &str, names: &[&str]) -> bool {
    let Some(node) = cluster.api().node(node) else { return false };
    names.iter().all(|name| conditions(&node).any(|condition| condition["type"] == *name))
}

fn conditions(node: &Value) -> impl Iterator<Item = &Value> {
    node["status"]["conditions"].as_array().into_iter().flatten()
}

/// As the leader shows it: the only controller there is.
fn gauge(cluster: &Cluster, name: &str) -> String {
    let metrics = cluster.controllers()[0].metrics();
    let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name} in {metrics}")).to_owned()
}
