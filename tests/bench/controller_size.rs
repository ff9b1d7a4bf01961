//! The controller on a big cluster: what 5,000 quiet nodes cost, and how soon 150 of 1,500 that fail at once are cordoned.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc::Receiver,
    },
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
    observer::{self, Seen},
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
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
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
    let cordons = observer::cordons(&cluster);
    let mut times = Vec::new();
    for round in 0..setting.times(3, 1) {
        times.extend(cordon_round(&cluster, &cordons, round));
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
    const MEASURE: &str = "controller, 5,000 nodes and their Leases";
    if let Err(reason) = real::version() {
        return vec![Row::not_run(MEASURE, reason)];
    }
    let cluster = prepared(MANY);
    apply_policy(&cluster, "bench-cordon", &cordon_policy());
    apply_policy(&cluster, "bench-silent", &silent_policy());
    let kubelets = Kubelets::default();
    thread::scope(|scope| {
        let _kubelets = kubelets.start(scope, &cluster);
        let controller = Controller::start(&cluster, "");
        wait_leads(&controller);
        watch_size(MEASURE, setting, &controller, &kubelets)
    })
}

fn watch_size(measure: &str, setting: &Setting, controller: &Controller, kubelets: &Kubelets) -> Vec<Row> {
    let usage = Usage::of(controller.pid().expect("it runs"));
    let window = Duration::from_secs(setting.times(120, 30) as u64);
    let seconds = window.as_secs_f64();
    let (before, cpu, renewed) = (requests(controller), usage.cpu(), kubelets.renewed());
    thread::sleep(window);
    let (made, cpu) = (requests(controller) - before, usage.cpu() - cpu);
    let renewals = (kubelets.renewed() - renewed) as f64 / seconds;
    let memory = usage.memory();
    vec![
        Row::new(format!("{measure}: RSS"), memory.resident_mib, Unit::MebiBytes).beside(format!(
            "anonymous {:.1} MiB, peak {:.1} MiB",
            memory.anonymous_mib,
            usage.peak_mib()
        )),
        Row::new(format!("{measure}: API requests a second"), made / seconds, Unit::PerSecond)
            .beside(format!("in {} s, its own Lease among them", window.as_secs())),
        Row::new(format!("{measure}: CPU of a core"), cpu.as_secs_f64() / seconds * 100.0, Unit::Percent)
            .beside(format!("{renewals:.0} renewals of kubelets' Leases a second")),
    ]
}

/// Kubelets of all nodes, which do nothing but renew their Leases, each every 10 s.
#[derive(Default)]
struct Kubelets {
    ended: AtomicBool,
    renewed: AtomicUsize,
}

impl Kubelets {
    const EVERY: Duration = Duration::from_secs(10);

    /// Returns when each has a Lease; they end with what is returned.
    fn start<'scope>(&'scope self, scope: &'scope thread::Scope<'scope, '_>, cluster: &Cluster) -> Ending<'scope> {
        in_parallel(cluster, MANY, |client, number| {
            let lease = json!({
                "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": name(number) },
                "spec": Self::spec(number),
            });
            assert_eq!(client.call(&Call::post(LEASES, &lease)).0, 201);
        });
        for writer in 0..WRITERS {
            let client = cluster.client(&Identity::Admin);
            scope.spawn(move || self.renew(&client, writer));
        }
        Ending(self)
    }

    /// A share of the nodes, spread over the time between two renewals.
    fn renew(&self, client: &Client, writer: usize) {
        let share: Vec<usize> = (writer..MANY).step_by(WRITERS).collect();
        let apart = Self::EVERY / u32::try_from(share.len()).expect("some thousands");
        let mut next = Instant::now();
        for number in share.into_iter().cycle() {
            if self.ended.load(Ordering::Relaxed) {
                return;
            }
            thread::sleep(next.saturating_duration_since(Instant::now()));
            next += apart;
            let call = Call::merge(&format!("{LEASES}/{}", name(number)), &json!({ "spec": Self::spec(number) }));
            if client.call(&call).0 == 200 {
                self.renewed.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn spec(number: usize) -> Value {
        let renewed = format!("{:.6}", Timestamp::now());
        json!({ "holderIdentity": name(number), "leaseDurationSeconds": 40, "renewTime": renewed })
    }

    fn renewed(&self) -> usize {
        self.renewed.load(Ordering::Relaxed)
    }
}

/// Whatever happens meanwhile, the threads are not waited for in vain.
struct Ending<'a>(&'a Kubelets);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.ended.store(true, Ordering::Relaxed);
    }
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
        "nodeStartupGracePeriod": "0s",
        "for": "0s",
        "healthyDelay": "1s",
        "steps": [{ "cordon": {} }],
        "cordonBudget": { "maxUnavailable": "20%", "maxUnavailablePerZone": "20%" },
        "storm": { "unhealthy": "30%", "rate": { "count": 1000, "within": "1m" } },
    })
}

/// Its predicate has an age in it, so that every node is judged again every second.
fn silent_policy() -> Value {
    json!({
        "when": "!node.ready || lease.present && lease.age > duration('40s')",
        "steps": [{ "taint": {} }, { "cordon": {} }],
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
        report(client, number, "False");
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

fn report(client: &Client, number: usize, disk: &str) {
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

/// From the answer to the kubelet's write to the moment at which a watcher sees the node cordoned.
fn cordon_round(cluster: &Cluster, cordons: &Receiver<Seen>, round: usize) -> Vec<Duration> {
    let first = round * FAILING;
    let failed = std::sync::Mutex::new(BTreeMap::new());
    let mut seen: BTreeMap<String, Instant> = BTreeMap::new();
    thread::scope(|scope| {
        scope.spawn(|| {
            in_parallel(cluster, FAILING, |client, number| {
                report(client, first + number, "True");
                failed.lock().expect("no writer panics").insert(name(first + number), Instant::now());
            });
        });
        let names: BTreeSet<String> = (first..first + FAILING).map(name).collect();
        while seen.len() < FAILING {
            let Seen { at, object } = cordons.recv_timeout(PATIENCE).expect("all are cordoned within the patience");
            let node = object["metadata"]["name"].as_str().filter(|node| names.contains(*node));
            if let Some(node) = node {
                seen.entry(node.to_owned()).or_insert(at);
            }
        }
    });
    let failed = failed.into_inner().expect("no writer panics");
    let times = failed.iter().map(|(node, at)| seen[node].saturating_duration_since(*at)).collect();
    in_parallel(cluster, FAILING, |client, number| report(client, first + number, "False"));
    until_within(PATIENCE, "all are uncordoned", || cordoned(cluster).is_empty().then_some(()));
    times
}

fn cordoned(cluster: &Cluster) -> Vec<String> {
    thread::sleep(Duration::from_millis(200));
    let call = Call::get("/api/v1/nodes?fieldSelector=spec.unschedulable%3Dtrue");
    let (_, list) = cluster.admin(&call);
    let items = list["items"].as_array().into_iter().flatten();
    items.filter_map(|node| Some(node["metadata"]["name"].as_str()?.to_owned())).collect()
}
