//! Who takes part in each case: the program as leader, and what is read of its requests and records.

use std::{
    fs,
    net::{TcpListener, TcpStream},
    path::Path,
    process::Command,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use jiff::Timestamp;
use nodewell_reconcile::cluster::Election;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::{
    cases::admin,
    program::{Service, until},
    server::Server,
};

pub(crate) const REQUESTS: &str = "/apis/nodewell.dev/v1alpha1/namespaces/default/nodefenceremediations";

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

/// What is written there is refused if the kind has no such field. Else the field is dropped, and the write goes well.
pub(crate) fn strict(path: &str) -> String {
    format!("{path}?fieldValidation=Strict")
}

/// Where the request of this name is.
pub(crate) fn path(name: &str) -> String {
    format!("{REQUESTS}/{name}")
}

pub(crate) async fn get(server: &Server, path: &str) -> Option<Value> {
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
