//! The state directory's disk stops answering: what people see, and what they are promised.

use std::{
    os::unix::fs::symlink,
    time::{Duration, Instant},
};

use nodewell_model::ConditionStatus;
use nodewell_tests::{
    agent::Plan,
    cluster::{Cluster, Identity},
    disk::{self, Disk},
    fire::RULES,
    http::over_socket,
};

use crate::{
    daemon::{Daemon, condition},
    probe::Probe,
    setting::Setting,
    statistics::Samples,
    table::{Row, Unit},
    wait,
};

const NODE: &str = "bench-hang";
const CONDITION: &str = "FireUnhealthy";
const UNWRITABLE: &str = "AgentStateUnwritable";
/// What a look at the socket costs, and the machine's mood.
const SLACK_MILLIS: f64 = 1.0;
const REPORT: &str = r#"{"source": "bench", "events":
    [{"severity": "warn", "timestamp": "2026-01-02T03:04:05Z", "reason": "BenchSeen", "message": "m"}]}"#;

pub(crate) fn rows(setting: &Setting) -> Vec<Row> {
    let measure = "  the same, state disk frozen and API server away";
    if let Some(missing) = disk::unmet() {
        return vec![Row::not_run(measure, missing)];
    }
    let (disk, cluster) = (Disk::mounted(), Cluster::double());
    let plan = Plan::new(NODE).rules(RULES);
    symlink(disk.mount_point(), plan.folder().join("state")).unwrap();
    cluster.create_node(NODE);
    let kubeconfig = cluster.write_kubeconfig(&Identity::Node(NODE.to_owned()), plan.folder());
    let daemon = Daemon::start(plan.kubeconfig(kubeconfig));
    let mut probe = daemon.probe();
    wait_for(&mut probe, UNWRITABLE, ConditionStatus::False);
    let times = setting.times(300, 50);
    let healthy = Samples::millis(&latencies(&daemon, &mut probe, times));
    // The API server is away too: reports have no other store than memory.
    cluster.stop();
    let frozen = disk.freeze();
    // From the first write on that does not return: the store has not reported yet that it hangs.
    let hanging = Samples::millis(&latencies(&daemon, &mut probe, times));
    wait_for(&mut probe, UNWRITABLE, ConditionStatus::True);
    let answers: Vec<u16> = (0..20).filter_map(|_| report(&daemon)).collect();
    drop(frozen);
    wait_for(&mut probe, UNWRITABLE, ConditionStatus::False);
    let promised = answers.iter().filter(|code| **code == 200).count();
    vec![
        Row::median_and_p99("line → condition on the socket, state disk well", &healthy, Unit::Millis),
        Row::median_and_p99(measure, &hanging, Unit::Millis).at_most(healthy.median() + SLACK_MILLIS),
        Row::new("reports promised to be saved while it is frozen", precise(promised), Unit::Count)
            .beside(format!("answers: {answers:?}"))
            .exactly(0.0),
    ]
}

/// From a line of the kernel log to its condition on the socket, so many times.
pub(crate) fn latencies(daemon: &Daemon, probe: &mut Probe, times: usize) -> Vec<Duration> {
    let toggle = |line: &str, wanted, probe: &mut Probe| {
        let start = Instant::now();
        daemon.plan().kmsg().write(line);
        wait_for(probe, CONDITION, wanted);
        start.elapsed()
    };
    (0..times)
        .map(|_| {
            let took = toggle("fire: fault on a", ConditionStatus::True, probe);
            toggle("fire: end on a", ConditionStatus::False, probe);
            took
        })
        .collect()
}

fn wait_for(probe: &mut Probe, name: &str, wanted: ConditionStatus) {
    wait::until("the condition turns", || (condition(probe, name) == Some(wanted)).then_some(()));
}

fn report(daemon: &Daemon) -> Option<u16> {
    over_socket(&daemon.socket(), hyper::Method::POST, "/v1/status", REPORT).map(|answer| answer.status.as_u16())
}

#[expect(clippy::cast_precision_loss, reason = "a few answers")]
fn precise(count: usize) -> f64 {
    count as f64
}
