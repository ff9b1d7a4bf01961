//! The cluster under load: all exporters, their server, and the time they live in. A scenario moves it and looks at it.

use std::{collections::HashMap, sync::Arc, time::Duration};

use jiff::Timestamp;
use nodewell_agent::{
    exporters::apiserver::{ApiClient, ApiserverConfig, ClientSource},
    runtime::clock::Clock,
};
use nodewell_model::view::ConditionView;
use serde_json::Value;
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};

use crate::{
    fleet::{self, Exporter},
    meter::Meter,
    real::{self, Real},
    server::{Door, Limits, Server},
    truth::Truth,
};

/// Between two looks at whether something has come about.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// The wall clock of virtual time starts here.
const VIRTUAL_START: &str = "2026-01-01T00:00:00Z";

/// N exporters and their server.
#[derive(Debug)]
pub struct Cluster {
    /// The name in a table's heading.
    pub name: &'static str,
    pub exporters: Vec<Exporter>,
    pub truth: Arc<Truth>,
    pub meter: Arc<Meter>,
    pub healthy: Vec<Arc<ConditionView>>,
    /// Whether the server can be reached.
    pub open: watch::Sender<bool>,
    pub clock: Clock,
    configs: Vec<ApiserverConfig>,
    /// Occurrences so far, by node.
    happened: Vec<u64>,
    start: Instant,
    server: Backend,
}

/// The server, whose content can be looked at.
#[derive(Debug)]
enum Backend {
    Double(Arc<Server>),
    Real(Box<Real>),
}

impl Cluster {
    /// Virtual time: to be called on a runtime whose clock is paused.
    ///
    /// # Panics
    /// Never: its start is a time.
    #[must_use]
    pub fn virtual_time(count: usize, limits: Limits) -> Self {
        let names = fleet::names(count);
        let open = watch::Sender::new(true);
        let server = Arc::new(Server::new(&names, limits, open.subscribe()));
        let clock = Clock::simulated(VIRTUAL_START.parse().unwrap());
        let config = |name: &String| {
            let client = ApiClient::new(Door::new(Arc::clone(&server), name));
            ApiserverConfig { clock, ..ApiserverConfig::new(ClientSource::Client(client), name) }
        };
        Self {
            name: "virtual time, double",
            configs: names.iter().map(config).collect(),
            exporters: Vec::new(),
            happened: vec![0; count],
            truth: Arc::clone(&server.truth),
            meter: Arc::clone(&server.meter),
            healthy: fleet::healthy(clock.wall()),
            open,
            clock,
            start: Instant::now(),
            server: Backend::Double(server),
        }
    }

    /// Real time, the real server.
    #[must_use]
    pub async fn real_time(setting: &real::Setting) -> Self {
        let open = watch::Sender::new(true);
        let start = Instant::now();
        let real = Real::start(setting, open.subscribe(), start).await;
        Self {
            name: "real time, real server",
            configs: setting.configs(),
            exporters: Vec::new(),
            happened: vec![0; setting.size()],
            truth: Arc::clone(&real.truth),
            meter: Arc::clone(&real.meter),
            healthy: fleet::healthy(Timestamp::now()),
            open,
            clock: Clock::default(),
            start,
            server: Backend::Real(Box::new(real)),
        }
    }

    /// Since this cluster began.
    #[must_use]
    pub fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// The next whole second, where what was before is out of the way of what will be measured.
    pub async fn next_second(&self) -> Duration {
        let second = Duration::from_secs(self.now().as_secs() + 1);
        sleep(second.saturating_sub(self.now())).await;
        second
    }

    /// How many nodes there are, started or not.
    #[must_use]
    pub fn size(&self) -> usize {
        self.configs.len()
    }

    /// All nodes.
    #[must_use]
    pub fn all(&self) -> Vec<usize> {
        (0..self.size()).collect()
    }

    /// The next exporter starts, its monitors find nothing.
    ///
    /// # Panics
    /// If all have started.
    pub fn start_next(&mut self) {
        let node = self.exporters.len();
        let exporter = Exporter::start(self.configs[node].clone());
        if let Backend::Real(real) = &self.server {
            real.watch_requests(Arc::clone(&exporter.stats));
        }
        self.exporters.push(exporter);
        self.report(node, self.healthy.clone());
    }

    /// The agent of `node` knows this from now on, and the server should.
    pub fn report(&self, node: usize, conditions: Vec<Arc<ConditionView>>) {
        self.truth.want(node, conditions.clone());
        self.exporters[node].publish(conditions);
    }

    /// The kernel of `node` has logged a line, which the server should count.
    ///
    /// # Panics
    /// If the node has not started.
    pub fn happen(&mut self, node: usize, reason: &str, subject: &str) {
        self.exporters[node].happen(reason, subject, self.clock.wall());
        self.happened[node] += 1;
    }

    /// Waits until none of `nodes` has an Event to deliver; the time in seconds, not a number if that takes longer
    /// than `limit`.
    pub async fn delivered(&self, nodes: &[usize], limit: Duration) -> f64 {
        let all = |cluster: &Self| nodes.iter().all(|&node| cluster.exporters[node].undelivered() == 0);
        if self.until(limit, all).await { self.now().as_secs_f64() } else { f64::NAN }
    }

    /// How many occurrences the server's Events do not count, or count twice.
    pub async fn miscounted(&self) -> u64 {
        let mut counted = HashMap::<String, u64>::new();
        for event in self.events().await {
            let node = event["involvedObject"]["name"].as_str().unwrap_or_default();
            *counted.entry(node.to_owned()).or_default() += event["count"].as_u64().unwrap_or_default();
        }
        let pairs = self.exporters.iter().zip(&self.happened);
        pairs.map(|(exporter, happened)| counted.get(&exporter.name).unwrap_or(&0).abs_diff(*happened)).sum()
    }

    /// Waits until `reached`, at most `limit`; returns whether it was.
    pub async fn until(&self, limit: Duration, reached: impl Fn(&Self) -> bool) -> bool {
        let deadline = Instant::now() + limit;
        while !reached(self) {
            if Instant::now() >= deadline {
                return false;
            }
            sleep(LOOK_EVERY).await;
        }
        true
    }

    /// All Events on the server.
    pub async fn events(&self) -> Vec<Value> {
        match &self.server {
            Backend::Double(server) => server.double.events(),
            Backend::Real(real) => real.events().await,
        }
    }

    /// What etcd has written, where there is one.
    pub async fn etcd(&self) -> Option<real::Etcd> {
        match &self.server {
            Backend::Double(_) => None,
            Backend::Real(real) => Some(real.etcd().await),
        }
    }
}
