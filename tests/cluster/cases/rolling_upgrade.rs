//! All packages are upgraded, host after host, while each machine's agent takes reports. None of these is lost or
//! counted twice, and a node that dies in the middle is fenced.

use std::time::Duration;

use jiff::Timestamp;
use nodewell_cluster::{
    CLUSTER, Cluster, Plan,
    controller_host::ControllerHost,
    manifests::{DEAD_NODES, SHOP},
    shop::POD,
    worker::Worker,
};
use nodewell_tests::{
    machine::Package,
    suite::{Need, Suite},
    wait::until_within,
};

use crate::off_before_release::assert_off_before_release;

const SOON: Duration = Duration::from_secs(60);
const FENCED: Duration = Duration::from_secs(150);
/// The API server takes one Event of a subject a minute.
const COUNTED: Duration = Duration::from_secs(180);
const NODE: &str = "w2";
const REASON: &str = "LoadSeen";

/// Reports one event after the other. One that was not answered is sent again as the same report.
const LOAD: &str = r#"
number=0
while [ ! -e /root/load-ends ]; do
  number=$((number + 1))
  report='{"source": "load", "ttl": 600, "id": "'$number'", "events": [{"severity": "warn", "reason": "LoadSeen",
    "timestamp": "'$(date -u +%FT%TZ)'", "subject": "load", "message": "one more"}]}'
  until curl --silent --fail --output /dev/null --max-time 5 --unix-socket /run/nodewell/nodewell.sock     --header 'Content-Type: application/json' --data "$report" http://localhost/v1/status
  do echo >>/root/load-again; sleep 0.1; done
  echo >>/root/load-taken
  sleep 0.2
done
"#;

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("rolling_upgrade").case_with(
        &[Need::LongSuite, CLUSTER],
        "loses_no_report_and_no_fence",
        loses_no_report_and_no_fence,
    );
}

fn loses_no_report_and_no_fence() {
    let cluster = Cluster::start(Plan::default());
    cluster.install();
    [SHOP, DEAD_NODES].iter().for_each(|text| cluster.apply_text(text));
    cluster.wait_until_fences_are_ready();
    until_within(SOON, "the pod is ready", || (cluster.api().ready_on(POD)? == NODE).then_some(()));
    let [w1, w2, w3] = ["w1", NODE, "w3"].map(|name| cluster.worker(name).unwrap());
    let loaded = [w1, w3];
    loaded.iter().for_each(|worker| begin(worker));

    let [c1, c2] = cluster.controllers() else { panic!("two controllers") };
    w1.inside().install(Package::newer());
    upgrade(c1);
    w2.off();
    let off_since = Timestamp::now();
    upgrade(c2);
    until_within(FENCED, "the pod is ready elsewhere", || {
        cluster.api().ready_on(POD).filter(|node| node != NODE).map(drop)
    });
    w3.inside().install(Package::newer());
    until_within(SOON, "its BMC turns it on again", || {
        w2.orders().iter().any(|order| order.text == "set power 1").then_some(())
    });
    assert_off_before_release(&cluster, w2, off_since);
    cluster.api().wait_given_back(FENCED, NODE);
    w2.inside().install(Package::newer());

    for worker in loaded {
        let taken = end(worker);
        let (name, again) = (worker.name(), sent_again(worker));
        // The agent's own list is of its run, and that begins with the upgrade.
        until_within(COUNTED, &format!("{name}: its Events count {taken}, of which {again} were sent again"), || {
            (on_the_server(&cluster, name) >= taken).then_some(())
        });
        assert_eq!(on_the_server(&cluster, name), taken, "{name}: {again} were sent again");
        assert!(worker.orders().iter().all(|order| !order.text.starts_with("set power")), "{:?}", worker.orders());
    }
    for worker in cluster.workers() {
        let version = worker.inside().sh("dpkg-query --show --showformat='${Version}' nodewell");
        assert!(version.starts_with("99.0.0"), "{}: {version}", worker.name());
        until_within(SOON, "the agent answers", || worker.inside().ask("/v1/version"));
        cluster.api().wait_condition(SOON, worker.name(), "FenceReady", "True");
    }
}

fn upgrade(host: &ControllerHost) {
    host.inside().install(Package::newer_controller());
    host.wait_until_ready();
}

fn begin(worker: &Worker) {
    let inside = worker.inside();
    inside.write("/root/load", LOAD);
    inside.sh("systemd-run --quiet --unit=load sh /root/load");
    until_within(SOON, "reports are taken", || (lines(worker, "load-taken") > 0).then_some(()));
}

/// How many reports were taken.
fn end(worker: &Worker) -> u64 {
    worker.inside().write("/root/load-ends", "");
    worker.inside().wait_property("load.service", "ActiveState", "inactive");
    lines(worker, "load-taken")
}

fn sent_again(worker: &Worker) -> u64 {
    lines(worker, "load-again")
}

fn lines(worker: &Worker, file: &str) -> u64 {
    worker.inside().sh(&format!("touch /root/{file} && wc -l </root/{file}")).parse().unwrap()
}

fn on_the_server(cluster: &Cluster, node: &str) -> u64 {
    let selector = format!("fieldSelector=involvedObject.name%3D{node},reason%3D{REASON}");
    let events = cluster.api().get(&format!("/api/v1/namespaces/default/events?{selector}")).unwrap_or_default();
    let events = events["items"].as_array().cloned().unwrap_or_default();
    events.iter().map(|event| event["count"].as_u64().unwrap_or(1)).sum()
}
