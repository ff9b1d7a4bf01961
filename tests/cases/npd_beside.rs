//! Node Problem Detector on the same node, with condition types that are ours too: its own program where it lies beside
//! the real server's, at the ports that both programs have by default; and everywhere its writer as it is played here,
//! a strategic merge patch of all its conditions at each heartbeat and change, and Events by client-go's recorder.

use std::{
    ffi::OsString,
    fs::{self, OpenOptions},
    io::Write as _,
    path::Path,
    thread,
    time::Duration,
};

use jiff::{Timestamp, Zoned};
use nodewell_tests::{
    agent::Agent,
    cluster::{Call, Cluster, Identity},
    http::over_tcp,
    loopback::Loopback,
    process::Process,
    real,
    suite::{Need, Suite},
    wait::{lasts, until, until_within},
};
use serde_json::{Value, json};

use crate::{
    api_conditions::{plan_on, wait_published},
    lines::OOPS,
};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("npd_beside")
        .on_double("neither_writer_fights_the_other", neither_writer_fights_the_other)
        .real_with(&[Need::Other(no_npd), Need::Wire], "its_own_program_is_neither_fought_nor_missed", its_own_program);
}

fn no_npd() -> Option<String> {
    real::present(NPD).err().map(|_| format!("needs {NPD}, built from its source, in KUBEBUILDER_ASSETS"))
}

const NPD: &str = "node-problem-detector";
const NODE: &str = "npd-beside";
/// Far more often than it beats by itself, which is every five minutes.
const BEATS: usize = 40;
/// Of the agent's heartbeats, its faults, and a look now and then whether the other writer is still there.
const REQUESTS: usize = 30;
/// Its two ports and the agent's, each by default: it ends where one of its own is taken.
const PAGES: [(&str, &str, &str); 3] = [
    ("127.0.0.1:20256", "/healthz", "ok"),
    ("127.0.0.1:20257", "/metrics", "problem_counter"),
    ("127.0.0.1:20259", "/metrics", "nodewell_apiserver_connected"),
];
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
        thread::sleep(Duration::from_millis(250));
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

/// As it stands in its own kernel-monitor.json, but for where the lines are.
fn its_config(log: &Path) -> Value {
    json!({
        "plugin": "filelog",
        "pluginConfig": {"timestamp": "^.{15}", "message": "kernel: \\[.*\\] (.*)", "timestampFormat": "Jan _2 15:04:05"},
        "logPath": log, "lookback": "5m", "bufferSize": 10, "source": "kernel-monitor",
        "conditions": [{"type": "KernelDeadlock", "reason": "KernelHasNoDeadlock", "message": "kernel has no deadlock"}],
        "rules": [{"type": "permanent", "condition": "KernelDeadlock", "reason": "DockerHung",
            "pattern": "task docker:\\w+ blocked for more than \\w+ seconds\\."}],
    })
}

fn start_it(cluster: &Cluster, node: &str, folder: &Path, apart: &Loopback) -> Process {
    let (log, config) = (folder.join("kern.log"), folder.join("kernel-monitor.json"));
    fs::write(&log, "").unwrap();
    fs::write(&config, its_config(&log).to_string()).unwrap();
    let kubeconfig = cluster.write_kubeconfig(&Identity::Admin, folder);
    let written: Value = serde_json::from_str(&fs::read_to_string(&kubeconfig).unwrap()).unwrap();
    let server = written["clusters"][0]["cluster"]["server"].as_str().unwrap();
    let its = [
        real::binary(NPD).display().to_string(),
        format!("--config.system-log-monitor={}", config.display()),
        format!("--apiserver-override={server}?inClusterConfig=false&auth={}", kubeconfig.display()),
        format!("--hostname-override={node}"),
        "--k8s-exporter-heartbeat-period=10s".to_owned(),
    ];
    let argv: Vec<OsString> = apart.enter().into_iter().chain(its.map(OsString::from)).collect();
    Process::start(&argv, &folder.join("npd.log")).unwrap()
}

fn each_answers_at_its_port(apart: &Loopback) {
    for (address, target, text) in PAGES {
        until(&format!("http://{address}{target} has {text}"), || {
            let answer = apart.inside(|| over_tcp(address, target))?;
            (answer.code() == 200 && answer.body.contains(text)).then_some(())
        });
    }
}

fn its_own_program(cluster: &Cluster) {
    let node = "npd-itself";
    let config = "[apiserver]\nheartbeat = \"10s\"\ntake-over = \"1m\"\n";
    // Outside, another program of this machine may have one of these ports.
    let apart = Loopback::with(cluster.as_real().address());
    let plan = plan_on(cluster, node).config(config).wrapped_in(apart.enter());
    let agent = plan.with_usual_metrics_address().start();
    wait_published(cluster, node, "KernelDeadlock", "False");
    let folder = tempfile::tempdir().unwrap();
    let mut npd = start_it(cluster, node, folder.path(), &apart);
    let line = format!(
        "{} {node} kernel: [ 123.45] task docker:123 blocked for more than 120 seconds.\n",
        Zoned::now().strftime("%b %e %H:%M:%S")
    );
    let mut log = OpenOptions::new().append(true).open(folder.path().join("kern.log")).unwrap();
    log.write_all(line.as_bytes()).unwrap();
    let is_its = || cluster.condition(node, "KernelDeadlock").is_some_and(|it| it["reason"] == "DockerHung");
    until("its condition is on the Node", || is_its().then_some(()));
    each_answers_at_its_port(&apart);
    until("an Event names it", || (!cluster.events(node, "ConditionConflict").is_empty()).then_some(()));
    agent.kmsg().write(OOPS);
    wait_published(cluster, node, "KernelUnhealthy", "True");
    lasts(Duration::from_secs(35), "three heartbeats of both write over nothing", is_its);
    npd.kill();
    let ours = until_within(Duration::from_secs(150), "it is the agent's again", || {
        cluster.condition(node, "KernelDeadlock").filter(|seen| seen["status"] == "False")
    });
    assert_eq!(ours["reason"], "KernelHasNoDeadlock");
    until("an Event says so", || (!cluster.events(node, "ConditionTakenOver").is_empty()).then_some(()));
}
