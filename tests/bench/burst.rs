//! Many problems of one kind at once, and then one of another kind.

use std::{
    fmt::Write as _,
    time::{Duration, Instant},
};

use nodewell_tests::cluster::Cluster;

use crate::{
    daemon::Daemon,
    observer::Observer,
    setting::{Setting, joined},
    statistics::Samples,
    table::{Row, Unit},
    wait,
};

const LINES: u64 = 5000;
const SUBJECTS: u64 = 10;
const TARGET_MILLIS: f64 = 100.0;
/// Counts are patched at the pace of the limits on Events: at most one a minute for each subject after the first five.
const COUNTING: Duration = Duration::from_secs(100);

pub(crate) fn rows(setting: &Setting) -> Vec<Row> {
    let cluster = match &setting.cluster {
        Ok(cluster) => cluster,
        Err(missing) => return vec![Row::not_run("5,000 problems in a burst", missing)],
    };
    let observer = Observer::new(cluster);
    let runs: Vec<Run> = (0..setting.times(5, 2)).map(|number| Run::new(cluster, &observer, number)).collect();
    let times: Vec<Duration> = runs.iter().map(|run| run.other_kind).collect();
    let counted = runs.iter().map(|run| run.daemon.metric("problem_counter", &["reason=\"TaskHung\""]));
    let delivered = runs.iter().map(|run| run.delivered(cluster));
    vec![
        Row::median("5,000 problems (a FIFO), then another kind → in the API", &Samples::millis(&times), Unit::Millis)
            .at_most(TARGET_MILLIS)
            .npd("not within 30 s"),
        Row::median("  counted by the agent", &Samples::new(counted), Unit::Count).exactly(precise(LINES)).npd("5,000"),
        Row::median("  counted by Events in the API", &Samples::new(delivered), Unit::Count)
            .exactly(precise(LINES))
            .npd("25"),
    ]
}

/// One burst on an agent and a Node of its own.
struct Run {
    daemon: Daemon,
    node: String,
    other_kind: Duration,
}

impl Run {
    fn new(cluster: &Cluster, observer: &Observer, number: usize) -> Self {
        let node = format!("bench-burst-{number}");
        let daemon = Daemon::start(joined(cluster, &node).with_fifo().config("journal.enabled = false\n"));
        observer.node(&node, |conditions| !conditions.is_empty());
        let burst = burst();
        daemon.plan().kmsg().raw(burst.as_bytes());
        daemon.plan().kmsg().lose(LINES);
        let start = Instant::now();
        daemon.plan().kmsg().write("nfs: server filer not responding, still trying");
        let other_kind = observer.event(&node, "NfsServerNotResponding") - start;
        Self { daemon, node, other_kind }
    }

    /// What the counts of the Events on the server come to.
    fn delivered(&self, cluster: &Cluster) -> f64 {
        let deadline = Instant::now() + COUNTING;
        wait::until_within(COUNTING * 2, "the counts are read", || {
            let events = cluster.events(&self.node, "TaskHung");
            let total: u64 = events.iter().filter_map(|event| event["count"].as_u64()).sum();
            (total >= LINES || Instant::now() > deadline).then_some(precise(total))
        })
    }
}

/// Raw records as one write: the agent finds them all at once.
fn burst() -> String {
    let mut burst = String::new();
    for number in 1..=LINES {
        let (task, pid) = (number % SUBJECTS, 100_000 + number);
        let _ = writeln!(
            burst,
            "3,{number},{},-;INFO: task bench-{task}:{pid} blocked for more than 120 seconds.",
            number * 10
        );
    }
    burst
}

#[expect(clippy::cast_precision_loss, reason = "a few thousand")]
fn precise(count: u64) -> f64 {
    count as f64
}
