//! The cluster's network: a switch in a network namespace of its own, with a port for each machine that can be pulled.

pub mod free;

use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs::{self, File},
    io,
    process::{self, Command},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use nix::{
    fcntl::{Flock, FlockArg},
    unistd::geteuid,
};
use nodewell_tests::leftovers::is_dead;

const MARK: &str = "nwc";
/// Where `ip netns` has its names.
const NAMES: &str = "/run/netns";
/// Of the machine's networks, among all processes that make clusters.
const LOCK: &str = "/run/nodewell-cluster.lock";
/// The port of this machine itself.
const OUTER: u8 = 1;
/// The namespace of the switch.
pub(crate) const SWITCH: &str = "switch";

/// All of it is gone when dropped; the namespaces also when the process is killed, since they live in its mounts.
#[derive(Debug)]
pub struct Network {
    /// What all its names begin with.
    tag: String,
    /// `10.77.0`.
    prefix: String,
    /// Ports whose cables are out.
    pulled: Mutex<BTreeSet<String>>,
}

impl Network {
    /// A switch with one port, this machine's own.
    ///
    /// # Panics
    /// If this machine makes no namespaces or bridges.
    #[must_use]
    pub fn make() -> Self {
        Self::try_make().unwrap_or_else(|error| panic!("{error}"))
    }

    fn try_make() -> Result<Self, String> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        // Until it has its address here: two that choose at once would choose the same.
        let _lock = lock()?;
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        // A process that was killed may have had the number that this one has.
        let own = (number == 0).then(process::id);
        sweep_names(|owner| is_dead(owner) || own.is_some_and(|own| own.to_string() == owner));
        let tag = format!("{MARK}{}x{number}", process::id());
        let network = Self { prefix: free_prefix()?, tag, pulled: Mutex::default() };
        let switch = network.namespace(SWITCH);
        ip(&["netns", "add", &switch])?;
        ip(&["-n", &switch, "link", "add", "switch", "type", "bridge"])?;
        ip(&["-n", &switch, "link", "set", "switch", "up"])?;
        ip(&["link", "add", &network.tag, "type", "veth", "peer", "name", "outer", "netns", &switch])?;
        ip(&["addr", "add", &format!("{}/24", network.address(OUTER)), "dev", &network.tag])?;
        ip(&["link", "set", &network.tag, "up"])?;
        network.connect("outer")?;
        Ok(network)
    }

    /// The address that ends so.
    #[must_use]
    pub fn address(&self, last: u8) -> String {
        format!("{}.{last}", self.prefix)
    }

    /// What the network namespace behind `port` is called.
    #[must_use]
    pub fn namespace(&self, port: &str) -> String {
        format!("{}-{port}", self.tag)
    }

    /// The start of a command line: what follows runs in the namespace behind `port`. `ip netns exec` would also lay a
    /// new /sys over /sys/fs/cgroup.
    #[must_use]
    pub fn enter(&self, port: &str) -> Vec<OsString> {
        vec!["nsenter".into(), format!("--net={NAMES}/{}", self.namespace(port)).into(), "--".into()]
    }

    /// A new namespace with a card at `port` of the switch, which has the address that ends so.
    ///
    /// # Errors
    /// If there is one already, or this machine makes no more.
    pub fn plug_in(&self, port: &str, last: u8) -> Result<(), String> {
        let (namespace, switch) = (self.namespace(port), self.namespace(SWITCH));
        ip(&["netns", "add", &namespace])?;
        ip(&["link", "add", "eth0", "netns", &namespace, "type", "veth", "peer", "name", port, "netns", &switch])?;
        ip(&["-n", &namespace, "link", "set", "lo", "up"])?;
        ip(&["-n", &namespace, "link", "set", "eth0", "up"])?;
        self.add_address(port, last)?;
        self.connect(port)
    }

    /// `port` of the switch is a tap, for a virtual machine that runs where the switch is.
    ///
    /// # Errors
    /// If there is one already, or this machine makes no more.
    pub fn plug_in_tap(&self, port: &str) -> Result<(), String> {
        ip(&["-n", &self.namespace(SWITCH), "tuntap", "add", "dev", port, "mode", "tap"])?;
        self.connect(port)
    }

    /// One more address at `port`.
    ///
    /// # Errors
    /// If it has that already.
    pub fn add_address(&self, port: &str, last: u8) -> Result<(), String> {
        let address = format!("{}/24", self.address(last));
        ip(&["-n", &self.namespace(port), "addr", "add", &address, "dev", "eth0"]).map(drop)
    }

    /// Packets of `port` to the network `to` go by the machine whose address ends so.
    ///
    /// # Errors
    /// If it has such a route.
    pub fn route(&self, port: &str, to: &str, last: u8) -> Result<(), String> {
        ip(&["-n", &self.namespace(port), "route", "add", to, "via", &self.address(last)]).map(drop)
    }

    /// The namespace behind `port` is no more: nothing answers there. There may be none.
    pub fn unplug(&self, port: &str) {
        // Both ends of the cable go; a namespace lives for as long as any of its processes.
        let _ = ip(&["-n", &self.namespace(SWITCH), "link", "del", port]);
        let _ = ip(&["netns", "del", &self.namespace(port)]);
    }

    /// The cable of `port` is pulled out of the switch, until it is plugged in again: also while its machine is off.
    pub fn cut(&self, port: &str) {
        self.pulled().insert(port.to_owned());
        // A machine that is off has no card.
        let _ = self.set(port, "down");
    }

    /// It is plugged in again.
    pub fn join(&self, port: &str) {
        self.pulled().remove(port);
        let _ = self.set(port, "up");
    }

    fn set(&self, port: &str, state: &str) -> Result<String, String> {
        ip(&["-n", &self.namespace(SWITCH), "link", "set", port, state])
    }

    fn pulled(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.pulled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connect(&self, port: &str) -> Result<(), String> {
        ip(&["-n", &self.namespace(SWITCH), "link", "set", port, "master", "switch"])?;
        if self.pulled().contains(port) { Ok(()) } else { self.set(port, "up").map(drop) }
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        let own = format!("{}-", self.tag);
        for name in names().into_iter().filter(|name| name.starts_with(&own)) {
            let _ = ip(&["netns", "del", &name]);
        }
        // Its far end may be gone with the switch already.
        let _ = ip(&["link", "del", &self.tag]);
    }
}

/// Why this machine has no such network.
#[must_use]
pub fn unmet() -> Option<String> {
    if !geteuid().is_root() {
        return Some("needs root, for a cluster's network".to_owned());
    }
    // In a namespace of its own: nothing is left of it, however it ends.
    let script = "ip link add switch type bridge && ip link add near type veth peer name far";
    let made = Command::new("unshare").args(["--net", "sh", "-c", script]).output();
    match made {
        Ok(made) if made.status.success() => None,
        Ok(made) => Some(format!("needs network bridges: {}", String::from_utf8_lossy(&made.stderr).trim())),
        Err(error) => Some(format!("needs unshare (Debian's util-linux): {error}")),
    }
}

/// Names that killed processes left: their namespaces went with them.
pub(crate) fn sweep() {
    sweep_names(is_dead);
}

fn sweep_names(is_left: impl Fn(&str) -> bool) {
    for name in names() {
        let owner = name.strip_prefix(MARK).and_then(|rest| rest.split_once('x'));
        if owner.is_some_and(|(pid, _)| is_left(pid)) {
            let _ = fs::remove_file(format!("{NAMES}/{name}"));
        }
    }
}

fn names() -> Vec<String> {
    let entries = fs::read_dir(NAMES).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

fn free_prefix() -> Result<String, String> {
    // An interface that is down has an address and no route.
    let used = [ip(&["-4", "addr"])?, ip(&["-4", "route", "show", "table", "all"])?].join("\n");
    free::prefix(&used).ok_or_else(|| format!("no network is free for a cluster: {used}"))
}

fn lock() -> Result<Flock<File>, String> {
    let failed = |error: io::Error| format!("{LOCK}: {error}");
    let file = File::create(LOCK).map_err(failed)?;
    Flock::lock(file, FlockArg::LockExclusive).map_err(|(_, error)| failed(error.into()))
}

fn ip(args: &[&str]) -> Result<String, String> {
    let output = Command::new("ip").args(args).output().map_err(|error| format!("ip: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!("ip {}: {}", args.join(" "), String::from_utf8_lossy(&output.stderr).trim()))
}
