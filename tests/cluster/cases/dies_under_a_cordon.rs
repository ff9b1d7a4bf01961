//! A node dies while it is cordoned by the record of a policy that does nothing else, and that comes first by name: the
//! record gives way to one of the policy that cuts power, and the pod starts elsewhere. In the end no mark of either is left.

use std::time::Duration;

use jiff::Timestamp;
use nodewell_cluster::{
    CLUSTER, Cluster, Plan,
    manifests::{DEAD_NODES, SHOP},
    off_before_release::check,
    shop::POD,
    worker::Worker,
};
use nodewell_tests::{
    cli::Outcome,
    suite::{Need, Suite},
    wait::until_within,
};
use serde_json::Value;

const SOON: Duration = Duration::from_secs(60);
/// Its Lease is over and its Ready Unknown after 50 s or so; then one record ends and another begins, two readings, a release.
const FENCED: Duration = Duration::from_secs(240);
const NODE: &str = "w2";
const CORDONS: &str = "cordon-broken-disks";
const CUTS_POWER: &str = "dead-nodes";

const POLICY: &str = "
apiVersion: nodewell.dev/v1alpha1
kind: RemediationPolicy
metadata: { name: cordon-broken-disks }
spec:
  mode: Enforce
  when: has(conditions.DiskUnhealthy) && conditions.DiskUnhealthy.status == 'True'
  for: 0s
  healthyDelay: 5s
  nodeStartupGracePeriod: 0s
  steps: [{ cordon: {} }]
  storm: { unhealthy: 60%, rate: { count: 5, window: 1m }, cooldown: 1m, reachable: 50% }
";

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("dies_under_a_cordon").case_with(
        &[Need::LongSuite, CLUSTER],
        "a_node_that_dies_under_a_cordon_is_fenced",
        a_node_that_dies_under_a_cordon_is_fenced,
    );
}

fn a_node_that_dies_under_a_cordon_is_fenced() {
    let cluster = Cluster::start(Plan::default());
    cluster.install();
    [SHOP, DEAD_NODES, POLICY].iter().for_each(|text| cluster.apply_text(text));
    cluster.wait_until_fences_are_ready();
    until_within(SOON, "the pod is ready", || (cluster.api().ready_on(POD)? == NODE).then_some(()));
    let worker = cluster.worker(NODE).unwrap();

    let reported = report(worker, "true", "RaidDegraded", "1 of 2 disks is gone");
    assert_eq!(reported.code, 0, "{reported:?}");
    until_within(SOON, "it is cordoned, by a record of the policy that comes first", || {
        let record = cluster.api().record(NODE)?;
        (record["spec"]["policy"] == CORDONS && cluster.api().is_cordoned(NODE)).then_some(())
    });
    assert_eq!(cluster.api().ready_on(POD).as_deref(), Some(NODE), "nothing else was done");

    worker.off();
    let off_since = Timestamp::now();
    until_within(FENCED, "its record is one of the policy that cuts power", || {
        (cluster.api().record(NODE)?["spec"]["policy"] == CUTS_POWER).then_some(())
    });
    until_within(SOON, "an Event names it", || gave_way(&cluster).then_some(()));
    until_within(FENCED, "the pod is ready elsewhere", || {
        cluster.api().ready_on(POD).filter(|node| node != NODE).map(drop)
    });
    until_within(SOON, "its BMC turns it on again", || {
        worker.orders().iter().any(|order| order.text == "set power 1").then_some(())
    });
    let fence = record_of(&cluster, CUTS_POWER).expect("its record, or the copy of it");
    check(&fence, &worker.orders(), off_since).unwrap_or_else(|why| panic!("{why}"));

    cluster.api().wait_condition(FENCED, NODE, "Ready", "True");
    until_within(SOON, "the end of the fault is reported", || {
        (report(worker, "false", "RaidIsHealthy", "all disks are back").code == 0).then_some(())
    });
    cluster.api().wait_given_back(FENCED, NODE);
    until_within(SOON, "no record is left, and no mark of the cordon", || {
        let node = cluster.api().node(NODE)?;
        let is_marked = !node["metadata"]["annotations"]["nodewell.dev/cordoned-by"].is_null();
        (!is_marked && cluster.api().record(NODE).is_none()).then_some(())
    });
}

/// As one service of the node: a problem is over when the service that reported it says so.
fn report(worker: &Worker, status: &str, reason: &str, message: &str) -> Outcome {
    let script = format!(
        "nodewell report --condition DiskUnhealthy={status} --reason {reason} --subject md0 --message '{message}'"
    );
    worker.inside().as_unit("raid-monitor", &[], &script)
}

/// Whether the end of the first record was reported, with the policy that came after it.
fn gave_way(cluster: &Cluster) -> bool {
    let events = cluster.api().events(NODE, "FenceClosed");
    let end = format!("policy {CUTS_POWER} takes over");
    events.iter().any(|event| event["message"].as_str().is_some_and(|message| message.contains(&end)))
}

/// The node's record by this policy, open or a copy of one that ended: by now one of the other may be open again.
fn record_of(cluster: &Cluster, policy: &str) -> Option<Value> {
    let all = cluster.api().get("/apis/nodewell.dev/v1alpha1/nodefences")?;
    let is_meant = |record: &&Value| record["spec"]["nodeName"] == NODE && record["spec"]["policy"] == policy;
    all["items"].as_array()?.iter().find(is_meant).cloned()
}
