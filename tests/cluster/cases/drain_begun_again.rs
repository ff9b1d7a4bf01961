//! A drain that a disruption budget holds up ends with its time, and the record shows by what, when it begins again and
//! what is for a person to see to. Once the budget allows it, it goes through by itself, in a second round that record
//! and Events show.

use std::time::Duration;

use nodewell_cluster::{CLUSTER, Cluster, Plan, manifests::SHOP};
use nodewell_tests::{
    machine::Inside,
    suite::{Need, Suite},
    wait::until_within,
};
use serde_json::Value;

const SOON: Duration = Duration::from_secs(60);
/// The steps begin again five minutes after the last one.
const BEGUN_AGAIN: Duration = Duration::from_secs(7 * 60);
const NODE: &str = "w2";

const POLICY: &str = "
apiVersion: nodewell.dev/v1alpha1
kind: RemediationPolicy
metadata: { name: drain-broken-disks }
spec:
  mode: Enforce
  when: has(conditions.DiskUnhealthy) && conditions.DiskUnhealthy.status == 'True'
  for: 0s
  healthyDelay: 5s
  nodeStartupGracePeriod: 0s
  steps:
    - cordon: {}
    - drain: { timeout: 20s, ignoreDaemonSets: true, deleteEmptyDirData: true }
  storm: { unhealthy: 60%, rate: { count: 5, window: 1m }, cooldown: 1m, reachable: 50% }
";

const BUDGET: &str = "
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: { name: shop }
spec: { maxUnavailable: 0, selector: { matchLabels: { app: shop } } }
";

/// Of the message `DrainIncomplete`.
const BLOCKED: [&str; 4] = [
    "DrainIncomplete",
    "shop-0",
    "begins again 5m after its end",
    "what holds them is for a person to see to, as more replicas or a looser budget",
];
/// Texts of the log after both rounds, and how often each is there.
const LOGGED: [(&str, usize); 4] = [
    ("Draining: ", 2),
    ("the drain ended with pods left: ", 1),
    ("Pending: the steps begin again with the first", 1),
    ("every pod that had to go is gone", 1),
];

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("drain_begun_again").case_with(
        &[Need::LongSuite, CLUSTER],
        "goes_through_once_the_budget_allows_it",
        goes_through_once_the_budget_allows_it,
    );
}

fn goes_through_once_the_budget_allows_it() {
    let cluster = Cluster::start(Plan { workers: 2, controllers: 1, ..Plan::default() });
    cluster.install();
    [SHOP, BUDGET, POLICY].iter().for_each(|text| cluster.apply_text(text));
    until_within(SOON, "the pod is ready", || (cluster.api().ready_on("shop-0")? == NODE).then_some(()));
    let inside = cluster.worker(NODE).unwrap().inside();
    report(inside, "true", "RaidDegraded", "1 of 2 disks is gone");

    until_within(SOON, "the record shows what stands in the way, and what is done about it by whom", || {
        let record = cluster.api().record(NODE)?;
        let blocked = record["status"]["blockedBy"].to_string();
        (record["status"]["phase"] == "Waiting" && BLOCKED.iter().all(|text| blocked.contains(text))).then_some(())
    });
    assert_eq!(cluster.api().ready_on("shop-0").as_deref(), Some(NODE), "nothing was evicted");

    cluster.must_kubectl(&["delete", "poddisruptionbudget", "shop"]);
    until_within(BEGUN_AGAIN, "the pod is ready on the other node", || {
        cluster.api().ready_on("shop-0").filter(|node| node != NODE).map(drop)
    });
    report(inside, "false", "RaidIsHealthy", "all disks are back");
    cluster.api().wait_given_back(SOON, NODE);
    shows_two_rounds(&cluster);
}

fn shows_two_rounds(cluster: &Cluster) {
    let record = cluster.api().newest_record(NODE).expect("a record, or a copy of one");
    assert_eq!(record["status"]["drainRounds"], 1, "begun again once: {record}");
    let log = record["status"]["log"].as_array().expect("a log");
    for (begins, often) in LOGGED {
        let is_it = |entry: &&Value| entry["text"].as_str().is_some_and(|text| text.starts_with(begins));
        assert_eq!(log.iter().filter(is_it).count(), often, "{begins:?}: {record}");
    }
    until_within(SOON, "an Event of each round's end", || {
        let happened = ["EvictionsRefused", "Drained"].map(|reason| cluster.api().happened(NODE, reason));
        (happened == [1, 1]).then_some(())
    });
}

/// As one service of the node: a problem is over when the service that reported it says so.
fn report(inside: Inside, status: &str, reason: &str, message: &str) {
    let script = format!(
        "nodewell report --condition DiskUnhealthy={status} --reason {reason} --subject md0 --message '{message}'"
    );
    let reported = inside.as_unit("raid-monitor", &[], &script);
    assert_eq!(reported.code, 0, "{reported:?}");
}
