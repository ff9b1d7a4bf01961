//! A pod whose PID 1 reaps nothing: an Event of the Node names the pod and the process, and the node is well all the time.

use std::time::Duration;

use nodewell_cluster::{CLUSTER, Cluster, Plan};
use nodewell_tests::{
    suite::{Need, Suite},
    wait::{lasts, until_within},
};

const SOON: Duration = Duration::from_secs(60);
/// Two looks: each takes a ten-thousandth of a CPU at most, and so one comes after fifteen minutes at the latest.
const TWO_LOOKS: Duration = Duration::from_mins(31);
/// How often the agent looks, in this case.
const INTERVAL: Duration = Duration::from_secs(5);
/// Its first process has as many children as are too many, twice, and asks of none how it ended.
const CARELESS: &str = "
apiVersion: v1
kind: Pod
metadata: { name: careless }
spec:
  terminationGracePeriodSeconds: 1
  containers:
    - name: careless
      image: localhost/busybox:1
      imagePullPolicy: Never
      command: [sh, -c, 'for i in $(seq 200); do (sleep 1 &); done; exec sleep 9999']
";

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("pods_zombies").case_with(
        &[Need::LongSuite, CLUSTER],
        "are_an_event_with_its_name_and_no_condition",
        are_an_event_with_its_name_and_no_condition,
    );
}

fn are_an_event_with_its_name_and_no_condition() {
    let cluster = Cluster::start(Plan { workers: 1, controllers: 0, ..Plan::default() });
    let config = format!("[limits]\ninterval = \"{}s\"\n", INTERVAL.as_secs());
    cluster.worker("w1").unwrap().write("/etc/nodewell/nodewell.toml.d/case.toml", &config);
    cluster.install();
    cluster.api().wait_condition(SOON, "w1", "TasksUnhealthy", "False");
    cluster.apply_text(CARELESS);
    let event = until_within(TWO_LOOKS, "an Event", || {
        let events = cluster
            .api()
            .get("/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Dw1,reason%3DPodZombieTasks")?;
        events["items"].as_array()?.first().cloned()
    });
    let message = event["message"].as_str().unwrap();
    assert!(message.contains("default/careless") && message.contains("sleep (pid "), "{message}");
    lasts(4 * INTERVAL, "the node is well", || {
        cluster.api().condition("w1", "TasksUnhealthy").as_deref() == Some("False")
    });
    let shown = cluster.must_kubectl(&["describe", "node", "w1"]);
    assert!(shown.contains("default/careless"), "{shown}");
}
