//! A drain that a disruption budget holds up ends with its time, and the record shows by what; it is begun again, and
//! goes through once the budget allows it, without a person.

use std::time::Duration;

use nodewell_cluster::{CLUSTER, Cluster, Plan, manifests::SHOP};
use nodewell_tests::{
    machine::Inside,
    suite::{Need, Suite},
    wait::until_within,
};

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

    until_within(SOON, "the record shows what stands in the way", || {
        let record = cluster.api().record(NODE)?;
        let blocked = record["status"]["blockedBy"].to_string();
        (record["status"]["phase"] == "Waiting" && blocked.contains("DrainIncomplete") && blocked.contains("shop-0"))
            .then_some(())
    });
    assert_eq!(cluster.api().ready_on("shop-0").as_deref(), Some(NODE), "nothing was evicted");

    cluster.must_kubectl(&["delete", "poddisruptionbudget", "shop"]);
    until_within(BEGUN_AGAIN, "the pod is ready on the other node", || {
        cluster.api().ready_on("shop-0").filter(|node| node != NODE).map(drop)
    });
    report(inside, "false", "RaidIsHealthy", "all disks are back");
    cluster.api().wait_given_back(SOON, NODE);
}

/// As one service of the node: a problem is over when the service that reported it says so.
fn report(inside: Inside, status: &str, reason: &str, message: &str) {
    let script = format!(
        "nodewell report --condition DiskUnhealthy={status} --reason {reason} --subject md0 --message '{message}'"
    );
    let reported = inside.as_unit("raid-monitor", &[], &script);
    assert_eq!(reported.code, 0, "{reported:?}");
}
