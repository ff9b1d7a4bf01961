//! The real API server: etcd and kube-apiserver on loopback, where envtest's folder has them, with the authorization
//! that a cluster has (Node, RBAC, NodeRestriction).

mod control;

use std::{
    env,
    ffi::OsString,
    fs,
    net::{Ipv4Addr, SocketAddr},
    ops::Range,
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, Mutex},
    time::Duration,
};

use nix::sys::signal::Signal;
use nodewell_kit::free_ports;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    cluster::{Call, Client, Identity, kubeconfig},
    pki::Pki,
    process::Process,
    wait::until_within,
};

/// A loaded machine with two cores needs half of it at most.
const START_LIMIT: Duration = Duration::from_secs(60);
/// A program of another test run may have taken one of its ports by the time it is used.
const ATTEMPTS: usize = 3;

/// A running pair. Both end when dropped.
#[derive(Debug)]
pub struct RealServer {
    dir: TempDir,
    pki: Pki,
    ports: Ports,
    /// Dropped in this order: the API server first.
    apiserver: Mutex<Option<Process>>,
    etcd: Mutex<Option<Process>>,
}

#[derive(Debug, Clone, Copy)]
struct Ports {
    apiserver: u16,
    etcd: u16,
    etcd_peer: u16,
}

static SHARED: Mutex<Option<Arc<RealServer>>> = Mutex::new(None);

impl RealServer {
    /// The one for all cases of this process, started at the first call.
    ///
    /// # Panics
    /// If it does not start.
    #[must_use]
    pub fn shared() -> Arc<Self> {
        let mut shared = SHARED.lock().unwrap();
        Arc::clone(shared.get_or_insert_with(|| Arc::new(Self::start().unwrap())))
    }

    /// Ends the shared one and removes its folder; the runner calls it when all cases are through.
    pub fn end_shared() {
        if let Ok(mut shared) = SHARED.lock() {
            drop(shared.take());
        }
    }

    /// Starts a pair and waits until it is ready.
    ///
    /// # Errors
    /// With the end of its log if it does not come up.
    pub fn start() -> Result<Self, String> {
        let mut last_error = String::new();
        for _ in 0..ATTEMPTS {
            match Self::start_once() {
                Ok(server) => return Ok(server),
                Err(error) => last_error = error,
            }
        }
        Err(last_error)
    }

    fn start_once() -> Result<Self, String> {
        let dir = TempDir::with_prefix("nodewell-apiserver-").map_err(|error| error.to_string())?;
        let pki = Pki::new(dir.path(), &[]);
        let [apiserver, etcd, etcd_peer] = free_ports();
        let ports = Ports { apiserver, etcd, etcd_peer };
        let etcd = Mutex::new(Some(start_etcd(dir.path(), ports)?));
        let server = Self { dir, pki, ports, apiserver: Mutex::new(None), etcd };
        server.start_again()?;
        Ok(server)
    }

    /// SIGKILL for the API server; etcd goes on.
    pub fn stop(&self) {
        if let Some(mut apiserver) = self.apiserver.lock().unwrap().take() {
            apiserver.kill();
        }
    }

    /// SIGSTOP for the API server: its kernel still takes connections, and nothing answers.
    pub fn freeze(&self) {
        self.apiserver.lock().unwrap().as_ref().unwrap().signal(Signal::SIGSTOP);
    }

    /// SIGCONT.
    pub fn thaw(&self) {
        self.apiserver.lock().unwrap().as_ref().unwrap().signal(Signal::SIGCONT);
    }

    /// Saves what etcd has; the pair is away meanwhile.
    pub fn back_up(&self) {
        self.with_etcd_away(copy);
    }

    /// Has what it had at the backup.
    pub fn restore(&self) {
        self.with_etcd_away(|etcd, backup| copy(backup, etcd));
    }

    fn with_etcd_away(&self, act: impl FnOnce(&Path, &Path)) {
        self.stop();
        self.etcd.lock().unwrap().take();
        act(&self.dir.path().join("etcd"), &self.dir.path().join("etcd.backup"));
        *self.etcd.lock().unwrap() = Some(start_etcd(self.dir.path(), self.ports).unwrap());
        self.start_again().unwrap();
    }

    /// Starts the API server on its port and waits until it is ready.
    ///
    /// # Errors
    /// With the end of its log if it does not come up.
    pub fn start_again(&self) -> Result<(), String> {
        let log = self.dir.path().join("apiserver.log");
        let argv = self.apiserver_argv();
        let mut process = Process::start(&argv, &log).map_err(|error| error.to_string())?;
        let admin = Client::new(&self.kubeconfig(&Identity::Admin));
        let up = until_within(START_LIMIT, "kube-apiserver is ready", || {
            if is_ready(&admin) { Some(true) } else { process.ended().map(|_| false) }
        });
        if !up {
            return Err(format!("kube-apiserver ended:\n{}", tail(&log, 8)));
        }
        *self.apiserver.lock().unwrap() = Some(process);
        Ok(())
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.ports.apiserver).into()
    }

    /// Where its etcd listens, in the clear.
    #[must_use]
    pub fn etcd_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.ports.etcd)
    }

    /// New credentials of `node`, good for so long, in `folder` as `client.crt` and `client.key`.
    pub fn write_certificate(&self, node: &str, folder: &Path, life: Duration) {
        self.pki.write_client(&format!("system:node:{node}"), "system:nodes", folder, life);
    }

    /// What an etcd member on loopback shows to others and to itself, in `folder` as `etcd.crt` and `etcd.key`.
    pub fn write_etcd_certificate(&self, folder: &Path) {
        self.pki.write_etcd(folder);
    }

    /// A kubeconfig that names those files.
    #[must_use]
    pub fn kubeconfig_of_files(&self, folder: &Path) -> Value {
        let user = json!({ "client-certificate": folder.join("client.crt"), "client-key": folder.join("client.key") });
        kubeconfig(self.endpoint(), user)
    }

    /// A kubeconfig for `identity`; JSON is YAML.
    #[must_use]
    pub fn kubeconfig(&self, identity: &Identity) -> Value {
        let user = match identity {
            Identity::Admin => self.pki.client("admin", "system:masters"),
            Identity::Node(name) => self.pki.client(&format!("system:node:{name}"), "system:nodes"),
            Identity::Agent(name) => self.pki.client(&format!("nodewell:node:{name}"), "nodewell:nodes"),
            Identity::Controller => self.pki.client("nodewell:controller", "nodewell"),
            Identity::Approver => self.pki.client("nodewell:approver", "nodewell"),
            Identity::ControllerManager => self.pki.client("system:kube-controller-manager", "control-plane"),
            Identity::Person(group) => self.pki.client(&format!("eva@{group}"), group),
            Identity::Bearer(token) => json!({ "token": token }),
            Identity::Stranger => self.pki.client("stranger", "strangers"),
            Identity::Unknown => json!({ "token": "unknown" }),
        };
        kubeconfig(self.endpoint(), user)
    }

    fn endpoint(&self) -> Value {
        let server = format!("https://127.0.0.1:{}", self.ports.apiserver);
        json!({ "server": server, "certificate-authority": self.pki.path("ca.crt") })
    }

    /// A certificate and its key for `name` in `group`, valid on these days from now, as a kubeconfig's user.
    #[must_use]
    pub fn certificate(&self, name: &str, group: &str, days: Range<i64>) -> Value {
        self.pki.dated(name, group, days)
    }

    /// Its authority, as a file.
    #[must_use]
    pub fn authority(&self) -> PathBuf {
        self.pki.path("ca.crt")
    }

    fn apiserver_argv(&self) -> Vec<OsString> {
        let flag = |name: &str, file: &str| format!("--{name}={}", self.pki.path(file).display());
        let mut argv = vec![binary("kube-apiserver").into_os_string()];
        let flags = [
            format!("--etcd-servers=http://127.0.0.1:{}", self.ports.etcd),
            format!("--secure-port={}", self.ports.apiserver),
            flag("tls-cert-file", "server.crt"),
            flag("tls-private-key-file", "server.key"),
            flag("client-ca-file", "ca.crt"),
            flag("service-account-key-file", "sa.pub"),
            flag("service-account-signing-key-file", "sa.key"),
        ];
        let fixed = [
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none",
            "--service-cluster-ip-range=10.96.0.0/24",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--allow-privileged=true",
            "--enable-bootstrap-token-auth=true",
            "--event-ttl=1h",
            "--shutdown-delay-duration=0s",
            "--v=1",
        ];
        argv.extend(flags.into_iter().map(OsString::from));
        argv.extend(fixed.into_iter().map(OsString::from));
        argv
    }
}

fn start_etcd(dir: &Path, ports: Ports) -> Result<Process, String> {
    let client = format!("http://127.0.0.1:{}", ports.etcd);
    let peer = format!("http://127.0.0.1:{}", ports.etcd_peer);
    let mut argv = vec![binary("etcd").into_os_string()];
    argv.extend(etcd_flags(dir, &client, &peer).into_iter().map(OsString::from));
    Process::start(&argv, &dir.join("etcd.log")).map_err(|error| error.to_string())
}

/// Of the one member of a cluster, whose data is in `dir`, at these addresses.
#[must_use]
pub fn etcd_flags(dir: &Path, client: &str, peer: &str) -> Vec<String> {
    vec![
        "--name=tests".to_owned(),
        format!("--data-dir={}", dir.join("etcd").display()),
        format!("--listen-client-urls={client}"),
        format!("--advertise-client-urls={client}"),
        format!("--listen-peer-urls={peer}"),
        format!("--initial-advertise-peer-urls={peer}"),
        format!("--initial-cluster=tests={peer}"),
        // Nothing here outlives the machine.
        "--unsafe-no-fsync".to_owned(),
        "--log-level=warn".to_owned(),
    ]
}

/// Whether an API server is ready, and has the namespace in which Events live: it makes that shortly after.
#[must_use]
pub fn is_ready(admin: &Client) -> bool {
    let answers = |path| admin.call(&Call::get(path)).0 == 200;
    answers("/readyz") && answers("/api/v1/namespaces/default")
}

/// In place of whatever `to` was.
fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    assert!(Command::new("cp").arg("-a").args([from, to]).status().unwrap().success());
}

/// The last lines of a log.
#[must_use]
pub fn tail(log: &Path, most: usize) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(most)..].join("\n")
}

/// What envtest consists of.
const ENVTEST: [&str; 3] = ["etcd", "kube-apiserver", "kubectl"];
/// Where Kubernetes has the others.
const DOWNLOADS: &str = "https://dl.k8s.io/release/VERSION/bin/linux/ARCH/";

/// Where envtest stores its binaries.
fn folder() -> PathBuf {
    env::var_os("KUBEBUILDER_ASSETS").map_or_else(|| "/usr/local/kubebuilder/bin".into(), PathBuf::from)
}

/// One of them.
#[must_use]
pub fn binary(name: &str) -> PathBuf {
    folder().join(name)
}

/// The server's version, or why there is none.
///
/// # Errors
/// With what is missing, in one line.
pub fn version() -> Result<String, String> {
    for name in ["etcd", "kube-apiserver"] {
        present(name)?;
    }
    stated_version("kube-apiserver")
}

/// The version of kube-controller-manager, or why there is none.
///
/// # Errors
/// With what is missing, in one line.
pub fn controllers_version() -> Result<String, String> {
    present("kube-controller-manager")?;
    stated_version("kube-controller-manager")
}

/// Why there is no kube-controller-manager, if there is none.
#[must_use]
pub fn controllers_missing() -> Option<String> {
    controllers_version().err()
}

/// Whether one of them is there.
///
/// # Errors
/// With what is missing, in one line.
pub fn present(name: &str) -> Result<(), String> {
    if binary(name).is_file() {
        return Ok(());
    }
    let lacks = format!("no {name} in {} (KUBEBUILDER_ASSETS)", folder().display());
    Err(if ENVTEST.contains(&name) { lacks } else { format!("{lacks}; envtest lacks it, {DOWNLOADS}{name} has it") })
}

fn stated_version(name: &str) -> Result<String, String> {
    let output = Command::new(binary(name)).arg("--version").output().map_err(|error| error.to_string())?;
    let version = String::from_utf8_lossy(&output.stdout).into_owned();
    version.split_whitespace().last().map(str::to_owned).ok_or_else(|| format!("{name} reports no version"))
}
