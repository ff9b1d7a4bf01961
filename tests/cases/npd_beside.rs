//! Node Problem Detector on the same node, with condition types that are ours too. Its binary is not here: its writer is played,
//! a strategic merge patch of all its conditions at each heartbeat and change, and Events by client-go's recorder.

use jiff::Timestamp;
use nodewell_tests::{
    agent::Agent,
    cluster::{Call, Cluster},
    suite::Suite,
    wait::until,
};
use serde_json::{Value, json};

use crate::{
    api_conditions::{plan_on, wait_published},
    lines::OOPS,
};

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("npd_beside").on_double("neither_writer_fights_the_other", neither_writer_fights_the_other);
}

const NPD: &str = "node-problem-detector";
const NODE: &str = "npd-beside";
/// Far more often than it beats by itself, which is every five minutes.
const BEATS: usize = 40;
/// Of the agent's heartbeats, its faults, and a look now and then whether the other writer is still there.
const REQUESTS: usize = 30;
/// What its stock kernel monitor knows.
const TYPES: [&str; 2] = ["KernelDeadlock", "ReadonlyFilesystem"];

/// All its conditions, as it patches them.
fn beat(cluster: &Cluster, status: &str, number: usize) {
    let now = Timestamp::now().strftime("%FT%TZ").to_string();
    let conditions = TYPES.map(|name| {
        json!({"type": name, "status": status, "reason": "ByNpd", "message": format!("beat {number}"),
            "lastTransitionTime": now, "lastHeartbeatTime": now})
    });
    cluster.write_as_peer(NODE, NPD, &json!(conditions));
}

/// As its recorder writes one for the same kernel line.
fn event(cluster: &Cluster) {
    let involved = json!({"kind": "Node", "name": NODE, "uid": NODE});
    let body = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": format!("{NODE}.17b2"), "namespace": "default"},
        "involvedObject": involved, "reason": "KernelOops", "message": "kernel: BUG", "type": "Warning", "count": 1,
        "source": {"component": "kernel-monitor", "host": NODE}});
    let (code, answer) = cluster.admin(&Call::post("/api/v1/namespaces/default/events", &body));
    assert_eq!(code, 201, "{answer}");
}

fn requests(cluster: &Cluster) -> usize {
    let is_of_status = |verb: &str, path: &str| verb != "GET" && path.contains("/status");
    cluster.as_double().requests().iter().filter(|request| is_of_status(&request.verb, &request.path)).count()
}

fn neither_writer_fights_the_other(cluster: &Cluster) {
    let agent = plan_on(cluster, NODE).config("[apiserver]\nheartbeat = \"10s\"\n").start();
    wait_published(cluster, NODE, "KernelDeadlock", "False");
    beat(cluster, "True", 0);
    agent.kmsg().write(OOPS);
    event(cluster);
    until("an Event names the other writer", || (!cluster.events(NODE, "ConditionConflict").is_empty()).then_some(()));
    let before = requests(cluster);
    for number in 1..=BEATS {
        beat(cluster, if number.is_multiple_of(2) { "True" } else { "False" }, number);
        // What the agent would write over it: it looks at the Node when it changes, and reports what changes here.
        agent.kmsg().write(&format!("{OOPS} {number}"));
        std::thread::sleep(std::time::Duration::from_millis(250));
        let theirs =
            |name: &&str| cluster.condition(NODE, name).is_some_and(|it| it["message"] == format!("beat {number}"));
        assert!(TYPES.iter().all(theirs), "beat {number} was written over: {:?}", cluster.condition(NODE, TYPES[0]));
    }
    let asked = requests(cluster) - before;
    assert!(asked <= REQUESTS, "{asked} writes beside {BEATS} beats");
    wait_published(cluster, NODE, "KernelUnhealthy", "True");
    our_events_are_ours(cluster, &agent);
}

/// Two writers of one reason are two Events, and neither counts the other's.
fn our_events_are_ours(cluster: &Cluster, agent: &Agent) {
    until("nothing waits", || (agent.view().apiserver.undelivered == 0).then_some(()));
    let events = cluster.events(NODE, "KernelOops");
    let (ours, theirs): (Vec<&Value>, Vec<&Value>) =
        events.iter().partition(|event| event["reportingComponent"] == "nodewell");
    assert_eq!((ours.len(), theirs.len()), (1, 1), "{events:?}");
    assert_eq!(theirs[0]["count"], 1);
    let named = cluster.events(NODE, "ConditionConflict").len();
    assert!((1..=TYPES.len()).contains(&named), "once for each type, however long it lasts: {named}");
    assert!(agent.view().apiserver.message.contains(NPD), "{}", agent.view().apiserver.message);
}
