//! The controller on a big cluster: what 5,000 quiet nodes cost, and how soon 150 of 1,500 that fail at once are cordoned.

use std::{
    collections::BTreeMap,
    thread,
    time::{Duration, Instant},
};

use jiff::Timestamp;
use nodewell_tests::{
    cluster::{Call, Client, Cluster, Identity},
    controller::{Controller, apply_manifests, apply_policy},
    real,
    stand_in::{Machine, Make, StandIn},
};
use serde_json::{Value, json};

use crate::{
    setting::Setting,
    statistics::Samples,
    table::{Row, Unit},
    usage::Usage,
    wait::until_within,
};

/// The peer's published p99 of the same is 31.35 s (docs/measurements.md).
const TARGET_CORDON_P99_MILLIS: f64 = 2_000.0;
const NODES: usize = 1_500;
const FAILING: usize = 150;
const MANY: usize = 5_000;
const PATIENCE: Duration = Duration::from_secs(120);
/// Kubelets of so many nodes at once, as far as the server's connections go.
const WRITERS: usize = 8;

pub(crate) fn cordons(setting: &Setting) -> Vec<Row> {
    const MEASURE: &str = "150 of 1,500 nodes fail at once → cordoned";
    if let Err(reason) = real::version() {
        return vec![Row::not_run(MEASURE, reason)];
    }
    let cluster = prepared(NODES);
    apply_policy(&cluster, "bench-cordon", &cordon_policy());
    let _alive = one_kubelet(&cluster);
    let controller = Controller::start(&cluster, "");
    wait_leads(&controller);
    let mut times = Vec::new();
    for round in 0..setting.times(3, 1) {
        times.extend(cordon_round(&cluster, &controller, round));
    }
    let samples = Samples::millis(&times);
    vec![
        Row::median(format!("{MEASURE}, p50"), &samples, Unit::Millis).npd("the peer's: 16.75 s"),
        Row::new(format!("{MEASURE}, p99"), samples.p99(), Unit::Millis)
            .at_most(TARGET_CORDON_P99_MILLIS)
            .npd("the peer's: 31.35 s"),
    ]
}

pub(crate) fn size(setting: &Setting) -> Vec<Row> {
    const MEASURE: &str = "controller, 5,000 quiet nodes";
    if let Err(reason) = real::version() {
        return vec![Row::not_run(MEASURE, reason)];
    }
    let cluster = prepared(MANY);
    apply_policy(&cluster, "bench-cordon", &cordon_policy());
    let _alive = one_kubelet(&cluster);
    let controller = Controller::start(&cluster, "");
    wait_leads(&controller);
    let usage = Usage::of(controller.pid().expect("it runs"));
    let window = Duration::from_secs(setting.times(120, 20) as u64);
    let (before, cpu) = (requests(&controller), usage.cpu());
    thread::sleep(window);
    let (made, cpu) = (requests(&controller) - before, usage.cpu() - cpu);
    let memory = usage.memory();
    let percent = cpu.as_secs_f64() / window.as_secs_f64() * 100.0;
    vec![
        Row::new(format!("{MEASURE}: RSS"), memory.resident_mib, Unit::MebiBytes).beside(format!(
            "anonymous {:.1} MiB, peak {:.1} MiB",
            memory.anonymous_mib,
            usage.peak_mib()
        )),
        Row::new(format!("{MEASURE}: API requests a second"), made / window.as_secs_f64(), Unit::PerSecond)
            .beside(format!("in {} s, its own Lease among them", window.as_secs())),
        Row::new(format!("{MEASURE}: CPU of a core"), percent, Unit::Percent),
    ]
}

/// One kubelet that renews its Lease: a controller that hears of none takes itself for deaf, and holds.
fn one_kubelet(cluster: &Cluster) -> StandIn {
    struct On;
    impl Machine for On {
        fn boot(&self) -> Option<String> {
            Some("00000000-0000-4000-8000-000000000001".to_owned())
        }
    }
    let make = Make { name: "bench-alive", address: "127.0.0.1".to_owned(), ..Make::default() };
    StandIn::start(cluster, &make, std::sync::Arc::new(On))
}

fn cordon_policy() -> Value {
    json!({
        "when": "'DiskUnhealthy' in conditions && conditions.DiskUnhealthy.status == 'True'",
        "mode": "Enforce",
        "newNodeGrace": "0s",
        "for": "0s",
        "healthyFor": "1s",
        "steps": [{ "cordon": {} }],
        "cordonBudget": { "maxUnavailable": "20%", "maxUnavailablePerZone": "20%" },
        "storm": { "unhealthy": "30%", "rate": { "count": 1000, "within": "1m" } },
    })
}

fn prepared(nodes: usize) -> Cluster {
    let cluster = Cluster::own_real();
    apply_manifests(&cluster);
    in_parallel(&cluster, nodes, |client, number| {
        let node = json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": { "name": name(number), "labels": { "topology.kubernetes.io/zone": format!("z{}", number % 3) } },
        });
        assert_eq!(client.call(&Call::post("/api/v1/nodes", &node)).0, 201);
        tell(client, number, "False");
    });
    cluster
}

fn in_parallel(cluster: &Cluster, nodes: usize, work: impl Fn(&Client, usize) + Sync) {
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (client, work) = (cluster.client(&Identity::Admin), &work);
            scope.spawn(move || (writer..nodes).step_by(WRITERS).for_each(|number| work(&client, number)));
        }
    });
}

fn name(number: usize) -> String {
    format!("bench-node-{number}")
}

fn tell(client: &Client, number: usize, disk: &str) {
    let now = Timestamp::now().to_string();
    let condition = |kind: &str, status: &str| json!({ "type": kind, "status": status, "lastHeartbeatTime": now, "lastTransitionTime": now });
    // An address that answers: a controller that reaches few of its nodes suspects itself, and holds.
    let addresses = json!([{ "type": "InternalIP", "address": "127.0.0.1" }]);
    let conditions = json!([condition("Ready", "True"), condition("DiskUnhealthy", disk)]);
    let status = json!({ "status": { "conditions": conditions, "addresses": addresses } });
    let path = format!("/api/v1/nodes/{}/status", name(number));
    assert_eq!(client.call(&Call::strategic_merge(&path, &status)).0, 200);
}

fn wait_leads(controller: &Controller) {
    until_within(PATIENCE, "it leads and knows all nodes", || {
        thread::sleep(Duration::from_millis(200));
        controller.metrics().lines().any(|line| line == "nodewell_controller_leader 1").then_some(())
    });
}

fn requests(controller: &Controller) -> f64 {
    let metrics = controller.metrics();
    let lines = metrics.lines().filter(|line| line.starts_with("nodewell_controller_api_requests_total"));
    lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
}

/// From the answer to the kubelet's write to the first look that shows the node cordoned.
fn cordon_round(cluster: &Cluster, controller: &Controller, round: usize) -> Vec<Duration> {
    let first = round * FAILING;
    let failed = std::sync::Mutex::new(BTreeMap::new());
    let mut seen: BTreeMap<String, Instant> = BTreeMap::new();
    thread::scope(|scope| {
        scope.spawn(|| {
            in_parallel(cluster, FAILING, |client, number| {
                tell(client, first + number, "True");
                failed.lock().expect("no writer panics").insert(name(first + number), Instant::now());
            });
        });
        controller.until(PATIENCE, "all are cordoned", || {
            for node in cordoned(cluster) {
                seen.entry(node).or_insert_with(Instant::now);
            }
            (seen.len() >= FAILING).then_some(())
        });
    });
    let failed = failed.into_inner().expect("no writer panics");
    let times = failed.iter().map(|(node, at)| seen[node].saturating_duration_since(*at)).collect();
    in_parallel(cluster, FAILING, |client, number| tell(client, first + number, "False"));
    until_within(PATIENCE, "all are uncordoned", || cordoned(cluster).is_empty().then_some(()));
    times
}

fn cordoned(cluster: &Cluster) -> Vec<String> {
    thread::sleep(Duration::from_millis(20));
    let call = Call::get("/api/v1/nodes?fieldSelector=spec.unschedulable%3Dtrue");
    let (_, list) = cluster.admin(&call);
    let items = list["items"].as_array().into_iter().flatten();
    items.filter_map(|node| Some(node["metadata"]["name"].as_str()?.to_owned())).collect()
}
