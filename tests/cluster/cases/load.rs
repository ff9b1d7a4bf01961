//! Reports that an agent takes one after the other, while a case does what may lose one: each is counted once.

use std::time::Duration;

use nodewell_cluster::{Cluster, worker::Worker};
use nodewell_tests::wait::until_within;

const SOON: Duration = Duration::from_secs(60);
/// The API server takes one Event of a subject a minute.
const COUNTED: Duration = Duration::from_secs(180);
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

pub(crate) fn begin(worker: &Worker) {
    let inside = worker.inside();
    inside.write("/root/load", LOAD);
    inside.sh("systemd-run --quiet --unit=load sh /root/load");
    until_within(SOON, "reports are taken", || (lines(worker, "load-taken") > 0).then_some(()));
}

/// No more of them; all that were taken are counted by Events of the Node, and none twice.
#[track_caller]
pub(crate) fn end_and_count(cluster: &Cluster, worker: &Worker) {
    let taken = end(worker);
    let (name, again) = (worker.name(), lines(worker, "load-again"));
    // The agent's own list is of its run, and that begins with an upgrade.
    until_within(COUNTED, &format!("{name}: its Events count {taken}, of which {again} were sent again"), || {
        (cluster.api().happened(name, REASON) >= taken).then_some(())
    });
    assert_eq!(cluster.api().happened(name, REASON), taken, "{name}: {again} were sent again");
}

/// How many reports were taken.
fn end(worker: &Worker) -> u64 {
    worker.inside().write("/root/load-ends", "");
    worker.inside().wait_property("load.service", "ActiveState", "inactive");
    lines(worker, "load-taken")
}

fn lines(worker: &Worker, file: &str) -> u64 {
    worker.inside().sh(&format!("touch /root/{file} && wc -l </root/{file}")).parse().unwrap()
}
