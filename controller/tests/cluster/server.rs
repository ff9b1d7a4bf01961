//! etcd and kube-apiserver on loopback, where envtest's folder has them, with RBAC in force; kube-controller-manager beside
//! them where that folder has it too.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use nodewell_controller::kube::{KubeCluster, KubeSettings, connect};
use nodewell_kit::free_ports;
use nodewell_reconcile::clock::Clock;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};
use serde_json::json;
use tempfile::TempDir;

use crate::controller_manager;

/// A loaded machine with two cores needs half of it at most.
const START_LIMIT: Duration = Duration::from_secs(60);

/// A process that ends with its guard, or with this program if that is killed.
pub(crate) struct Guard(Child);

impl Guard {
    pub(crate) fn has_ended(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }
}

impl Guard {
    fn end(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.end();
    }
}

/// What runs ends when this is dropped, in this order.
pub(crate) struct Server {
    _controller_manager: Option<Guard>,
    _apiserver: Guard,
    _etcd: Guard,
    dir: TempDir,
    port: u16,
    etcd_ports: [u16; 2],
}

/// Why there is none here.
pub(crate) fn missing() -> Option<String> {
    let lacks = |name: &&str| !binary(name).is_file();
    let name = ["etcd", "kube-apiserver", "kubectl"].into_iter().find(lacks)?;
    Some(format!("no {name} in {}", binary("").display()))
}

pub(crate) fn binary(name: &str) -> PathBuf {
    env::var_os("KUBEBUILDER_ASSETS").map_or_else(|| "/usr/local/kubebuilder/bin".into(), PathBuf::from).join(name)
}

/// What a program of that folder calls its version, with its name.
pub(crate) fn version(name: &str) -> String {
    let output = Command::new(binary(name)).arg("--version").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = text.lines().next().and_then(|line| line.split_whitespace().last());
    format!("{name} {}", version.unwrap_or("reports no version"))
}

impl Server {
    pub(crate) fn start() -> Self {
        let dir = tempfile::Builder::new().prefix("nodewell-controller-").tempdir().unwrap();
        certificates(dir.path());
        let [port, etcd, peer] = free_ports();
        let etcd_guard = start_etcd(dir.path(), etcd, peer);
        let apiserver = start_apiserver(dir.path(), port, etcd);
        let mut server = Self {
            _controller_manager: None,
            _apiserver: apiserver,
            _etcd: etcd_guard,
            dir,
            port,
            etcd_ports: [etcd, peer],
        };
        server.wait();
        server._controller_manager =
            controller_manager::missing().is_none().then(|| controller_manager::start(&server));
        server
    }

    fn wait(&self) {
        let until = Instant::now() + START_LIMIT;
        // Its own roles are in force when it reports that it is ready.
        while !["/readyz", "/api/v1/namespaces/default"].iter().all(|path| self.kubectl(&["get", "--raw", path])) {
            assert!(Instant::now() < until, "kube-apiserver is not ready: {}", self.last_line("kube-apiserver"));
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// What this program has logged.
    pub(crate) fn log(&self, program: &str) -> String {
        fs::read_to_string(self.dir.path().join(format!("{program}.log"))).unwrap_or_default()
    }

    /// What this program logged last.
    pub(crate) fn last_line(&self, program: &str) -> String {
        self.log(program).lines().last().unwrap_or_default().to_owned()
    }

    /// Starts a program of envtest's folder, with these variables in its environment.
    pub(crate) fn start_beside(&self, name: &str, flags: &[String], environment: &[(&str, &str)]) -> Guard {
        start(self.dir.path(), name, flags, environment)
    }

    /// A file that the server was started with, such as `ca.crt`.
    pub(crate) fn own_file(&self, name: &str) -> String {
        self.dir.path().join(name).display().to_string()
    }

    /// As an administrator; whether it went well.
    pub(crate) fn kubectl(&self, args: &[&str]) -> bool {
        self.kubectl_output(args).is_ok()
    }

    /// As an administrator; what it prints.
    pub(crate) fn kubectl_output(&self, args: &[&str]) -> Result<String, String> {
        let mut command = Command::new(binary("kubectl"));
        let output = command.arg("--kubeconfig").arg(self.kubeconfig("admin")).args(args).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }

    pub(crate) fn apply(&self, text: &str) -> Result<String, String> {
        let file = tempfile::NamedTempFile::new_in(self.dir.path()).unwrap();
        fs::write(file.path(), text).unwrap();
        self.kubectl_output(&["apply", "--server-side", "--force-conflicts", "-f", file.path().to_str().unwrap()])
    }

    /// A file of this server's folder; its path.
    pub(crate) fn file(&self, name: &str, text: &str) -> String {
        let file = tempfile::Builder::new().suffix(name).tempfile_in(self.dir.path()).unwrap();
        fs::write(file.path(), text).unwrap();
        file.into_temp_path().keep().unwrap().display().to_string()
    }

    /// For `admin`, `controller`, `approver`, `cluster-api` (the controller in a management cluster), `requester` (another
    /// remediator), `health-check-operator` (the service account of the real one) or `controller-manager`.
    pub(crate) fn kubeconfig(&self, who: &str) -> PathBuf {
        let text = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{ "name": "c", "cluster": {
                "server": format!("https://127.0.0.1:{}", self.port), "certificate-authority": self.own_file("ca.crt"),
            } }],
            "users": [{ "name": "c", "user": {
                "client-certificate": self.own_file(&format!("{who}.crt")),
                "client-key": self.own_file(&format!("{who}.key")),
            } }],
            "contexts": [{ "name": "c", "context": { "cluster": "c", "user": "c" } }],
        });
        let path = self.dir.path().join(format!("{who}.kubeconfig"));
        // In one step: a program that was just started may be reading it.
        let new = path.with_extension("new");
        fs::write(&new, text.to_string()).unwrap();
        fs::rename(&new, &path).unwrap();
        path
    }

    pub(crate) async fn client(&self, who: &str) -> kube::Client {
        connect(Some(&self.kubeconfig(who)), Default::default()).await.unwrap()
    }

    pub(crate) async fn cluster(&self, who: &str) -> KubeCluster {
        KubeCluster::new(self.client(who).await, clock(), settings())
    }
}

/// Backups and restores, as a person makes them: both programs are stopped meanwhile.
impl Server {
    pub(crate) fn back_up(&mut self) {
        self.restart_after("cp -a etcd backup");
    }

    pub(crate) fn restore(&mut self) {
        self.restart_after("rm -r etcd && cp -a backup etcd");
    }

    fn restart_after(&mut self, what: &str) {
        self._apiserver.end();
        self._etcd.end();
        let done = Command::new("sh").args(["-c", what]).current_dir(self.dir.path()).status().unwrap();
        assert!(done.success(), "{what}");
        let [etcd, peer] = self.etcd_ports;
        self._etcd = start_etcd(self.dir.path(), etcd, peer);
        self._apiserver = start_apiserver(self.dir.path(), self.port, etcd);
        self.wait();
    }
}

pub(crate) fn clock() -> Clock {
    Clock::system(nodewell_controller::clock::slept)
}

pub(crate) fn settings() -> KubeSettings {
    KubeSettings {
        namespace: "nodewell".into(),
        lease_namespace: "nodewell-controller".into(),
        lease: "nodewell-controller".into(),
        claims: Some("medik8s-leases".into()),
        pause_files: Vec::new(),
        keep_ended: Duration::from_secs(24 * 3600),
        request_timeout: Duration::from_secs(10),
    }
}

fn start(dir: &Path, name: &str, flags: &[String], environment: &[(&str, &str)]) -> Guard {
    let log = fs::File::create(dir.join(format!("{name}.log"))).unwrap();
    // The kernel ends it when the thread that started it is gone, which is the main one: a test that is killed drops nothing.
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]).arg(binary(name)).args(flags).envs(environment.iter().copied());
    command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
    Guard(command.spawn().unwrap())
}

fn start_etcd(dir: &Path, port: u16, peer: u16) -> Guard {
    let (client, peer) = (format!("http://127.0.0.1:{port}"), format!("http://127.0.0.1:{peer}"));
    let flags = [
        format!("--data-dir={}", dir.join("etcd").display()),
        format!("--listen-client-urls={client}"),
        format!("--advertise-client-urls={client}"),
        format!("--listen-peer-urls={peer}"),
        format!("--initial-advertise-peer-urls={peer}"),
        format!("--initial-cluster=default={peer}"),
        "--unsafe-no-fsync".to_owned(),
    ];
    start(dir, "etcd", &flags, &[])
}

fn start_apiserver(dir: &Path, port: u16, etcd: u16) -> Guard {
    let file = |flag: &str, name: &str| format!("--{flag}={}", dir.join(name).display());
    let mut flags = vec![
        format!("--etcd-servers=http://127.0.0.1:{etcd}"),
        format!("--secure-port={port}"),
        file("tls-cert-file", "server.crt"),
        file("tls-private-key-file", "server.key"),
        file("client-ca-file", "ca.crt"),
        file("service-account-key-file", "server.pub"),
        file("service-account-signing-key-file", "server.key"),
    ];
    let fixed = [
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        "--endpoint-reconciler-type=none",
        "--service-cluster-ip-range=10.96.0.0/24",
        "--authorization-mode=Node,RBAC",
        "--disable-admission-plugins=ServiceAccount",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--shutdown-delay-duration=0s",
    ];
    flags.extend(fixed.map(str::to_owned));
    start(dir, "kube-apiserver", &flags, &[])
}

fn certificates(dir: &Path) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "nodewell tests");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    fs::write(dir.join("ca.crt"), params.self_signed(&key).unwrap().pem()).unwrap();
    let issuer = Issuer::new(params, key);
    let mut server = CertificateParams::new(["localhost", "127.0.0.1"].map(str::to_owned)).unwrap();
    server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    issue(dir, "server", server, &issuer);
    for (file, name, group) in [
        ("admin", "admin", "system:masters"),
        ("controller", "nodewell:controller", "nodewell"),
        ("approver", "nodewell:approver", "nodewell"),
        ("cluster-api", "nodewell:cluster-api", "nodewell"),
        ("requester", "requester", "remediators"),
        ("health-check-operator", "system:serviceaccount:nhc:node-healthcheck-controller-manager", "remediators"),
        ("controller-manager", "system:kube-controller-manager", "control-plane"),
    ] {
        let mut client = CertificateParams::default();
        client.distinguished_name.push(DnType::CommonName, name);
        client.distinguished_name.push(DnType::OrganizationName, group);
        client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        issue(dir, file, client, &issuer);
    }
}

fn issue(dir: &Path, file: &str, mut params: CertificateParams, issuer: &Issuer<'static, KeyPair>) {
    let key = KeyPair::generate().unwrap();
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    fs::write(dir.join(format!("{file}.crt")), params.signed_by(&key, issuer).unwrap().pem()).unwrap();
    fs::write(dir.join(format!("{file}.key")), key.serialize_pem()).unwrap();
    fs::write(dir.join(format!("{file}.pub")), key.public_key_pem()).unwrap();
}
