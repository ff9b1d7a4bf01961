//! What Kubernetes' own cases ask of NoExecute taints (test/e2e/node/taints.go), of one that a policy has put: which pods
//! it evicts and when, what these carry, and that its removal cancels what was to come.

use std::time::Duration;

use jiff::Timestamp;
use nodewell_cluster::{CLUSTER, Cluster, Plan};
use nodewell_tests::{
    suite::{Need, Suite},
    wait::{lasts, until_within},
};
use serde_json::Value;

const SOON: Duration = Duration::from_secs(60);
/// These stay for so long after the taint, as their tolerations have it.
const FINITE: [(&str, Duration); 2] = [("finite", Duration::from_secs(20)), ("longer", Duration::from_secs(35))];
/// Its last moment is in whole seconds, and may be given again once it has ended.
const ROUNDED: Duration = Duration::from_secs(2);
/// `patient` would.
const PATIENT: Duration = Duration::from_secs(150);
const NODE: &str = "w1";
const KEY: &str = "example.com/failing";
const POLICY: &str = "
apiVersion: nodewell.dev/v1alpha1
kind: RemediationPolicy
metadata: { name: failing }
spec:
  mode: Enforce
  when: has(conditions.DiskUnhealthy) && conditions.DiskUnhealthy.status == 'True'
  for: 0s
  healthyDelay: 5s
  nodeStartupGracePeriod: 0s
  steps: [{ taint: { key: example.com/failing, value: 'yes', effect: NoExecute } }]
";
/// Each on the node that it names; a finalizer lets those be looked at that are deleted.
const PODS: [(&str, &str, &str, &str); 6] = [
    ("plain", NODE, "[example.com/looked-at]", "[]"),
    ("tolerant", NODE, "[]", "[{ key: example.com/failing, operator: Exists, effect: NoExecute }]"),
    (
        "finite",
        NODE,
        "[example.com/looked-at]",
        "[{ key: example.com/failing, operator: Exists, effect: NoExecute, tolerationSeconds: 20 }]",
    ),
    (
        "longer",
        NODE,
        "[example.com/looked-at]",
        "[{ key: example.com/failing, operator: Exists, effect: NoExecute, tolerationSeconds: 35 }]",
    ),
    (
        "patient",
        NODE,
        "[]",
        "[{ key: example.com/failing, operator: Exists, effect: NoExecute, tolerationSeconds: 150 }]",
    ),
    ("elsewhere", "w2", "[]", "[]"),
];
const POD: &str = "
apiVersion: v1
kind: Pod
metadata: { name: @NAME@, finalizers: @FINALIZERS@ }
spec:
  nodeSelector: { kubernetes.io/hostname: @NODE@ }
  terminationGracePeriodSeconds: 1
  tolerations: @TOLERATIONS@
  containers:
    - name: sleeps
      image: localhost/busybox:1
      imagePullPolicy: Never
      command: [sh, -c, 'trap exit TERM; while true; do sleep 1; done']
";

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("taint_evicts").case_with(
        &[Need::LongSuite, CLUSTER],
        "whom_it_should_and_its_end_cancels_the_rest",
        whom_it_should_and_its_end_cancels_the_rest,
    );
}

fn whom_it_should_and_its_end_cancels_the_rest() {
    let cluster = Cluster::start(Plan { workers: 2, controllers: 1, ..Plan::default() });
    cluster.install();
    cluster.apply_text(POLICY);
    let pods = PODS.map(|(name, node, finalizers, tolerations)| {
        let values = [("@NAME@", name), ("@NODE@", node), ("@FINALIZERS@", finalizers), ("@TOLERATIONS@", tolerations)];
        values.iter().fold(POD.to_owned(), |text, (word, value)| text.replace(word, value))
    });
    cluster.apply_text(&pods.join("---"));
    for (name, node, ..) in PODS {
        until_within(SOON, &format!("{name} runs on {node}"), || (cluster.api().ready_on(name)? == node).then_some(()));
    }

    failing(&cluster, true);
    let mut untainted_at = Timestamp::now();
    until_within(SOON, "the node has the taint", || {
        let looked_at = Timestamp::now();
        if is_tainted(&cluster) {
            return Some(());
        }
        untainted_at = looked_at;
        None
    });
    let plain = until_within(SOON, "plain is deleted", || pod(&cluster, "plain").filter(is_deleted));
    assert_eq!(disruption(&plain), Some("DeletionByTaintManager".into()), "{plain}");
    let mut before = plain;
    for (name, tolerated) in FINITE {
        let deleted = until_within(SOON, &format!("{name} is deleted"), || pod(&cluster, name).filter(is_deleted));
        let stayed = last_moment(&deleted).duration_since(untainted_at);
        assert!(stayed >= (tolerated - ROUNDED).try_into().unwrap(), "{name} was deleted within {stayed:#}");
        assert_eq!(disruption(&deleted), Some("DeletionByTaintManager".into()), "{deleted}");
        assert!(last_moment(&before) < last_moment(&deleted), "{before} {deleted}");
        before = deleted;
    }
    for name in ["plain", "finite", "longer"] {
        let patch = r#"{"metadata":{"finalizers":null}}"#;
        cluster.must_kubectl(&["patch", "pod", name, "--type=merge", "--patch", patch]);
    }
    assert!(stays(&cluster, &["tolerant", "patient", "elsewhere"]));

    failing(&cluster, false);
    until_within(SOON, "the taint is gone", || (!is_tainted(&cluster)).then_some(()));
    lasts(PATIENT, "patient stays, and so do the others", || stays(&cluster, &["tolerant", "patient", "elsewhere"]));
}

fn failing(cluster: &Cluster, is_failing: bool) {
    let reason = if is_failing { "DiskIsFailing" } else { "DiskIsHealthy" };
    let report = format!(
        "nodewell report --source case --condition DiskUnhealthy={is_failing} --reason {reason} --subject /case \
         --message 'as this case has it'"
    );
    let reported = cluster.worker(NODE).unwrap().inside().as_unit("case", &[], &report);
    assert_eq!(reported.code, 0, "{reported:?}");
}

fn is_tainted(cluster: &Cluster) -> bool {
    let node = cluster.api().node(NODE).unwrap();
    node["spec"]["taints"].as_array().is_some_and(|taints| taints.iter().any(|taint| taint["key"] == KEY))
}

fn pod(cluster: &Cluster, name: &str) -> Option<Value> {
    cluster.api().get(&format!("/api/v1/namespaces/default/pods/{name}"))
}

fn is_deleted(pod: &Value) -> bool {
    !pod["metadata"]["deletionTimestamp"].is_null()
}

/// To whole seconds, a moment after it was deleted: it may take so long to end.
fn last_moment(pod: &Value) -> Timestamp {
    let last = &pod["metadata"]["deletionTimestamp"];
    last.as_str().and_then(|last| last.parse().ok()).unwrap_or_else(|| panic!("deleted at no time: {pod}"))
}

fn stays(cluster: &Cluster, names: &[&str]) -> bool {
    names.iter().all(|name| pod(cluster, name).is_some_and(|pod| !is_deleted(&pod)))
}

/// Why it was disrupted, if it was.
fn disruption(pod: &Value) -> Option<Value> {
    let conditions = pod["status"]["conditions"].as_array()?;
    conditions.iter().find(|condition| condition["type"] == "DisruptionTarget").map(|one| one["reason"].clone())
}
