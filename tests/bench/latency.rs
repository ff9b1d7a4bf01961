//! From a kernel line to the condition that people and the API server see.

use std::{
    fmt::Write as _,
    fs::OpenOptions,
    io::{Read, Seek, SeekFrom},
    thread,
    time::{Duration, Instant},
};

use nodewell_model::ConditionStatus;
use nodewell_tests::{
    agent::Plan,
    cluster::{Call, Client, Cluster, Identity},
    kmsg::RealKmsg,
};
use serde_json::{Value, json};

use crate::{
    daemon::{Daemon, condition},
    kernel_log::Writer,
    observer::Observer,
    probe::Probe,
    setting::{Setting, joined},
    statistics::Samples,
    table::{Row, Unit},
};

/// As many as the shipped rules have conditions, more or less; each can change once before its spacing of 10 s holds.
const CONDITIONS: usize = 20;
/// Two changes of one condition are at least so far apart, and a little more.
const SPACING: Duration = Duration::from_secs(11);
const P50_OVER_BARE_MILLIS: f64 = 2.0;
const P99_OVER_BARE_MILLIS: f64 = 10.0;

/// A shipped condition that a kernel line raises and another one clears.
const TOGGLED: &str = "VolumeUnhealthy";

pub(crate) fn to_socket(setting: &Setting) -> Vec<Row> {
    let daemon = Daemon::start(setting.log.plan_that_listens(Plan::new("bench-socket")));
    let (writer, mut probe) = (setting.log.writer(), daemon.probe());
    let times: Vec<Duration> = (0..setting.times(1000, 100))
        .map(|number| {
            let server = format!("nodewell-bench-{}-{number}", std::process::id());
            let start = Instant::now();
            writer.write(&daemon, &format!("nfs: server {server} not responding, still trying"));
            wait_for(&mut probe, ConditionStatus::True);
            let took = start.elapsed();
            writer.write(&daemon, &format!("nfs: server {server} OK"));
            wait_for(&mut probe, ConditionStatus::False);
            took
        })
        .collect();
    let measure = format!("line on {} → condition on the socket", setting.log.name());
    let mut rows = vec![Row::median_and_p99(measure, &Samples::millis(&times), Unit::Millis)];
    if let Writer::Real(kmsg) = &writer {
        let times: Vec<Duration> = (0..setting.times(1000, 100)).map(|_| bare_read(kmsg)).collect();
        let measure = "  a bare reader that polls /dev/kmsg, in the same run";
        rows.push(Row::median_and_p99(measure, &Samples::millis(&times), Unit::Millis));
    }
    rows
}

/// The kernel wakes readers of its log at the next tick of its clock: no reader is faster than this.
fn bare_read(kmsg: &RealKmsg) -> Duration {
    let mut reader = OpenOptions::new().read(true).open("/dev/kmsg").unwrap();
    reader.seek(SeekFrom::End(0)).unwrap();
    let waiting = thread::spawn(move || {
        let mut record = [0; 16 * 1024];
        reader.read(&mut record).map(|_| Instant::now()).unwrap()
    });
    // Long enough for the thread to wait in its read.
    thread::sleep(Duration::from_millis(1));
    let start = Instant::now();
    kmsg.write("nodewell bench: a bare line");
    waiting.join().unwrap() - start
}

/// Asks without a pause: a look costs a tenth of a millisecond.
fn wait_for(probe: &mut Probe, wanted: ConditionStatus) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while condition(probe, TOGGLED) != Some(wanted) {
        assert!(Instant::now() < deadline, "{TOGGLED} does not become {wanted:?}");
    }
}

/// Times from the same moment to what the API server shows.
#[derive(Default)]
struct Times {
    condition: Vec<Duration>,
    event: Vec<Duration>,
}

pub(crate) fn to_api(setting: &Setting) -> Vec<Row> {
    let cluster = match &setting.cluster {
        Ok(cluster) => cluster,
        Err(missing) => return vec![Row::not_run("line → accepted by the API server", missing)],
    };
    let agents: Vec<(String, Daemon)> =
        (0..setting.times(50, 5)).map(|number| agent_with_rules(cluster, number)).collect();
    // What was wrong before an agent's first look becomes a change, after which a condition waits.
    thread::sleep(SPACING);
    let (observer, bare) = (Observer::new(cluster), Bare::new(cluster));
    let (mut lines, mut requests) = (Times::default(), Times::default());
    for (number, (node, daemon)) in agents.iter().enumerate() {
        for line in 0..CONDITIONS {
            lines.add(&observer, node, line, || daemon.plan().kmsg().write(&format!("nodewell bench: fault {line}")));
            bare.add(&observer, line + number * CONDITIONS, &mut requests);
        }
    }
    compared(&lines, &requests)
}

impl Times {
    fn add(&mut self, observer: &Observer, node: &str, line: usize, act: impl FnOnce()) {
        let start = Instant::now();
        act();
        self.condition.push(observer.condition(node, &format!("Bench{line}")) - start);
        self.event.push(observer.event(node, &format!("Fault{line}")) - start);
    }
}

fn compared(agents: &Times, requests: &Times) -> Vec<Row> {
    let mut rows = Vec::new();
    let kinds = [
        ("condition in the API", &agents.condition, &requests.condition, "656 ms (141 – 952)"),
        ("Event in the API", &agents.event, &requests.event, "6.8 ms (4.1 – 9.0)"),
    ];
    for (what, agent, bare, npd) in kinds {
        let (agent, bare) = (Samples::millis(agent), Samples::millis(bare));
        let measure = format!("line on a FIFO → {what}");
        rows.push(Row::median_and_p99(measure, &agent, Unit::Millis).npd(npd));
        rows.push(Row::median_and_p99("  a bare request in the same run, both at once", &bare, Unit::Millis));
        let over = |of: fn(&Samples) -> f64| of(&agent) - of(&bare);
        rows.push(Row::new("  over it, p50", over(Samples::median), Unit::Millis).at_most(P50_OVER_BARE_MILLIS));
        rows.push(Row::new("  over it, p99", over(Samples::p99), Unit::Millis).at_most(P99_OVER_BARE_MILLIS));
    }
    rows
}

/// On a kernel log of its own, so that the agents do not read each other's lines.
fn agent_with_rules(cluster: &Cluster, number: usize) -> (String, Daemon) {
    let node = format!("bench-api-{number}");
    let plan = joined(cluster, &node).with_fifo().config("journal.enabled = false\n");
    let mut rules = String::new();
    for line in 0..CONDITIONS {
        let text = format!("nodewell bench: fault {line}");
        let _ = write!(
            rules,
            "[[condition]]\ntype = \"Bench{line}\"\nhealthy-reason = \"AllIsWell\"\nhealthy-message = \"nothing is wrong\"\n\
             [[rule]]\nreason = \"Fault{line}\"\ntype = \"permanent\"\ncondition = \"Bench{line}\"\nsource = \"kmsg\"\n\
             severity = \"error\"\npattern = '^{text}$'\nclears = {{ boot = true }}\norigin = \"the bench\"\n\
             explain = \"Made by the bench.\"\nmatches = ['{text}']\nignores = ['x {text}']\n"
        );
    }
    plan.file("rules/bench.toml", &rules);
    let folder = plan.folder().join("rules");
    (node, Daemon::start(plan.flag("--rules", folder)))
}

/// A client that sends the same to the same server without an agent: over an open connection, with the same rights.
struct Bare {
    client: Client,
    node: &'static str,
}

impl Bare {
    fn new(cluster: &Cluster) -> Self {
        let node = "bench-bare";
        cluster.create_node(node);
        Self { client: cluster.client(&Identity::Node(node.to_owned())), node }
    }

    /// Both at once, as the agent has to send both for one line.
    fn add(&self, observer: &Observer, number: usize, times: &mut Times) {
        let (message, reason) = (format!("fault {number}"), format!("Bare{number}"));
        let is_there = |conditions: &[Value]| conditions.iter().any(|one| one["message"] == message.as_str());
        let start = Instant::now();
        thread::scope(|scope| {
            scope.spawn(|| self.apply(number));
            scope.spawn(|| self.post(&reason));
            times.condition.push(observer.node(self.node, is_there) - start);
            times.event.push(observer.event(self.node, &reason) - start);
        });
    }

    fn apply(&self, number: usize) {
        let condition = |n: usize| {
            let message =
                if n == number % CONDITIONS { format!("fault {number}") } else { "nothing is wrong".to_owned() };
            json!({ "type": format!("Bench{n}"), "status": "True", "reason": "Fault", "message": message })
        };
        let conditions: Vec<Value> = (0..CONDITIONS).map(condition).collect();
        let body = json!({
            "apiVersion": "v1", "kind": "Node", "metadata": { "name": self.node }, "status": { "conditions": conditions },
        });
        let path = format!("/api/v1/nodes/{}/status?fieldManager=bench&force=true", self.node);
        let (code, answer) = self.client.call(&Call::apply(&path, &body).metadata_only());
        assert_eq!(code, 200, "{answer}");
    }

    fn post(&self, reason: &str) {
        let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let body = json!({
            "apiVersion": "v1", "kind": "Event", "type": "Warning", "reason": reason, "message": "a bare request",
            "metadata": { "name": format!("{}.{}", self.node, reason.to_lowercase()), "namespace": "default" },
            "involvedObject": { "apiVersion": "v1", "kind": "Node", "name": self.node },
            "source": { "component": "bench" }, "count": 1, "firstTimestamp": now, "lastTimestamp": now,
        });
        let (code, answer) = self.client.call(&Call::post("/api/v1/namespaces/default/events", &body));
        assert_eq!(code, 201, "{answer}");
    }
}
