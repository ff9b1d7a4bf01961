//! A node's life with nodewell, from end to end: installed, it reports; a fault that the kernel logs has the node
//! drained, and it is given back when that is mended; a plug that is pulled has the next node fenced, its StatefulSet's
//! pod starts elsewhere, and the machine comes back by its BMC and is taken in again.

use std::time::Duration;

use jiff::Timestamp;
use nodewell_cluster::{
    CLUSTER, Cluster, Plan,
    manifests::{DEAD_NODES, READONLY_FILESYSTEMS, SHOP},
    step,
    worker::{Report, Worker},
};
use nodewell_tests::{
    suite::{Need, Suite},
    wait::until_within,
};

use crate::{off_before_release::assert_off_before_release, settles::assert_nothing_too_soon};

/// Each is a matter of seconds on two cores that have nothing else to do.
const SOON: Duration = Duration::from_secs(60);
/// Silence of a Lease, two readings of the power, a release, the start of a pod.
const FENCED: Duration = Duration::from_secs(90);
const POD: &str = "shop-0";

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("fault_drain_fence_return").case_with(
        &[CLUSTER, Need::KernelLog, Need::LoopDevice],
        "one_node_drained_one_fenced",
        one_node_drained_one_fenced,
    );
}

fn one_node_drained_one_fenced() {
    let cluster = Cluster::start(Plan { kernel_log: Some(1), ..Plan::default() });
    cluster.install();
    step("installed, each agent reports, of its machine's own boot", || reports(&cluster));
    step("a pod runs", || runs(&cluster));
    step("a fault that the kernel logs: the pod is drained, and the node given back", || faulty(&cluster));
    let fenced = step("a pulled plug: fenced, and the pod is ready elsewhere", || plug_pulled(&cluster));
    step("the machine was turned on by its BMC, and is taken in", || returns(&cluster, &fenced));
}

fn reports(cluster: &Cluster) {
    for worker in cluster.workers() {
        cluster.api().wait_condition(SOON, worker.name(), "AgentStateUnwritable", "False");
        cluster.api().wait_condition(SOON, worker.name(), "FenceReady", "True");
        let boot = boot(cluster, worker).replace('-', "");
        let agents = worker.inside().sh("cat /var/lib/nodewell/boot-id");
        assert!(agents.contains(&boot), "the kubelet has the boot {boot}, the agent {agents}");
    }
    // The one that has a kernel log to read.
    cluster.api().wait_condition(SOON, "w1", "KernelDeadlock", "False");
}

fn runs(cluster: &Cluster) {
    // It starts where it will be drained.
    cluster.must_kubectl(&["cordon", "w2", "w3"]);
    cluster.apply_text(SHOP);
    ready(cluster, SOON, "w1");
    cluster.must_kubectl(&["uncordon", "w2", "w3"]);
    let served = cluster.kubectl(&["exec", POD, "--", "wget", "-q", "-O", "-", "http://127.0.0.1:8080/index.html"]);
    assert!(served.code == 0 && !served.stdout.is_empty(), "{served:?}");
}

fn faulty(cluster: &Cluster) {
    let w1 = cluster.worker("w1").unwrap();
    let disk = w1.ext4();
    let reported = |report: Report| (disk.report("ReadonlyFilesystem")? == report).then_some(());
    // An older fault of another disk of that name may be in the kernel's log.
    until_within(SOON, "nothing is known of the disk", || reported(Report::NoFault));
    disk.mount("/srv");
    cluster.apply_text(&policy_of(disk.device()));
    disk.fail();
    until_within(SOON, "the condition names the device", || reported(Report::Fault));
    until_within(SOON, "the pod is ready on another node", || {
        cluster.api().ready_on(POD).filter(|node| node != "w1").map(drop)
    });
    disk.unmount("/srv");
    cluster.api().wait_given_back(FENCED, "w1");
}

/// The sample, for one disk: there is one kernel, and what other tests of this machine break is in its log, too.
fn policy_of(device: &str) -> String {
    // CEL has no regular expressions here, and `loop1` is in `loop10`.
    let message = "conditions.ReadonlyFilesystem.message";
    let ends = [":", ",", " ", ")"].map(|end| format!("{message}.contains('{device}{end}')"));
    let named = format!("({} || {message}.endsWith('{device}'))", ends.join(" || "));
    let policy = READONLY_FILESYSTEMS.replace("== 'True'", &format!("== 'True' && {named}"));
    assert!(policy.contains(&named), "the sample is another one: {policy}");
    policy
}

/// A worker that was fenced.
struct Fenced<'a> {
    worker: &'a Worker,
    /// The boot that ended with the plug.
    boot: String,
    /// When the plug was out.
    off_since: Timestamp,
}

fn plug_pulled(cluster: &Cluster) -> Fenced<'_> {
    cluster.apply_text(DEAD_NODES);
    let node = until_within(SOON, "the pod is ready", || cluster.api().ready_on(POD));
    let worker = cluster.worker(&node).unwrap();
    let boot = boot(cluster, worker);
    worker.off();
    let off_since = Timestamp::now();
    until_within(FENCED, &format!("the pod is ready elsewhere than on {node}"), || {
        cluster.api().ready_on(POD).filter(|now| *now != node).map(drop)
    });
    Fenced { worker, boot, off_since }
}

fn returns(cluster: &Cluster, fenced: &Fenced<'_>) {
    let worker = fenced.worker;
    until_within(FENCED, "its BMC was ordered to turn it on", || {
        worker.orders().iter().any(|order| order.text == "set power 1").then_some(())
    });
    assert_off_before_release(cluster, worker, fenced.off_since);
    cluster.api().wait_condition(FENCED, worker.name(), "Ready", "True");
    cluster.api().wait_given_back(FENCED, worker.name());
    assert_nothing_too_soon(cluster, worker);
    assert_ne!(boot(cluster, worker), fenced.boot, "it has booted since");
    until_within(SOON, "the agent reports how the boot before ended", || {
        let its = format!("reason=UnexpectedReboot,involvedObject.name={}", worker.name());
        let events = cluster.must_kubectl(&["get", "events", "-A", "--field-selector", &its, "-o", "name"]);
        (!events.trim().is_empty()).then_some(())
    });
}

/// The boot that the kubelet reports.
fn boot(cluster: &Cluster, worker: &Worker) -> String {
    let node = cluster.api().node(worker.name()).unwrap();
    node["status"]["nodeInfo"]["bootID"].as_str().unwrap().to_owned()
}

#[track_caller]
fn ready(cluster: &Cluster, patience: Duration, node: &str) {
    until_within(patience, &format!("{POD} is ready on {node}"), || {
        (cluster.api().ready_on(POD)? == node).then_some(())
    });
}
