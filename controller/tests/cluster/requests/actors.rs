//! Who takes part in a case: the program as leader, node-healthcheck-operator and Cluster API as they write.

use std::{
    fs,
    net::{TcpListener, TcpStream},
    path::Path,
    process::Command,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use jiff::Timestamp;
use nodewell_controller::kube::Wire;
use nodewell_reconcile::cluster::Election;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::{
    cases::admin,
    program::{Service, until},
    server::Server,
};

const REQUESTS: &str = "/apis/nodewell.dev/v1alpha1/namespaces/default/nodefenceremediations";
const HEALTH_CHECKS: &str = "/apis/remediation.medik8s.io/v1alpha1/nodehealthchecks";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/medik8s-leases/leases";
const MACHINES: &str = "/apis/cluster.x-k8s.io/v1beta2/namespaces/default/machines";

/// The program, which leads and serves requests; ended with the case, so that the next one leads at once.
pub(crate) struct Leader {
    service: Service,
    folder: tempfile::TempDir,
    beating: JoinHandle<()>,
}

impl Leader {
    pub(crate) async fn start(server: &Arc<Server>, more: &str) -> Self {
        let beating = tokio::task::spawn_local(beat(Arc::clone(server)));
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("controller.toml");
        let text = format!(
            "dry-run = false\nmetrics-listen = \"off\"\n[external-remediation]\nenabled = true\n[webhook]\nlisten = \"off\"\n\
             {more}"
        );
        fs::write(&config, text).unwrap();
        let log = fs::File::create(folder.path().join("log")).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_nodewell-controller"));
        command.arg("--kubeconfig").arg(server.kubeconfig("controller")).arg("--config").arg(config).arg("run");
        let service = Service(command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap());
        let cluster = server.cluster("controller").await;
        let pid = format!("_{}_", service.0.id());
        until("leading", async || cluster.leadership().await.unwrap().is_some_and(|lease| lease.holder.contains(&pid)))
            .await;
        Self { service, folder, beating }
    }

    /// The rights of the manifests are enough.
    pub(crate) fn was_refused_nothing(&self) {
        let log = fs::read_to_string(self.folder.path().join("log")).unwrap();
        assert!(!log.contains("forbidden") && !log.contains("HTTP 403"), "{log}");
    }

    /// It releases nothing, and the next one has to wait for its Lease.
    pub(crate) fn kill(mut self) {
        self.service.0.kill().unwrap();
        self.service.0.wait().unwrap();
    }
}

/// Some kubelet renews: a controller that hears none for a while trusts nothing of what it sees.
async fn beat(server: Arc<Server>) {
    let leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
    let wire = server.cluster("admin").await.wire().clone();
    loop {
        let body = json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": "requests" },
            "spec": { "holderIdentity": "requests", "leaseDurationSeconds": 40,
                "renewTime": format!("{:.6}", Timestamp::now()) } });
        if wire.merge::<Value>(&format!("{leases}/requests"), &body).await.is_err() {
            let _ = wire.create::<Value>(leases, &body).await;
        }
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        self.beating.abort();
        let pid = nix::unistd::Pid::from_raw(self.service.0.id().cast_signed());
        if self.service.0.try_wait().is_ok_and(|ended| ended.is_none()) {
            let _ = nix::sys::signal::kill(pid, nix::sys::signal::SIGTERM);
            let until = Instant::now() + Duration::from_secs(5);
            while self.service.0.try_wait().is_ok_and(|ended| ended.is_none()) && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        if std::thread::panicking() {
            eprintln!("{}", fs::read_to_string(self.folder.path().join("log")).unwrap_or_default());
        }
    }
}

/// Where the request of this name is.
pub(crate) fn path(name: &str) -> String {
    format!("{REQUESTS}/{name}")
}

async fn get(server: &Server, path: &str) -> Option<Value> {
    server.cluster("admin").await.wire().get(path).await.unwrap()
}

pub(crate) async fn request(server: &Server, name: &str) -> Option<Value> {
    get(server, &path(name)).await
}

pub(crate) async fn record(server: &Server, node: &str) -> Option<Value> {
    get(server, &format!("/apis/nodewell.dev/v1alpha1/nodefences/{node}")).await
}

/// A condition's status, reason and message.
pub(crate) async fn condition(server: &Server, name: &str, kind: &str) -> Option<(String, String, String)> {
    let request = request(server, name).await?;
    let found = request["status"]["conditions"].as_array()?.iter().find(|one| one["type"] == kind)?.clone();
    let text = |field: &str| found[field].as_str().unwrap().to_owned();
    Some((text("status"), text("reason"), text("message")))
}

/// What the leader's acts would have brought the record to.
pub(crate) async fn set_phase(server: &Server, node: &str, status: Value) {
    admin(
        server,
        "merge",
        &format!("/apis/nodewell.dev/v1alpha1/nodefences/{node}/status"),
        json!({ "status": status }),
    )
    .await;
}

/// Off was confirmed, and the pods were released, by a boot that has ended.
pub(crate) fn released(phase: &str) -> Value {
    let now = Timestamp::now().to_string();
    json!({ "phase": phase, "policyStep": 2, "bootID": "boot-1", "releasedAt": now, "cycles": [now], "blockedBy": [],
        "offConfirmed": { "at": now, "reads": 4, "by": ["ipmi"], "bootID": "boot-1", "epoch": 1 } })
}

/// Nodes of a case, with what is left of their records.
pub(crate) fn gone(server: &Server, nodes: &[&str]) {
    for node in nodes {
        assert!(server.kubectl(&["delete", "--ignore-not-found", "nodefence", node]));
        assert!(server.kubectl(&["delete", "node", node]));
    }
}

/// One `NodeHealthCheck`, whose operator has the rights that it selects by its label.
pub(crate) struct HealthCheck {
    server: Arc<Server>,
    name: String,
    uid: String,
}

impl HealthCheck {
    pub(crate) async fn make(server: &Arc<Server>, name: &str) -> Self {
        let stored = match get(server, &format!("{HEALTH_CHECKS}/{name}")).await {
            Some(stored) => stored,
            None => {
                let body = json!({ "apiVersion": "remediation.medik8s.io/v1alpha1", "kind": "NodeHealthCheck",
                    "metadata": { "name": name } });
                admin(server, "create", HEALTH_CHECKS, body).await
            }
        };
        let uid = stored["metadata"]["uid"].as_str().unwrap().to_owned();
        Self { server: Arc::clone(server), name: name.to_owned(), uid }
    }

    async fn wire(&self) -> Wire {
        self.server.cluster("requester").await.wire().clone()
    }

    /// The Lease first, then the request, then its own status. A Lease that another one holds is left to it.
    pub(crate) async fn asks_for(&self, node: &str, spec: Value) {
        if get(&self.server, &format!("{LEASES}/node-{node}")).await.is_none() {
            self.leases(node, &format!("NodeHealthCheck-{}", self.name)).await;
        }
        let body = json!({ "apiVersion": "nodewell.dev/v1alpha1", "kind": "NodeFenceRemediation", "spec": spec,
            "metadata": { "name": node, "namespace": "default",
                "annotations": { "remediation.medik8s.io/node-name": node, "remediation.medik8s.io/template-name": "fence" },
                "labels": { "app.kubernetes.io/part-of": "node-healthcheck-controller" },
                "ownerReferences": [{ "apiVersion": "remediation.medik8s.io/v1alpha1", "kind": "NodeHealthCheck",
                    "name": self.name, "uid": self.uid, "controller": false }] } });
        self.wire().await.create::<Value>(REQUESTS, &body).await.unwrap();
        self.lists(node, &["NodeFenceRemediation"]).await;
    }

    /// Whose the node's Lease is.
    pub(crate) async fn leases(&self, node: &str, holder: &str) {
        let now = format!("{:.6}", Timestamp::now());
        let body = json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": { "name": format!("node-{node}"), "namespace": "medik8s-leases" },
            "spec": { "holderIdentity": holder, "leaseDurationSeconds": 660, "renewTime": now, "acquireTime": now,
                "leaseTransitions": 0 } });
        let at = format!("{LEASES}/node-{node}");
        match get(&self.server, &at).await {
            Some(_) => admin(&self.server, "merge", &at, body).await,
            None => admin(&self.server, "create", LEASES, body).await,
        };
    }

    /// What it has under way for this node, by its own status.
    pub(crate) async fn lists(&self, node: &str, kinds: &[&str]) {
        let of = |kind: &&str| json!({ "resource": { "kind": kind, "name": node }, "started": "2026-01-01T00:00:00Z" });
        let remediations: Vec<Value> = kinds.iter().map(of).collect();
        let mut nodes = self.unhealthy().await;
        nodes.retain(|one| one["name"] != node);
        nodes.push(json!({ "name": node, "remediations": remediations }));
        self.write(nodes).await;
    }

    async fn unhealthy(&self) -> Vec<Value> {
        let stored = get(&self.server, &format!("{HEALTH_CHECKS}/{}", self.name)).await.unwrap();
        stored["status"]["unhealthyNodes"].as_array().cloned().unwrap_or_default()
    }

    async fn write(&self, nodes: Vec<Value>) {
        let status = json!({ "status": { "unhealthyNodes": nodes } });
        admin(&self.server, "merge", &format!("{HEALTH_CHECKS}/{}/status", self.name), status).await;
    }

    /// The template's time is over.
    pub(crate) async fn times_out(&self, node: &str) {
        let annotations = json!({ "remediation.medik8s.io/nhc-timed-out": Timestamp::now().to_string() });
        let patch = json!({ "metadata": { "annotations": annotations } });
        self.wire().await.merge::<Value>(&path(node), &patch).await.unwrap();
    }

    /// The node is healthy: the request goes, and when it has gone the Lease.
    pub(crate) async fn takes_back(&self, node: &str) {
        let uid = request(&self.server, node).await.unwrap()["metadata"]["uid"].clone();
        self.wire().await.delete(&path(node), &json!({ "uid": uid }), None).await.unwrap();
        let mut nodes = self.unhealthy().await;
        nodes.retain(|one| one["name"] != node);
        self.write(nodes).await;
    }

    /// What it must not do.
    pub(crate) async fn strips_the_finalizer(&self, node: &str) -> Result<Value, String> {
        let patch = json!({ "metadata": { "finalizers": null } });
        self.wire().await.merge::<Value>(&path(node), &patch).await.map_err(|error| error.to_string())
    }
}

/// A Machine of `cluster` with `more`, and the request that Cluster API makes for it.
pub(crate) async fn machine_request(server: &Server, name: &str, cluster: &str, more: Value) {
    let machine = json!({ "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
        "metadata": { "name": name, "namespace": "default" }, "spec": { "clusterName": cluster } });
    let machine = admin(server, "create", MACHINES, machine).await;
    if !more["status"].is_null() {
        admin(server, "merge", &format!("{MACHINES}/{name}/status"), more).await;
    }
    let body = json!({ "apiVersion": "nodewell.dev/v1alpha1", "kind": "NodeFenceRemediation", "spec": {},
        "metadata": { "name": name, "namespace": "default", "labels": { "cluster.x-k8s.io/cluster-name": cluster },
            "ownerReferences": [{ "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "name": name,
                "uid": machine["metadata"]["uid"] }] } });
    let wire = server.cluster("requester").await.wire().clone();
    wire.create::<Value>(REQUESTS, &body).await.unwrap();
}

/// An API server that takes connections and never answers.
pub(crate) struct Silent {
    kubeconfig: tempfile::NamedTempFile,
    connections: Arc<Mutex<Vec<TcpStream>>>,
}

impl Silent {
    /// Until the tests end.
    pub(crate) fn listen(server: &Server) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let like = fs::read(server.kubeconfig("cluster-api")).unwrap();
        let mut config: Value = serde_json::from_slice(&like).unwrap();
        config["clusters"][0]["cluster"]["server"] = json!(format!("https://{address}"));
        let kubeconfig = tempfile::NamedTempFile::new().unwrap();
        fs::write(kubeconfig.path(), config.to_string()).unwrap();
        let connections: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
        let taken = Arc::clone(&connections);
        std::thread::spawn(move || listener.incoming().flatten().for_each(|stream| taken.lock().unwrap().push(stream)));
        Self { kubeconfig, connections }
    }

    pub(crate) fn kubeconfig(&self) -> &Path {
        self.kubeconfig.path()
    }

    pub(crate) fn questions(&self) -> usize {
        self.connections.lock().unwrap().len()
    }
}
