//! The control plane: etcd, kube-apiserver, kube-controller-manager and kube-scheduler, as processes on the cluster's
//! network, with every time limit as shipped. Where there are two API servers, HAProxy stands before them.

pub(crate) mod balancer;

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Duration,
};

use nix::sys::signal::Signal;
use nodewell_tests::{
    cluster::{Call, Client, kubeconfig},
    pki::Pki,
    process::Process,
    real::{binary, etcd_flags, is_ready, tail},
    wait::until_within,
};
use serde_json::{Value, json};

use self::balancer::Balancer;
use crate::network::Network;

/// Its port at the switch.
pub(crate) const PORT: &str = "control";
/// Loopback of the namespace: there is one etcd in each.
const ETCD: &str = "http://127.0.0.1:2379";
const API_SERVER: &str = "kube-apiserver";
const SECOND_API_SERVER: &str = "kube-apiserver-2";
/// Where clients find them.
const API_PORT: u16 = 6443;
/// Where each is, behind a balancer.
const PORTS_BEHIND: [(&str, u16); 2] = [(API_SERVER, 6444), (SECOND_API_SERVER, 6445)];
/// One that is asked to end is not ready for so long before it takes no more connections: the balancer looks each second.
const LEAVES_FOR: &str = "--shutdown-delay-duration=5s";
/// It waits for requests under way, for a minute at most.
const ORDERLY: Duration = Duration::from_secs(120);
/// Its address ends so.
pub(crate) const LAST: u8 = 10;
/// A loaded machine with two cores needs a third of it.
const START_LIMIT: Duration = Duration::from_secs(120);

/// The most lines of a log that are shown.
const SHOWN: usize = 20;

#[derive(Debug)]
struct Program {
    name: &'static str,
    argv: Vec<OsString>,
    process: Process,
}

/// A running control plane; it ends when dropped.
#[derive(Debug)]
pub struct ControlPlane {
    /// In the order in which they were started.
    programs: Vec<Program>,
    pki: Pki,
    folder: PathBuf,
    address: String,
}

impl ControlPlane {
    /// Starts one whose files are in `folder`, and waits until its API server is ready.
    ///
    /// # Panics
    /// If it does not come up; the ends of its logs are shown.
    #[must_use]
    pub fn start(network: &Arc<Network>, folder: &Path, two_api_servers: bool) -> Self {
        let address = network.address(LAST);
        network.plug_in(PORT, LAST).unwrap();
        let pki = Pki::new(folder, &[&address]);
        let mut this = Self { programs: Vec::new(), pki, folder: folder.to_owned(), address };
        this.run(network, "etcd", etcd_flags(folder, ETCD, "http://127.0.0.1:2380"));
        if two_api_servers {
            this.start_balanced(network);
        } else {
            this.run(network, API_SERVER, apiserver_flags(&this.pki, &this.address, API_PORT));
        }
        this.wait(API_PORT);
        for (name, user) in
            [("kube-controller-manager", "system:kube-controller-manager"), ("kube-scheduler", "system:kube-scheduler")]
        {
            let kubeconfig = this.write_kubeconfig(name, user, "control-plane");
            let mut flags = client_flags(&kubeconfig);
            if name == "kube-controller-manager" {
                flags.extend(signer_flags(&this.pki));
            }
            this.run(network, name, flags);
        }
        this
    }

    fn start_balanced(&mut self, network: &Network) {
        for (name, port) in PORTS_BEHIND {
            let mut flags = apiserver_flags(&self.pki, &self.address, port);
            flags.push(LEAVES_FOR.to_owned());
            self.run_as(network, name, &binary(API_SERVER), flags);
            self.wait(port);
        }
        let flags = Balancer(&self.folder).configure();
        self.run_as(network, "haproxy", Path::new(balancer::PROGRAM), flags);
    }

    fn run(&mut self, network: &Network, name: &'static str, flags: Vec<String>) {
        self.run_as(network, name, &binary(name), flags);
    }

    fn run_as(&mut self, network: &Network, name: &'static str, program: &Path, flags: Vec<String>) {
        let mut argv = network.enter(PORT);
        argv.push(program.into());
        argv.extend(flags.into_iter().map(OsString::from));
        let process = Process::start(&argv, &self.log(name)).unwrap();
        self.programs.push(Program { name, argv, process });
    }

    fn log(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.log"))
    }

    /// Kills its API server, as by a crash of it.
    pub(crate) fn stop_api_server(&mut self) {
        self.program(API_SERVER).process.kill();
    }

    /// Starts it again as it was, and waits until it is ready.
    pub(crate) fn start_api_server(&mut self) {
        self.start_again(API_SERVER, API_PORT);
    }

    pub(crate) fn start_api_server_if_away(&mut self) {
        if self.program(API_SERVER).process.ended().is_some() {
            self.start_api_server();
        }
    }

    /// Asks one of two to end, which takes a minute. The other one is in use by then.
    pub(crate) fn end_api_server(&mut self, number: usize) {
        Balancer(&self.folder).wait_all_up();
        self.program(PORTS_BEHIND[number].0).process.signal(Signal::SIGTERM);
    }

    /// Waits until it has, and starts it again.
    pub(crate) fn start_ended_api_server(&mut self, number: usize) {
        let (name, port) = PORTS_BEHIND[number];
        let process = &mut self.program(name).process;
        until_within(ORDERLY, &format!("{name} has ended"), || process.ended());
        self.start_again(name, port);
    }

    fn start_again(&mut self, name: &str, port: u16) {
        let log = self.log(name);
        let program = self.program(name);
        program.process = Process::start(&program.argv, &log).unwrap();
        self.wait(port);
    }

    fn program(&mut self, name: &str) -> &mut Program {
        let found = self.programs.iter_mut().find(|program| program.name == name);
        found.unwrap_or_else(|| panic!("this control plane has no {name}"))
    }

    /// Those that ended by themselves: none is to.
    pub(crate) fn ended(&mut self) -> Vec<&'static str> {
        let ended = self.programs.iter_mut().filter_map(|one| one.process.ended().map(|_| one.name));
        ended.collect()
    }

    /// Until the API server at this port is ready.
    fn wait(&mut self, port: u16) {
        let admin = self.pki.dated("admin", "system:masters", -1..365);
        let admin = Client::new(&kubeconfig(self.endpoint_at(port), admin));
        until_within(START_LIMIT, "kube-apiserver is ready", || {
            let ended = self.ended();
            assert!(ended.is_empty(), "{} ended", ended.join(" and "));
            is_ready(&admin).then_some(())
        });
    }

    /// Where it is.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Its authority and what that signs.
    #[must_use]
    pub fn pki(&self) -> &Pki {
        &self.pki
    }

    /// A kubeconfig of `name` in `group` with everything in it.
    #[must_use]
    pub fn kubeconfig(&self, name: &str, group: &str) -> Value {
        kubeconfig(self.endpoint(), self.pki.dated(name, group, -1..365))
    }

    /// A kubeconfig of `user` where the files of the control plane are.
    fn write_kubeconfig(&self, file: &str, user: &str, group: &str) -> PathBuf {
        let path = self.folder.join(format!("{file}.kubeconfig"));
        fs::write(&path, self.kubeconfig(user, group).to_string()).unwrap();
        path
    }

    /// The administrator's kubeconfig, for kubectl.
    ///
    /// # Panics
    /// If it cannot be written.
    #[must_use]
    pub fn admin_kubeconfig(&self) -> PathBuf {
        let path = self.folder.join("admin.kubeconfig");
        if path.exists() { path } else { self.write_kubeconfig("admin", "admin", "system:masters") }
    }

    /// The administrator, on this machine.
    #[must_use]
    pub fn client(&self) -> Client {
        Client::new(&self.kubeconfig("admin", "system:masters"))
    }

    /// Metrics of kube-controller-manager, as Prometheus reads them.
    ///
    /// # Panics
    /// If it gives none.
    #[must_use]
    pub fn controller_manager_metrics(&self) -> String {
        // It signs its own certificate.
        let cluster = json!({ "server": format!("https://{}:10257", self.address), "insecure-skip-tls-verify": true });
        let client = Client::new(&kubeconfig(cluster, self.pki.dated("admin", "system:masters", -1..365)));
        let (code, text) = client.call(&Call::get("/metrics"));
        let text = text.as_str().filter(|_| code == 200).unwrap_or_else(|| panic!("/metrics: {code}: {text}"));
        text.to_owned()
    }

    /// A kubeconfig's cluster: where the API server is, and who has signed its certificate.
    #[must_use]
    pub fn endpoint(&self) -> Value {
        self.endpoint_at(API_PORT)
    }

    fn endpoint_at(&self, port: u16) -> Value {
        let authority = fs::read(self.pki.path("ca.crt")).unwrap();
        let server = format!("https://{}:{port}", self.address);
        json!({ "server": server, "certificate-authority-data": nodewell_tests::pki::data(authority) })
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        if thread::panicking() {
            let ended = self.ended();
            for Program { name, .. } in &self.programs {
                let state = if ended.contains(name) { "which has ended" } else { "which runs" };
                eprintln!("--- the log of {name}, {state}, ends:\n{}\n---", tail(&self.log(name), SHOWN));
            }
        }
        // What writes ends before what it writes to.
        while self.programs.pop().is_some() {}
    }
}

fn apiserver_flags(pki: &Pki, address: &str, port: u16) -> Vec<String> {
    let file = |flag: &str, name: &str| format!("--{flag}={}", pki.path(name).display());
    // As kubeadm: the API server is a client of the kubelets, for logs and exec.
    let _ = pki.client("kube-apiserver-kubelet-client", "system:masters");
    let mut flags = vec![
        format!("--etcd-servers={ETCD}"),
        format!("--advertise-address={address}"),
        format!("--secure-port={port}"),
        file("tls-cert-file", "server.crt"),
        file("tls-private-key-file", "server.key"),
        file("client-ca-file", "ca.crt"),
        file("service-account-key-file", "sa.pub"),
        file("service-account-signing-key-file", "sa.key"),
        file("kubelet-client-certificate", "kube-apiserver-kubelet-client.crt"),
        file("kubelet-client-key", "kube-apiserver-kubelet-client.key"),
    ];
    let fixed = "--bind-address=0.0.0.0 \
                 --endpoint-reconciler-type=none --service-cluster-ip-range=10.96.0.0/24 --authorization-mode=Node,RBAC \
                 --enable-admission-plugins=NodeRestriction --service-account-issuer=https://kubernetes.default.svc \
                 --allow-privileged=true --enable-bootstrap-token-auth=true --kubelet-preferred-address-types=InternalIP \
                 --shutdown-delay-duration=0s --v=1";
    flags.extend(fixed.split_whitespace().map(str::to_owned));
    flags
}

fn client_flags(kubeconfig: &Path) -> Vec<String> {
    let mut flags: Vec<String> = ["kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig"]
        .map(|flag| format!("--{flag}={}", kubeconfig.display()))
        .to_vec();
    flags.extend(["--leader-elect=false", "--v=1"].map(str::to_owned));
    flags
}

fn signer_flags(pki: &Pki) -> Vec<String> {
    let file = |flag: &str, name: &str| format!("--{flag}={}", pki.path(name).display());
    vec![
        "--use-service-account-credentials=true".to_owned(),
        file("service-account-private-key-file", "sa.key"),
        file("root-ca-file", "ca.crt"),
        file("cluster-signing-cert-file", "ca.crt"),
        file("cluster-signing-key-file", "ca.key"),
    ]
}
