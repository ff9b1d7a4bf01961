//! etcd and kube-apiserver on loopback, where envtest's folder has them, with RBAC in force.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use nodewell_controller::kube::{KubeCluster, Settings, connect};
use nodewell_kit::free_ports;
use nodewell_reconcile::clock::Clock;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};
use serde_json::json;
use tempfile::TempDir;

/// A loaded machine with two cores needs half of it at most.
const START_LIMIT: Duration = Duration::from_secs(60);

/// A process that ends with its guard.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A running pair; both end when dropped, the API server first.
pub(crate) struct Server {
    _apiserver: Guard,
    _etcd: Guard,
    dir: TempDir,
    port: u16,
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

impl Server {
    pub(crate) fn start() -> Self {
        let dir = tempfile::Builder::new().prefix("nodewell-controller-").tempdir().unwrap();
        certificates(dir.path());
        let [port, etcd, peer] = free_ports();
        let etcd_guard = start_etcd(dir.path(), etcd, peer);
        let apiserver = start_apiserver(dir.path(), port, etcd);
        let server = Self { _apiserver: apiserver, _etcd: etcd_guard, dir, port };
        server.wait();
        server
    }

    fn wait(&self) {
        let until = Instant::now() + START_LIMIT;
        while !self.kubectl(&["get", "--raw", "/api/v1/namespaces/default"]) {
            let log = fs::read_to_string(self.dir.path().join("kube-apiserver.log")).unwrap_or_default();
            assert!(Instant::now() < until, "kube-apiserver is not ready: {}", log.lines().last().unwrap_or_default());
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// As an administrator; whether it went well.
    pub(crate) fn kubectl(&self, words: &[&str]) -> bool {
        self.kubectl_says(words).is_ok()
    }

    /// As an administrator; what it says.
    pub(crate) fn kubectl_says(&self, words: &[&str]) -> Result<String, String> {
        let mut command = Command::new(binary("kubectl"));
        let output = command.arg("--kubeconfig").arg(self.kubeconfig("admin")).args(words).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }

    pub(crate) fn apply(&self, text: &str) -> Result<String, String> {
        let file = tempfile::NamedTempFile::new_in(self.dir.path()).unwrap();
        fs::write(file.path(), text).unwrap();
        self.kubectl_says(&["apply", "--server-side", "--force-conflicts", "-f", file.path().to_str().unwrap()])
    }

    /// A file of this server's folder; its path.
    pub(crate) fn file(&self, name: &str, text: &str) -> String {
        let file = tempfile::Builder::new().suffix(name).tempfile_in(self.dir.path()).unwrap();
        fs::write(file.path(), text).unwrap();
        file.into_temp_path().keep().unwrap().display().to_string()
    }

    /// For `admin`, `controller` or `approver`.
    pub(crate) fn kubeconfig(&self, who: &str) -> PathBuf {
        let file = |name: String| self.dir.path().join(name).display().to_string();
        let text = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{ "name": "c", "cluster": {
                "server": format!("https://127.0.0.1:{}", self.port), "certificate-authority": file("ca.crt".into()),
            } }],
            "users": [{ "name": "c", "user": {
                "client-certificate": file(format!("{who}.crt")), "client-key": file(format!("{who}.key")),
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

pub(crate) fn clock() -> Clock {
    Clock::system(nodewell_controller::clock::slept)
}

pub(crate) fn settings() -> Settings {
    Settings {
        namespace: "nodewell".into(),
        lease: "nodewell-controller".into(),
        claims: Some("medik8s-leases".into()),
        hold_files: Vec::new(),
        request_timeout: Duration::from_secs(10),
    }
}

fn start(dir: &Path, name: &str, flags: &[String]) -> Guard {
    let log = fs::File::create(dir.join(format!("{name}.log"))).unwrap();
    let mut command = Command::new(binary(name));
    command.args(flags).stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
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
    start(dir, "etcd", &flags)
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
    start(dir, "kube-apiserver", &flags)
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
