//! What Kubernetes' own case asks of Node Problem Detector (test/e2e/node/node_problem_detector.go), of an agent that has
//! its stock config: it runs, a hung docker is a condition and one Event of the Node, a kubelet's start is an Event.
//!
//! That case restarts no kubelet, and asks for no metric: that `problem_counter` is exactly 1 is asked by Node Problem
//! Detector's own (test/e2e/metriconly/metrics_test.go).

use std::time::Duration;

use nodewell_cluster::{CLUSTER, Cluster, Plan, worker::Worker};
use nodewell_tests::{
    kmsg::RealKmsg,
    suite::{Need, Suite},
    wait::until_within,
};

const SOON: Duration = Duration::from_secs(90);
const NODE: &str = "w1";
/// What user space writes into the kernel's log is not the kernel's, but is read here.
const CONFIG: &str = "npd-config = [\"/etc/nodewell/kernel-monitor.json\"]\n[kmsg]\nfacilities = [0, 1]\n";
const STOCK: &str = include_str!("../../../agent/rules/tests/npd/kernel-monitor.json");
const HUNG: &str = "INFO: task docker:12345 blocked for more than 120 seconds.";

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("node_problem").case_with(
        &[Need::LongSuite, CLUSTER, Need::KernelLog],
        "is_reported_as_by_node_problem_detector",
        is_reported_as_by_node_problem_detector,
    );
}

fn is_reported_as_by_node_problem_detector() {
    let cluster = Cluster::start(Plan { workers: 1, controllers: 0, kernel_log: Some(1), ..Plan::default() });
    let worker = cluster.worker(NODE).unwrap();
    worker.write("/etc/nodewell/kernel-monitor.json", STOCK);
    worker.write("/etc/nodewell/nodewell.toml.d/case.toml", CONFIG);
    cluster.install();
    cluster.api().wait_condition(SOON, NODE, "KernelDeadlock", "False");
    let started = runs_since(worker);

    RealKmsg::take().write(HUNG);
    until_within(SOON, "the condition is True with the rule's reason", || {
        let condition = cluster.api().condition_of(NODE, "KernelDeadlock")?;
        (condition["status"] == "True" && condition["reason"] == "DockerHung").then_some(())
    });
    until_within(SOON, "an Event DockerHung", || (cluster.api().happened(NODE, "DockerHung") > 0).then_some(()));
    assert_eq!(counted(worker, "DockerHung"), "1", "problem_counter");
    // The agent may have read of the one at the boot.
    let before = cluster.api().happened(NODE, "KubeletStart");
    worker.inside().sh("systemctl restart kubelet");
    until_within(SOON, "an Event KubeletStart", || {
        (cluster.api().happened(NODE, "KubeletStart") > before).then_some(())
    });
    assert_eq!(runs_since(worker), started, "the agent has run all the time");
    assert_eq!((cluster.api().happened(NODE, "DockerHung"), counted(worker, "DockerHung")), (1, "1".to_owned()));
}

/// What the agent shows Prometheus of a reason.
fn counted(worker: &Worker, reason: &str) -> String {
    let metrics = worker.inside().sh("curl --silent --fail http://127.0.0.1:20259/metrics");
    let series = format!("problem_counter{{reason=\"{reason}\"}} ");
    metrics.lines().find_map(|line| line.strip_prefix(&series)).unwrap_or_default().to_owned()
}

/// When its process was started, and how often systemd has.
fn runs_since(worker: &Worker) -> [String; 2] {
    ["ExecMainStartTimestampMonotonic", "NRestarts"].map(|name| worker.inside().property("nodewell.service", name))
}
