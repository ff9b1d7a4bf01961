//! A filesystem that only a pod has mounted fails: the node reports it for as long as the pod cannot write, although
//! none of the node's own mounts has it, and no longer than it is mounted.

use std::time::{Duration, Instant};

use nodewell_cluster::{
    CLUSTER, Cluster, Plan,
    worker::{OPTIONS, Report},
};
use nodewell_tests::{
    suite::{Need, Suite},
    wait::{until, until_within},
};

const CONDITION: &str = "ReadonlyFilesystem";
const SOON: Duration = Duration::from_secs(60);
/// How often the agent looks at all filesystems, in this case.
const INTERVAL: Duration = Duration::from_secs(5);
/// Some of its looks.
const LOOKS: u32 = 4;

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("pods_own_filesystem").case_with(
        &[Need::LongSuite, CLUSTER, Need::KernelLog, Need::LoopDevice],
        "is_reported_until_it_is_mounted_nowhere",
        is_reported_until_it_is_mounted_nowhere,
    );
}

fn is_reported_until_it_is_mounted_nowhere() {
    let cluster = Cluster::start(Plan { workers: 1, controllers: 0, kernel_log: Some(1), ..Plan::default() });
    let w1 = cluster.worker("w1").unwrap();
    let config = format!("[mounts]\ninterval = \"{}s\"\n", INTERVAL.as_secs());
    w1.write("/etc/nodewell/nodewell.toml.d/case.toml", &config);
    cluster.install();
    let disk = w1.ext4();
    // The agent is asked itself: on the Node a second end within ten minutes is held for 30 s.
    let reported = |report: Report| (disk.report(CONDITION)? == report).then_some(());
    cluster.api().wait_condition(SOON, "w1", "KernelDeadlock", "False");
    // An older fault of another disk of that name may be in the kernel's log.
    until_within(SOON, "nothing is known of the disk", || reported(Report::NoFault));
    cluster.apply_text(&pod(disk.device()));
    cluster.must_kubectl(&["wait", "--for=condition=Ready", "pod/writer", "--timeout=60s"]);
    let mounts = w1.inside().sh("cat /proc/1/mounts");
    assert!(!mounts.contains(&format!("/dev/{} ", disk.device())), "the machine itself has it mounted: {mounts}");

    disk.fail();
    until_within(SOON, "the condition names the device", || reported(Report::Fault));
    let begun = Instant::now();
    while begun.elapsed() < INTERVAL * LOOKS {
        let written = cluster.kubectl(&["exec", "writer", "--", "touch", "/mnt/file"]);
        assert!(written.stderr.contains("Read-only file system"), "{written:?}");
        let report = until("the agent answers", || disk.report(CONDITION));
        assert_eq!(report, Report::Fault, "after {:?}, while the pod cannot write", begun.elapsed());
    }
    let message = cluster.api().true_message("w1", CONDITION);
    assert!(message.as_ref().is_some_and(|text| disk.is_named_in(text)), "on the Node: {message:?}");

    cluster.must_kubectl(&["delete", "pod", "writer", "--grace-period=1", "--wait"]);
    until_within(SOON, "it is over", || reported(Report::NoFault));
    until_within(SOON, "on the Node, too", || {
        let condition = cluster.api().condition_of("w1", CONDITION)?;
        // Another run's disk may be in the kernel's log.
        let is_of_others = || condition["message"].as_str().is_some_and(|text| !disk.is_named_in(text));
        (condition["status"] == "False" || condition["status"] == "True" && is_of_others()).then_some(())
    });
}

fn pod(device: &str) -> String {
    format!(
        "
apiVersion: v1
kind: Pod
metadata: {{ name: writer }}
spec:
  containers:
    - name: writer
      image: localhost/busybox:1
      imagePullPolicy: Never
      securityContext: {{ privileged: true }}
      command: [sh, -c, 'mkdir -p /mnt && mount -t ext4 -o {OPTIONS} /host/{device} /mnt && touch /mnt/there && sleep 9999']
      readinessProbe: {{ exec: {{ command: [test, -e, /mnt/there] }}, periodSeconds: 1 }}
      volumeMounts: [{{ name: dev, mountPath: /host }}]
  volumes: [{{ name: dev, hostPath: {{ path: /dev }} }}]
"
    )
}
