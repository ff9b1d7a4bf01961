//! The real server for exporters in real time: Nodes as large as real ones, an identity for each, a forwarder between,
//! and a watch that sees what the server shows.

use std::{
    collections::BTreeMap,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use http_body_util::BodyExt;
use hyper::Request;
use kube::{
    Client, Config,
    client::Body,
    config::{KubeConfigOptions, Kubeconfig},
};
use nodewell_agent::exporters::apiserver::{ApiStats, ApiserverConfig};
use nodewell_kit::free_port;
use nodewell_tests::{
    cluster::{Call, Client as Blocking, Identity},
    real::RealServer,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{Instant, sleep},
};

use crate::{
    fleet,
    forward::{self, Counter},
    meter::{Meter, Traffic, UNANSWERED},
    report::Fact,
    truth::Truth,
};

/// A kubelet lists so many images by default; with them a Node has the 15 kB that KEP-589 gives.
const IMAGES: usize = 50;
/// Shorter than the second by which is counted.
const SAMPLE_EVERY: Duration = Duration::from_millis(200);

/// What must be there before any exporter runs; made outside of the runtime, because the harness blocks.
#[derive(Debug)]
pub struct Setting {
    server: RealServer,
    names: Vec<String>,
    kubeconfigs: Vec<PathBuf>,
    forwarder: SocketAddr,
    _folder: TempDir,
}

impl Setting {
    /// Starts the server, with `count` Nodes.
    ///
    /// # Panics
    /// If it does not start, or does not take them.
    #[must_use]
    pub fn new(count: usize) -> Self {
        let server = RealServer::start().unwrap();
        let folder = TempDir::with_prefix("nodewell-scale-").unwrap();
        let forwarder = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()));
        let admin = Blocking::new(&server.kubeconfig(&Identity::Admin));
        let names = fleet::names(count);
        let kubeconfig_of = |name: &String| {
            create_node(&admin, name);
            let mut kubeconfig = server.kubeconfig(&Identity::Node(name.clone()));
            kubeconfig["clusters"][0]["cluster"]["server"] = format!("https://{forwarder}").into();
            let path = folder.path().join(name);
            std::fs::write(&path, kubeconfig.to_string()).unwrap();
            path
        };
        let kubeconfigs = names.iter().map(kubeconfig_of).collect();
        Self { server, names, kubeconfigs, forwarder, _folder: folder }
    }

    /// How many Nodes there are.
    #[must_use]
    pub fn size(&self) -> usize {
        self.names.len()
    }

    /// How each exporter is set up: as the agent does it.
    #[must_use]
    pub fn configs(&self) -> Vec<ApiserverConfig> {
        let pairs = self.kubeconfigs.iter().zip(&self.names);
        pairs.map(|(path, name)| ApiserverConfig::new(path.clone(), name)).collect()
    }
}

fn create_node(admin: &Blocking, name: &str) {
    let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": name } });
    let (code, answer) = admin.call(&Call::post("/api/v1/nodes", &node));
    assert_eq!(code, 201, "{answer}");
    let image = |number: usize| {
        let digest = format!("{number:064x}");
        let name = format!("registry.example.org/platform/service-{number:02}");
        json!({ "names": [format!("{name}@sha256:{digest}"), format!("{name}:v1.{number}.0")], "sizeBytes": 123_456_789 })
    };
    let images: Vec<Value> = (0..IMAGES).map(image).collect();
    let path = format!("/api/v1/nodes/{name}/status?fieldManager=kubelet");
    let (code, answer) = admin.call(&Call::strategic_merge(&path, &json!({ "status": { "images": images } })));
    assert_eq!(code, 200, "{answer}");
}

/// The running parts; they end when dropped.
#[derive(Debug)]
pub struct Real {
    pub truth: Arc<Truth>,
    pub meter: Arc<Meter>,
    stats: Arc<Mutex<Vec<Arc<ApiStats>>>>,
    admin: Admin,
    etcd: String,
    tasks: Vec<JoinHandle<()>>,
}

impl Drop for Real {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// What etcd counts.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Etcd {
    pub revision: f64,
    pub wal_bytes: f64,
    pub in_use_bytes: f64,
}

impl Etcd {
    /// What was written since `before`; the API server's own writes are in it.
    #[must_use]
    pub fn since(self, before: Self) -> [Fact; 3] {
        [
            Fact::new("etcd: new revisions", self.revision - before.revision, ""),
            Fact::new("etcd: log written", (self.wal_bytes - before.wal_bytes) / 1024.0, "KiB"),
            Fact::new("etcd: database in use grew by", (self.in_use_bytes - before.in_use_bytes) / 1024.0, "KiB"),
        ]
    }
}

impl Real {
    /// Starts forwarding, watching and counting.
    pub async fn start(setting: &Setting, open: watch::Receiver<bool>, start: Instant) -> Self {
        let (truth, meter) = (Arc::new(Truth::new(&setting.names)), Arc::<Meter>::default());
        let admin = Admin::new(&setting.server.kubeconfig(&Identity::Admin)).await;
        let stats = Arc::<Mutex<Vec<Arc<ApiStats>>>>::default();
        let counter = Counter { meter: Arc::clone(&meter), start };
        let tasks = vec![
            tokio::spawn(forward::forward(setting.forwarder, setting.server.address(), open, counter.clone())),
            tokio::spawn(sample(Arc::clone(&stats), counter)),
            tokio::spawn(follow(admin.clone(), Arc::clone(&truth), start)),
        ];
        Self { truth, meter, stats, admin, etcd: setting.server.etcd_url(), tasks }
    }

    /// The requests of one more exporter are counted.
    ///
    /// # Panics
    /// If counting panicked.
    pub fn watch_requests(&self, stats: Arc<ApiStats>) {
        self.stats.lock().unwrap().push(stats);
    }

    /// All Events.
    pub async fn events(&self) -> Vec<Value> {
        let list = self.admin.get("/api/v1/namespaces/default/events").await;
        list["items"].as_array().cloned().unwrap_or_default()
    }

    /// # Panics
    /// If etcd does not answer.
    pub async fn etcd(&self) -> Etcd {
        let client = Client::try_from(Config::new(self.etcd.parse().unwrap())).unwrap();
        let request = Request::get("/metrics").body(Vec::new()).unwrap();
        let text = client.request_text(request).await.unwrap();
        let value = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            line.and_then(|value| value.trim().parse().ok()).unwrap_or_default()
        };
        Etcd {
            revision: value("etcd_debugging_mvcc_current_revision"),
            wal_bytes: value("etcd_disk_wal_write_bytes_total"),
            in_use_bytes: value("etcd_mvcc_db_total_size_in_use_in_bytes"),
        }
    }
}

/// The administrator, who looks past the forwarder.
#[derive(Clone)]
struct Admin(Client);

impl std::fmt::Debug for Admin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Admin")
    }
}

impl Admin {
    async fn new(kubeconfig: &Value) -> Self {
        let kubeconfig: Kubeconfig = serde_json::from_value(kubeconfig.clone()).unwrap();
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap();
        Self(Client::try_from(config).unwrap())
    }

    async fn get(&self, path: &str) -> Value {
        self.0.request(Request::get(path).body(Vec::new()).unwrap()).await.unwrap()
    }
}

/// The exporters' own counts: what was added since the last look.
async fn sample(stats: Arc<Mutex<Vec<Arc<ApiStats>>>>, counter: Counter) {
    let mut before = BTreeMap::new();
    loop {
        sleep(SAMPLE_EVERY).await;
        let now = totals(&stats.lock().unwrap());
        for (verb, count) in &now {
            let requests = count - before.get(verb).unwrap_or(&0);
            counter.meter.count(counter.start.elapsed(), verb, Traffic { requests, ..Traffic::default() });
        }
        before = now;
    }
}

fn totals(stats: &[Arc<ApiStats>]) -> BTreeMap<&'static str, u64> {
    let mut totals = BTreeMap::new();
    for (verb, code, count) in stats.iter().flat_map(|stats| stats.requests()) {
        *totals.entry(if code == 0 { UNANSWERED } else { verb.as_str() }).or_default() += count;
    }
    totals
}

/// Follows all Nodes; a watch that ends begins again.
async fn follow(admin: Admin, truth: Arc<Truth>, start: Instant) {
    loop {
        let request = Request::get("/api/v1/nodes?watch=true").body(Body::empty()).unwrap();
        if let Ok(response) = admin.0.send(request).await {
            read_watch(response.into_body(), &truth, start).await;
        }
        sleep(Duration::from_millis(100)).await;
    }
}

/// Each line is an event with a whole Node.
async fn read_watch(mut body: Body, truth: &Truth, start: Instant) {
    let mut unread = Vec::new();
    while let Some(Ok(frame)) = body.frame().await {
        unread.extend(frame.into_data().into_iter().flatten());
        while let Some(end) = unread.iter().position(|byte| *byte == b'\n') {
            let event: Value = serde_json::from_slice(&unread[..end]).unwrap_or_default();
            unread.drain(..=end);
            let node = &event["object"];
            let conditions = node["status"]["conditions"].as_array().cloned().unwrap_or_default();
            truth.shown(node["metadata"]["name"].as_str().unwrap_or_default(), &conditions, start.elapsed());
        }
    }
}
