//! A worker that is a virtual machine: a kernel, boots and cgroups (of version 2 alone) of its own. What one kernel for all
//! machines cannot show: a pod that the kernel kills there, a panic that its firmware remembers, a reboot, a machine that
//! hangs.

use std::time::Duration;

use jiff::Timestamp;
use nodewell_cluster::{
    CLUSTER, Cluster, Plan, VIRTUAL_WORKER,
    manifests::{DEAD_NODES, SHOP},
    off_before_release, step,
    worker::VirtualWorker,
};
use nodewell_tests::{
    suite::{Need, Suite},
    wait::{lasts, until_within},
};
use nodewell_vm::GUEST;

const SOON: Duration = Duration::from_secs(90);
/// Each instruction is emulated, and the outer machine may have more to do.
const EMULATED: Duration = Duration::from_mins(10);
/// Silence, an order to turn it off, two readings, the start of a pod.
const FENCED: Duration = Duration::from_mins(4);
const POD: &str = "shop-0";
/// It has more memory than it may within a moment.
const HUNGRY: &str = "
apiVersion: v1
kind: Pod
metadata: { name: hungry }
spec:
  nodeName: @NODE@
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  containers:
    - name: hungry
      image: localhost/busybox:1
      imagePullPolicy: Never
      command: [tail, /dev/zero]
      resources: { limits: { memory: 32Mi } }
";

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("own_kernel").case_with(
        &[Need::LongSuite, CLUSTER, GUEST, VIRTUAL_WORKER],
        "kills_panics_reboots_and_hangs_on_its_own",
        kills_panics_reboots_and_hangs_on_its_own,
    );
}

fn kills_panics_reboots_and_hangs_on_its_own() {
    let cluster = Cluster::start(Plan { workers: 2, controllers: 1, virtual_worker: true, ..Plan::default() });
    let worker = cluster.virtual_worker().unwrap();
    step("it takes scripts", || worker.wait_boot());
    cluster.install();
    step("its kernel and its cgroups are its own, and its agent reports", || is_its_own(&cluster, worker));
    step("a pod is killed for its memory: an Event names it, the node is well", || pod_killed(&cluster, worker));
    step("a panic: its firmware remembers it, the agent reports it", || panics(&cluster, worker));
    step("an orderly reboot is no fault", || reboots(&cluster, worker));
    step("it hangs: fenced, the pod is ready elsewhere, it is back", || hangs(&cluster, worker));
}

fn is_its_own(cluster: &Cluster, worker: &VirtualWorker) {
    cluster.api().wait_condition(EMULATED, worker.name(), "KernelDeadlock", "False");
    let other = cluster.workers()[0].name();
    assert_ne!(info(cluster, worker.name(), "kernelVersion"), info(cluster, other, "kernelVersion"));
    assert_eq!(worker.sh("stat --file-system --format %T /sys/fs/cgroup"), "cgroup2fs");
    let boot = worker.sh("cat /proc/sys/kernel/random/boot_id");
    assert_eq!(info(cluster, worker.name(), "bootID"), boot);
    until_within(EMULATED, "the agent has noted this boot", || notes(worker, &boot).then_some(()));
}

fn pod_killed(cluster: &Cluster, worker: &VirtualWorker) {
    let before = faults(cluster, worker.name());
    cluster.apply_text(&HUNGRY.replace("@NODE@", worker.name()));
    let message = until_within(EMULATED, "an Event that names the pod", || {
        events(cluster, worker.name(), "OOMKilling").into_iter().find(|message| message.contains("default/hungry"))
    });
    assert!(message.contains("tail"), "{message}");
    lasts(Duration::from_secs(15), "no condition is True for it", || faults(cluster, worker.name()) == before);
    cluster.must_kubectl(&["delete", "pod", "hungry"]);
}

fn panics(cluster: &Cluster, worker: &VirtualWorker) {
    let boot = info(cluster, worker.name(), "bootID");
    soon(worker, "echo c >/proc/sysrq-trigger");
    is_back(cluster, worker, &boot);
    for (reason, known) in [("KernelPanic", "sysrq triggered crash"), ("UnexpectedReboot", "")] {
        let messages = until_within(EMULATED, reason, || {
            Some(events(cluster, worker.name(), reason)).filter(|messages| !messages.is_empty())
        });
        assert!(messages.iter().all(|message| message.contains(known)), "{reason}: {messages:?}");
    }
}

fn reboots(cluster: &Cluster, worker: &VirtualWorker) {
    let before = events(cluster, worker.name(), "UnexpectedReboot");
    let boot = info(cluster, worker.name(), "bootID");
    soon(worker, "systemctl reboot");
    is_back(cluster, worker, &boot);
    let boot = info(cluster, worker.name(), "bootID");
    until_within(EMULATED, "the agent has judged it", || notes(worker, &boot).then_some(()));
    lasts(Duration::from_secs(15), "no further Event reports it", || {
        events(cluster, worker.name(), "UnexpectedReboot") == before
    });
}

/// What ends the machine, and the shell with it: after that has answered.
fn soon(worker: &VirtualWorker, script: &str) {
    worker.sh(&format!("setsid sh -c 'sleep 2; {script}' >/dev/null 2>&1 &"));
}

fn hangs(cluster: &Cluster, worker: &VirtualWorker) {
    let others: Vec<&str> = cluster.workers().iter().map(nodewell_cluster::worker::Worker::name).collect();
    others.iter().for_each(|node| drop(cluster.must_kubectl(&["cordon", node])));
    cluster.apply_text(SHOP);
    until_within(EMULATED, "the pod is ready on it", || (cluster.api().ready_on(POD)? == worker.name()).then_some(()));
    others.iter().for_each(|node| drop(cluster.must_kubectl(&["uncordon", node])));
    cluster.wait_until_fences_are_ready();
    let ready_timeout = "readyTimeout: 5m";
    assert!(DEAD_NODES.contains(ready_timeout), "the policy is another one");
    cluster.apply_text(&DEAD_NODES.replace(ready_timeout, "readyTimeout: 15m"));
    let boot = info(cluster, worker.name(), "bootID");

    worker.hang();
    let hung_at = Timestamp::now();
    until_within(FENCED, "the pod is ready elsewhere", || {
        cluster.api().ready_on(POD).filter(|node| node != worker.name()).map(drop)
    });
    let ordered = |text: &str| worker.orders().into_iter().find(|order| order.text == text && order.at > hung_at);
    let off = ordered("set power 0").expect("it had power").at;
    until_within(SOON, "its BMC turns it on", || ordered("set power 1").map(drop));
    let record = cluster.api().newest_record(worker.name()).expect("a record");
    off_before_release::check(&record, &worker.orders(), off).unwrap_or_else(|why| panic!("{why}"));
    is_back(cluster, worker, &boot);
    cluster.api().wait_given_back(EMULATED, worker.name());
}

/// Another boot than `boot` takes scripts, its kubelet is Ready, its agent reports.
fn is_back(cluster: &Cluster, worker: &VirtualWorker, boot: &str) {
    worker.wait_boot();
    until_within(EMULATED, "another boot is Ready", || {
        let node = cluster.api().node(worker.name())?;
        (node["status"]["nodeInfo"]["bootID"] != boot).then_some(())
    });
    cluster.api().wait_condition(EMULATED, worker.name(), "Ready", "True");
    until_within(EMULATED, "its agent runs", || (worker.run("systemctl is-active nodewell").code == 0).then_some(()));
}

/// What the kubelet reports of its machine.
fn info(cluster: &Cluster, node: &str, name: &str) -> String {
    let node = cluster.api().node(node).unwrap();
    node["status"]["nodeInfo"][name].as_str().unwrap().to_owned()
}

/// Whether the agent has noted that it runs in this boot.
fn notes(worker: &VirtualWorker, boot: &str) -> bool {
    worker.run("cat /var/lib/nodewell/boot-id").stdout.contains(&boot.replace('-', ""))
}

/// The messages of a Node's Events with this reason.
fn events(cluster: &Cluster, node: &str, reason: &str) -> Vec<String> {
    let events = cluster.api().events(node, reason);
    events.iter().filter_map(|event| event["message"].as_str().map(str::to_owned)).collect()
}

/// Its conditions that are True, but Ready.
fn faults(cluster: &Cluster, node: &str) -> Vec<String> {
    let node = cluster.api().node(node).unwrap();
    let conditions = node["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let is_good = |name: &str| ["Ready", "FenceReady"].contains(&name);
    let faults = conditions.iter().filter(|one| one["status"] == "True").filter_map(|one| one["type"].as_str());
    faults.filter(|name| !is_good(name)).map(str::to_owned).collect()
}
