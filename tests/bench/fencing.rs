//! A node dies: how long until power is confirmed off and the pod of its StatefulSet is released, on the real API server
//! and real IPMI. Without a controller that pod is never released.

use std::{
    thread,
    time::{Duration, Instant},
};

use nodewell_tests::{
    cluster::{Call, Cluster},
    controller::{Controller, apply_manifests, apply_policy, careful_policy, phase},
    fencing::Fenced,
    real,
};
use serde_json::{Value, json};

use crate::{
    setting::Setting,
    statistics::Samples,
    table::{Row, Unit},
    wait::until_within,
};

const TARGET_P50_MILLIS: f64 = 25_000.0;
const TARGET_P99_MILLIS: f64 = 35_000.0;
/// Machines that die independently of each other, each again and again.
const LANES: u32 = 5;
const PATIENCE: Duration = Duration::from_secs(180);

pub(crate) fn rows(setting: &Setting) -> Vec<Row> {
    const MEASURE: &str = "a node dies → power off, its StatefulSet's pod released";
    if let Some(reason) = real::version().err().or_else(nodewell_bmc::missing) {
        return vec![Row::not_run(MEASURE, reason)];
    }
    let cluster = Cluster::own_real();
    apply_manifests(&cluster);
    apply_policy(&cluster, "dead-nodes", &policy());
    let lanes: Vec<Fenced> = (0..LANES)
        .map(|lane| Fenced::start(&cluster, &name(lane), 100 + lane, &[("topology.kubernetes.io/zone", &name(lane))]))
        .collect();
    let _controller = Controller::start(&cluster, "");
    let rounds = setting.times(10, 1);
    let times: Vec<Duration> = thread::scope(|scope| {
        let runs: Vec<_> = (0..LANES)
            .zip(&lanes)
            .map(|(lane, fenced)| {
                let cluster = &cluster;
                scope.spawn(move || (0..rounds).map(|round| die(cluster, fenced, lane, round)).collect::<Vec<_>>())
            })
            .collect();
        runs.into_iter().flat_map(|run| run.join().expect("no lane panics")).collect()
    });
    let samples = Samples::millis(&times);
    vec![
        Row::median(MEASURE, &samples, Unit::Millis).at_most(TARGET_P50_MILLIS).npd("never; 350 s for a Deployment's"),
        Row::new(format!("{MEASURE}, p99"), samples.p99(), Unit::Millis).at_most(TARGET_P99_MILLIS),
    ]
}

/// The careful policy of the cases, with room for all lanes at once, again and again.
fn policy() -> Value {
    let wide = json!({
        "cordonBudget": { "maxUnavailable": LANES, "maxUnavailablePerZone": 1 },
        "budget": {
            "maxUnavailable": LANES, "maxUnavailablePerZone": 1, "maxConcurrent": LANES,
            "rate": { "count": 1000, "window": "1h" },
        },
        "pods": { "count": 1000, "window": "1m" },
        "powerCycles": { "count": 1000, "window": "1h" },
        "storm": { "unhealthy": LANES + 1, "rate": { "count": 1000, "window": "1m" }, "cooldown": "1s" },
    });
    let mut policy = careful_policy("1m");
    for (guard, limits) in wide.as_object().expect("it is one") {
        policy[guard] = limits.clone();
    }
    policy
}

fn name(lane: u32) -> String {
    format!("bench-fence-{lane}")
}

fn die(cluster: &Cluster, fenced: &Fenced, lane: u32, round: usize) -> Duration {
    let node = name(lane);
    let pod = format!("db-{lane}");
    fenced.node.run_pod(cluster, &pod);
    let boot = fenced.node.reported_boot();
    // Anywhere between two renewals of its Lease.
    let phase_of_lease = (u64::from(lane) * 3 + round as u64 * 7) % 10;
    thread::sleep(Duration::from_millis(3_000 + phase_of_lease * 1_000));
    let died = Instant::now();
    fenced.kill();
    let path = format!("/api/v1/namespaces/default/pods/{pod}");
    until_within(PATIENCE, "the pod is released", || released(cluster, &path));
    let took = died.elapsed();
    until_within(PATIENCE, "the node is back", || fenced.node.reported_boot().filter(|now| Some(now) != boot.as_ref()));
    until_within(PATIENCE, "the record is closed", || phase(cluster, &node).is_none().then_some(()));
    took
}

/// Looks less often than the other measures: seconds are what is measured.
fn released(cluster: &Cluster, path: &str) -> Option<()> {
    thread::sleep(Duration::from_millis(50));
    (cluster.admin(&Call::get(path)).0 == 404).then_some(())
}
