//! Control-plane hosts as they are: each in a network namespace of its own, with its own controller, its own fence agents
//! and its own way to the API server, on one network with the nodes and their BMCs.

mod agents;
mod scenario;

use std::{
    ffi::OsString,
    fs,
    net::SocketAddr,
    process::Command,
    sync::{Mutex, OnceLock},
};

use serde_json::json;
use tempfile::TempDir;
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

pub use self::{
    agents::Agents,
    scenario::{LOST, Scenario},
};
use crate::{
    cluster::Cluster,
    controller::Controller,
    fencing::MachineAddress,
    runtime::{block_on, runtime},
};

/// As the package's roles name them.
const USER: &str = "nodewell:controller";
const GROUP: &str = "nodewell:controllers";
/// Long enough for an agent to wait at a gate until its leader's Lease is over.
const POWER_TIMEOUT_SECS: u32 = 40;
const METRICS: u16 = 20258;

/// A bridge of this machine's, which is also the API server, the nodes and the BMCs. All gone when dropped.
#[derive(Debug)]
pub struct Network {
    bridge: String,
    /// `10.214.7`.
    prefix: String,
    hosts: Vec<Host>,
    relay: JoinHandle<()>,
}

/// One control-plane host.
#[derive(Debug)]
pub struct Host {
    pub name: String,
    namespace: String,
    /// The end of its link that is on the bridge.
    bridge: String,
    address: String,
    /// The API server's, for this host alone.
    api: SocketAddr,
    agents: Agents,
}

impl Network {
    /// So many hosts of `cluster`.
    ///
    /// # Panics
    /// If this machine makes no namespaces or bridges.
    #[must_use]
    pub fn start(cluster: &Cluster, hosts: u8) -> Self {
        let (bridge, prefix) = bridge();
        // On all addresses: those of the hosts come and go.
        let listener = block_on(TcpListener::bind("0.0.0.0:0")).unwrap();
        let port = listener.local_addr().unwrap().port();
        let relay = runtime().spawn(relay(listener, cluster.as_real().address()));
        let hosts = (0..hosts).map(|number| Host::start(&bridge, &prefix, number, port)).collect();
        let network = Self { bridge, prefix, hosts, relay };
        network.add("2");
        network
    }

    /// The host of this number, from 0.
    #[must_use]
    pub fn host(&self, number: usize) -> &Host {
        &self.hosts[number]
    }

    /// Where a node is, from 100 on; its kernel answers there from now on.
    #[must_use]
    pub fn address(&self, number: u8) -> MachineAddress {
        assert!((100..200).contains(&number), "the addresses of nodes are from 100 on");
        self.add(&number.to_string());
        let (prefix, power_timeout_secs) = (&self.prefix, POWER_TIMEOUT_SECS);
        MachineAddress { node: format!("{prefix}.{number}"), bmc: format!("{prefix}.2"), power_timeout_secs }
    }

    /// No host reaches the node there any more; its BMC has a cable of its own.
    pub fn unplug(&self, address: &MachineAddress) {
        ip(&["addr", "del", &format!("{}/32", address.node), "dev", &self.bridge]);
    }

    /// It is reached again.
    pub fn plug(&self, address: &MachineAddress) {
        ip(&["addr", "add", &format!("{}/32", address.node), "dev", &self.bridge]);
    }

    /// All nodes there can be.
    #[must_use]
    pub fn all_nodes(&self) -> [String; 3] {
        ["96/27", "128/26", "192/29"].map(|part| format!("{}.{part}", self.prefix))
    }

    fn add(&self, last: &str) {
        ip(&["addr", "add", &format!("{}.{last}/32", self.prefix), "dev", &self.bridge]);
    }
}

impl Host {
    fn start(bridge: &str, prefix: &str, number: u8, port: u16) -> Self {
        let (namespace, near) = (format!("{bridge}n{number}"), format!("{bridge}h{number}"));
        let (address, api) = (format!("{prefix}.{}", 10 + number), format!("{prefix}.{}", 20 + number));
        ip(&["netns", "add", &namespace]);
        ip(&["link", "add", &near, "type", "veth", "peer", "name", "eth0", "netns", &namespace]);
        ip(&["link", "set", &near, "master", bridge, "up"]);
        ip(&["-n", &namespace, "addr", "add", &format!("{address}/24"), "dev", "eth0"]);
        ip(&["-n", &namespace, "link", "set", "eth0", "up"]);
        ip(&["-n", &namespace, "link", "set", "lo", "up"]);
        ip(&["addr", "add", &format!("{api}/32"), "dev", bridge]);
        // Known for good, so that a cut way gives no sign: not even that the address does not answer.
        let known = ["lladdr", &hardware(bridge), "nud", "permanent", "dev", "eth0"];
        ip(&[&["-n", &namespace, "neigh", "replace", &api][..], &known[..]].concat());
        let api = SocketAddr::new(api.parse().unwrap(), port);
        let name = format!("host-{}", char::from(b'a' + number));
        Self { name, namespace, bridge: bridge.to_owned(), address, api, agents: Agents::make() }
    }

    /// Its controller, with the rights of the package's roles; nothing runs.
    ///
    /// # Panics
    /// If there is no place for temporary files.
    #[must_use]
    pub fn controller(&self, cluster: &Cluster, more: &str) -> Controller {
        let folder = TempDir::with_prefix("nodewell-controller-").unwrap();
        let server = json!({
            "server": format!("https://{}", self.api), "tls-server-name": "localhost",
            "certificate-authority": cluster.as_real().authority(),
        });
        let kubeconfig = crate::cluster::kubeconfig(server, cluster.as_real().certificate(USER, GROUP, -1..2));
        fs::write(folder.path().join("kubeconfig"), kubeconfig.to_string()).unwrap();
        let config = format!(
            "dry-run = false\n{more}\n[leader]\nidentity = {:?}\n[fencing]\nagents-folder = {:?}\n",
            self.name,
            self.agents.folder()
        );
        Controller::prepare_in(cluster, folder, format!("{}:{METRICS}", self.address), self.enter(), &config)
    }

    /// Its fence agents.
    #[must_use]
    pub fn agents(&self) -> &Agents {
        &self.agents
    }

    /// From now on packets to and from the API server vanish.
    pub fn cut_api(&self) {
        ip(&["addr", "del", &format!("{}/32", self.api.ip()), "dev", &self.bridge]);
    }

    /// They arrive again.
    pub fn join_api(&self) {
        ip(&["addr", "add", &format!("{}/32", self.api.ip()), "dev", &self.bridge]);
    }

    /// Of all hosts only this one reaches `addresses` (one, or a network) no more.
    pub fn loses(&self, addresses: &str) {
        ip(&["-n", &self.namespace, "route", "add", "blackhole", addresses]);
    }

    /// Reaches them again.
    pub fn finds(&self, addresses: &str) {
        ip(&["-n", &self.namespace, "route", "del", "blackhole", addresses]);
    }

    fn enter(&self) -> Vec<OsString> {
        vec!["nsenter".into(), format!("--net=/run/netns/{}", self.namespace).into(), "--".into()]
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        self.relay.abort();
        // The links go with their far ends.
        self.hosts.iter().for_each(|host| ip(&["netns", "del", &host.namespace]));
        ip(&["link", "del", &self.bridge]);
    }
}

/// Why this machine has no such network.
#[must_use]
pub fn missing() -> Option<String> {
    static CAN: OnceLock<bool> = OnceLock::new();
    let can = || {
        let name = format!("nwt{}", std::process::id());
        let ip = |args: &[&str]| Command::new("ip").args(args).output().is_ok_and(|output| output.status.success());
        ip(&["link", "add", &name, "type", "bridge"]) && ip(&["link", "del", &name])
    };
    let no_bridge = || (!CAN.get_or_init(can)).then(|| "needs network bridges (`ip link add type bridge`)".to_owned());
    crate::wire::unmet().or_else(no_bridge)
}

/// A new bridge on a network that no interface of this machine has, up.
fn bridge() -> (String, String) {
    static TAKEN: Mutex<u8> = Mutex::new(0);
    let mut taken = TAKEN.lock().unwrap();
    let name = format!("nwb{}x{}", std::process::id() % 100_000, *taken);
    let used = ip_output(&["-o", "-4", "addr"]);
    let first = std::process::id() % 200 + u32::from(*taken) * 7;
    let free = (0..250).map(|step| format!("10.214.{}", (first + step) % 250));
    let prefix = free.into_iter().find(|prefix| !used.contains(&format!(" {prefix}."))).unwrap();
    *taken += 1;
    ip(&["link", "add", &name, "type", "bridge"]);
    // A bridge changes its address with its ports, unless it was given one.
    ip(&["link", "set", &name, "address", &format!("02:4e:57:00:{:02x}:{:02x}", first % 250, *taken)]);
    ip(&["addr", "add", &format!("{prefix}.1/24"), "dev", &name]);
    ip(&["link", "set", &name, "up"]);
    (name, prefix)
}

fn hardware(link: &str) -> String {
    fs::read_to_string(format!("/sys/class/net/{link}/address")).unwrap().trim().to_owned()
}

fn ip(args: &[&str]) {
    drop(ip_output(args));
}

fn ip_output(args: &[&str]) -> String {
    let output = Command::new("ip").args(args).output().unwrap();
    assert!(output.status.success(), "ip {}: {}", args.join(" "), String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

async fn relay(listener: TcpListener, server: SocketAddr) {
    while let Ok((mut near, _)) = listener.accept().await {
        tokio::spawn(async move {
            let mut far = TcpStream::connect(server).await?;
            copy_bidirectional(&mut near, &mut far).await
        });
    }
}
