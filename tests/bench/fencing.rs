//! A node dies in each of three ways: how long until power is confirmed off and the pod of its StatefulSet is released, on the
//! real API server, with the controller that calls nodes not ready, real IPMI and SNMP. Without nodewell that pod is never
//! released.

use std::{
    thread,
    time::{Duration, Instant},
};

use nodewell_bmc::Pdu;
use nodewell_tests::{
    cluster::{Call, Cluster},
    controller::{Controller, apply_manifests, apply_policy, careful_policy, phase},
    fencing::{Fenced, PduOutlet},
    real,
};
use serde_json::{Value, json};

use crate::{
    setting::Setting,
    statistics::Samples,
    table::{Row, Unit},
    wait::until_within,
};

/// Machines that die independently of each other, each again and again in its own way.
const LANES_OF_EACH: u8 = 4;
const PATIENCE: Duration = Duration::from_secs(300);

/// How a node dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Death {
    /// Off, and its BMC reports so.
    PowerCord,
    /// On, and its kubelet is silent.
    Hang,
    /// Off together with its BMC; its outlet is On.
    LostFeed,
}

const DEATHS: [Death; 3] = [Death::PowerCord, Death::Hang, Death::LostFeed];

impl Death {
    const fn measure(self) -> &'static str {
        match self {
            Self::PowerCord => "power cord (BMC alive) → Off confirmed, its StatefulSet's pod released",
            Self::Hang => "hung machine (BMC On) → Off confirmed, its StatefulSet's pod released",
            Self::LostFeed => "AC loss (BMC dead, PDU) → Off confirmed, its StatefulSet's pod released",
        }
    }

    const fn target_millis(self) -> f64 {
        match self {
            Self::PowerCord => 25_000.0,
            Self::Hang => 75_000.0,
            Self::LostFeed => 60_000.0,
        }
    }
}

pub(crate) fn rows(setting: &Setting) -> Vec<Row> {
    let missing = real::version().err().or_else(real::controllers_missing);
    if let Some(reason) = missing.or_else(nodewell_bmc::missing).or_else(nodewell_bmc::missing_pdu) {
        return DEATHS.iter().map(|death| Row::not_run(death.measure(), reason.as_str())).collect();
    }
    let cluster = Cluster::own_real();
    apply_manifests(&cluster);
    apply_policy(&cluster, "dead-nodes", &policy());
    let pdu = Pdu::start().expect("it was looked for");
    let lanes = lanes(&cluster, &pdu);
    let _controllers = cluster.as_real().start_controllers("node-lifecycle-controller");
    let _controller = Controller::start(&cluster, "");
    let rounds = setting.times(8, 1);
    let times: Vec<(Death, Duration)> = thread::scope(|scope| {
        let dying = |lane| scope.spawn(move || (0..rounds).map(|round| Lane::die(lane, round)).collect::<Vec<_>>());
        let runs: Vec<_> = lanes.iter().map(dying).collect();
        let deaths = lanes.iter().map(|lane| lane.death);
        let times = runs.into_iter().map(|run| run.join().expect("no lane panics"));
        deaths.zip(times).flat_map(|(death, times)| times.into_iter().map(move |time| (death, time))).collect()
    });
    DEATHS.into_iter().flat_map(|death| rows_of(death, &times)).collect()
}

fn rows_of(death: Death, times: &[(Death, Duration)]) -> [Row; 2] {
    let its: Vec<Duration> = times.iter().filter(|(of, _)| *of == death).map(|(_, time)| *time).collect();
    let samples = Samples::millis(&its);
    [
        Row::median(death.measure(), &samples, Unit::Millis)
            .at_most(death.target_millis())
            .npd("never; 350 s for a Deployment's"),
        Row::new("  p99", samples.p99(), Unit::Millis),
    ]
}

fn lanes<'a>(cluster: &'a Cluster, pdu: &'a Pdu) -> Vec<Lane<'a>> {
    let each = (0..LANES_OF_EACH).flat_map(|_| DEATHS);
    each.zip(1u8..).map(|(death, number)| Lane::start(cluster, pdu, death, number)).collect()
}

/// A node that dies in one way, again and again.
struct Lane<'a> {
    cluster: &'a Cluster,
    pdu: &'a Pdu,
    death: Death,
    /// Its outlet, too.
    number: u8,
    fenced: Fenced,
}

impl<'a> Lane<'a> {
    fn start(cluster: &'a Cluster, pdu: &'a Pdu, death: Death, number: u8) -> Self {
        let name = format!("bench-fence-{number}");
        let fenced =
            Fenced::start(cluster, &name, 100 + u32::from(number), &[("topology.kubernetes.io/zone", name.as_str())]);
        let fenced = if death == Death::LostFeed { fenced.behind(cluster, PduOutlet { pdu, number }) } else { fenced };
        Self { cluster, pdu, death, number, fenced }
    }

    /// Once, until everything is as before; how long its pod took to be released.
    fn die(&self, round: usize) -> Duration {
        let pod = format!("db-{}", self.number);
        self.fenced.node.run_pod(self.cluster, &pod);
        let boot = self.fenced.node.reported_boot();
        // Anywhere between two renewals of its Lease.
        let phase_of_lease = (u64::from(self.number) * 3 + round as u64 * 7) % 10;
        thread::sleep(Duration::from_millis(3_000 + phase_of_lease * 1_000));
        let died = Instant::now();
        self.fail();
        let path = format!("/api/v1/namespaces/default/pods/{pod}");
        until_within(PATIENCE, "the pod is released", || self.released(&path));
        let took = died.elapsed();
        assert!(!self.fenced.bmc.is_on(), "{:?}: a machine that runs was released", self.death);
        self.mend();
        let back = || self.fenced.node.reported_boot().filter(|now| Some(now) != boot.as_ref());
        until_within(PATIENCE, "the node is back", back);
        let closed = || phase(self.cluster, self.fenced.node.name()).is_none().then_some(());
        until_within(PATIENCE, "the record is closed", closed);
        took
    }

    fn fail(&self) {
        match self.death {
            Death::PowerCord => self.fenced.kill(),
            Death::Hang => self.fenced.node.hang(true),
            Death::LostFeed => self.pdu.feed(self.number, false),
        }
    }

    /// What the controller cannot do.
    fn mend(&self) {
        match self.death {
            Death::PowerCord => {}
            Death::Hang => self.fenced.node.hang(false),
            Death::LostFeed => self.pdu.feed(self.number, true),
        }
    }

    /// Looks less often than the other measures: seconds are what is measured.
    fn released(&self, path: &str) -> Option<()> {
        thread::sleep(Duration::from_millis(50));
        (self.cluster.admin(&Call::get(path)).0 == 404).then_some(())
    }
}

/// The careful policy of the cases, with room for all lanes at once, again and again.
fn policy() -> Value {
    let lanes = DEATHS.len() * usize::from(LANES_OF_EACH);
    let wide = json!({
        "cordonBudget": { "maxUnavailable": lanes, "maxUnavailablePerZone": 1 },
        "budget": {
            "maxUnavailable": lanes, "maxUnavailablePerZone": 1, "maxConcurrent": lanes,
            "rate": { "count": 1000, "window": "1h" },
        },
        "pods": { "count": 1000, "window": "1m" },
        "powerCycles": { "count": 1000, "window": "1h" },
        "storm": { "unhealthy": lanes + 1, "rate": { "count": 1000, "window": "1m" }, "cooldown": "1s" },
    });
    let mut policy = careful_policy("1m");
    for (guard, limits) in wide.as_object().expect("it is one") {
        policy[guard] = limits.clone();
    }
    policy
}
