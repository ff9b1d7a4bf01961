//! A worker: a machine with containerd and a kubelet, at a port of the switch, whose power a BMC of its own turns off
//! and on.

mod bmc;
mod container;
mod ext4;
mod image;
mod power;
mod root;
mod virtual_worker;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use nodewell_tests::{
    cluster::kubeconfig,
    leftovers,
    machine::{Controllers, Hardware, Inside, KernelLog, Machine},
    real::binary,
    wait::found_within,
};
use serde_json::json;
use tempfile::TempDir;

use self::{
    bmc::Bmc,
    container::Container,
    power::Power,
    root::{Kind, Root},
};
pub use self::{
    bmc::{Order, OrderLog},
    ext4::{Ext4, OPTIONS, Report},
    virtual_worker::VirtualWorker,
};
use crate::{control_plane::ControlPlane, network::Network};

/// A machine takes a few seconds to be off, with pods in it; a process that ignores SIGTERM is killed by systemd after 90.
const ORDERLY: Duration = Duration::from_secs(180);
/// The kubelet's credentials, as kubeadm leaves them: the kubeconfig names a link to the newest file.
const CREDENTIALS: &str = "/var/lib/kubelet/pki/kubelet-client-current.pem";
const NEWEST: &str = "kubelet-client-2026-01-01-00-00-00.pem";
const KUBELET_CONF: &str = "/etc/kubernetes/kubelet.conf";
/// As kubeadm's.
const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

/// Which of the cluster's workers it is: addresses and names come from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Number(pub(crate) u8);

impl Number {
    pub(crate) fn name(self) -> String {
        format!("w{}", self.0)
    }

    /// Its own address, and its BMC's, end so.
    pub(crate) fn last(self) -> u8 {
        10 + self.0
    }

    fn bmc_last(self) -> u8 {
        100 + self.0
    }

    /// The network of its pods.
    pub(crate) fn pods(self) -> String {
        format!("10.88.{}.0/24", self.0)
    }

    /// The other ones of so many workers.
    fn others(self, workers: u8) -> impl Iterator<Item = Self> {
        (1..=workers).map(Self).filter(move |other| *other != self)
    }

    /// What its firmware and its BMC report of the machine, without hyphens.
    fn guid(self) -> String {
        format!("a1234567890b4def8abc{:012x}", self.0)
    }

    /// The same as Kubernetes and fence ConfigMaps write it.
    pub(crate) fn system_uuid(self) -> String {
        let guid = self.guid();
        [&guid[..8], &guid[8..12], &guid[12..16], &guid[16..20], &guid[20..]].join("-")
    }
}

/// A worker and its BMC; both end when dropped.
#[derive(Debug)]
pub struct Worker {
    number: Number,
    name: String,
    /// Dropped in this order: what turns it on, then the machine, then its files.
    bmc: Bmc,
    power: Power<Container>,
    network: Arc<Network>,
    root: Root,
    folder: TempDir,
}

/// What all workers have in common.
#[derive(Debug)]
pub(crate) struct Common<'a> {
    pub network: &'a Arc<Network>,
    pub control_plane: &'a ControlPlane,
    /// The tree that machines boot from.
    pub tree: PathBuf,
    /// The images of pods.
    pub images: PathBuf,
    /// Where all volumes are.
    pub volumes: &'a Path,
    /// How many workers there are.
    pub workers: u8,
    /// What containers begin with instead of the current one.
    pub older_kubelet: Option<PathBuf>,
}

impl Worker {
    /// One that is off, with its kubelet's credentials on its disk; its BMC answers.
    pub(crate) fn prepare(common: &Common<'_>, number: Number, kernel_log: KernelLog) -> Self {
        let folder = leftovers::folder("worker");
        let root = Root::prepare(common, number, Kind::Container, folder.path());
        join(common.control_plane, number, &root);
        let mut flags = root.binds(common);
        flags.extend(FLAGS.split_whitespace().map(str::to_owned));
        flags.push(format!("--hostname={}", number.name()));
        flags.push("--system-call-filter=@keyring bpf perf_event_open @mount @module".to_owned());
        let hardware = Hardware {
            name: number.name(),
            program: vec![root::INIT.to_owned()],
            network: Some(common.network.namespace(&number.name())),
            kernel_log,
            controllers: Controllers::All,
            flags,
            ..Hardware::of(root.path())
        };
        let bmc_folder = folder.path().join("bmc");
        let network = Arc::clone(common.network);
        let power = Power::start(Container { hardware, network, number, workers: common.workers }, &bmc_folder);
        let bmc = Bmc::start(common.network, number, &bmc_folder);
        let network = Arc::clone(common.network);
        Self { number, name: number.name(), bmc, power, network, root, folder }
    }

    /// Its Node's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it is on the cluster's network.
    #[must_use]
    pub fn address(&self) -> String {
        self.network.address(self.number.last())
    }

    /// Where its BMC is.
    #[must_use]
    pub fn bmc_address(&self) -> &str {
        self.bmc.address()
    }

    /// As by its power button; it is on already, or begins to boot.
    ///
    /// # Errors
    /// Why it does not; it is off then.
    pub fn on(&self) -> Result<(), String> {
        self.power.on()
    }

    /// As by pulling the plug: PID 1 is killed, with everything in it.
    pub fn off(&self) {
        self.power.off();
    }

    /// Shuts it down as its administrator would.
    ///
    /// # Errors
    /// If it is off, or does not end.
    pub fn stop(&self) -> Result<(), String> {
        let inside = self.inside_if_on().ok_or_else(|| format!("{} is off", self.name))?;
        let ordered = inside.run(["systemctl", "poweroff"]);
        let is_off = found_within(ORDERLY, || (!self.is_on()).then_some(()));
        is_off.ok_or_else(|| format!("{} is on after {ORDERLY:?}; systemctl poweroff: {}", self.name, ordered.stderr))
    }

    /// Whether the machine has power.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.power.is_on()
    }

    /// Its port at the switch is pulled; its BMC has a cable of its own.
    pub fn cut(&self) {
        self.network.cut(&self.name);
    }

    /// It is plugged in again.
    pub fn join(&self) {
        self.network.join(&self.name);
    }

    /// From now on its BMC reads Off of it, on or off, and takes orders that it does not carry out; or it is corrected.
    pub fn bmc_lies(&self, lies: bool) {
        self.power.lies(lies);
    }

    /// What can be done in it while it is on.
    ///
    /// # Panics
    /// If it is off.
    #[must_use]
    pub fn inside(&self) -> Inside {
        self.inside_if_on().unwrap_or_else(|| panic!("{} is off", self.name))
    }

    fn inside_if_on(&self) -> Option<Inside> {
        self.power.of_machine(Machine::inside)
    }

    /// Its kubelet's program is replaced by the current one, as a package does it, and started again.
    ///
    /// # Panics
    /// If it began with the current one, or the machine is off.
    pub fn upgrade_kubelet(&self) {
        let inside = self.inside();
        inside.copy(&binary("kubelet"), "/usr/bin/kubelet.new");
        inside.sh("mv /usr/bin/kubelet.new /usr/bin/kubelet && systemctl restart kubelet");
    }

    /// What its BMC was ordered, oldest first.
    #[must_use]
    pub fn orders(&self) -> Vec<Order> {
        self.bmc.orders()
    }

    /// The same, to be read for as long as the worker is there.
    #[must_use]
    pub fn order_log(&self) -> OrderLog {
        self.bmc.order_log()
    }

    /// What its kubelet writes, whether the machine is on or off.
    #[must_use]
    pub fn kubelets_folder(&self) -> PathBuf {
        self.root.kubelets_folder()
    }

    /// The ConfigMap and the Secret by which the controller fences it.
    #[must_use]
    pub fn fencing(&self) -> [serde_json::Value; 2] {
        self.bmc.fencing()
    }

    /// A fresh ext4 on a device of its own, mounted nowhere.
    ///
    /// # Panics
    /// If it is off, or this machine has no loop device left.
    #[must_use]
    pub fn ext4(&self) -> Ext4<'_> {
        Ext4::make(self.folder.path(), self)
    }

    /// Gives its kubelet, before that starts again, credentials that end after `life`.
    ///
    /// # Panics
    /// If they cannot be written.
    pub(crate) fn issue_credentials(&self, control_plane: &ControlPlane, life: Duration) {
        write_credentials(control_plane, self.number, &self.root, life);
    }

    /// Writes a file to its disk, whether it is on or off.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn write(&self, inside: &str, content: &str) {
        self.root.write(inside, content);
    }
}

/// It stops in an orderly way by the signal that systemd knows; nothing of the outer machine's configuration is laid
/// over its own.
const FLAGS: &str = "--kill-signal=SIGRTMIN+3 --resolv-conf=off --timezone=off --link-journal=no";

/// What a node that has joined has on its disk.
fn join(control_plane: &ControlPlane, number: Number, root: &Root) {
    let authority = std::fs::read_to_string(control_plane.pki().path("ca.crt")).unwrap();
    root.write("/etc/kubernetes/pki/ca.crt", &authority);
    write_credentials(control_plane, number, root, YEAR);
}

fn write_credentials(control_plane: &ControlPlane, number: Number, root: &Root, life: Duration) {
    let own = leftovers::folder("credentials");
    control_plane.pki().write_client(&format!("system:node:{}", number.name()), "system:nodes", own.path(), life);
    let read = |name: &str| std::fs::read_to_string(own.path().join(name)).unwrap();
    root.write_secret(&format!("/var/lib/kubelet/pki/{NEWEST}"), &[read("client.crt"), read("client.key")].concat());
    root.link(CREDENTIALS, NEWEST);
    let user = json!({ "client-certificate": CREDENTIALS, "client-key": CREDENTIALS });
    root.write_secret(KUBELET_CONF, &kubeconfig(control_plane.endpoint(), user).to_string());
}
