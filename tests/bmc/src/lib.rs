//! Machines under a simulated BMC: OpenIPMI's `ipmi_sim` on loopback implements real IPMI, and its chassis script
//! starts and ends a real process for each machine, so that "off" is true or false of something. [`Bmc::start`] reports
//! why it cannot where the packages `openipmi`, `ipmitool` and `fence-agents` are missing. [`Redfish`] is the same with
//! Redfish over TLS, and a [`Pdu`] has the outlets that feed machines with their BMCs. A [`SystemInterface`] is the BMC that
//! a virtual machine's own kernel talks to.
#![allow(clippy::unwrap_used)]

mod machine;
mod pdu;
mod redfish;
mod simulator;
mod system_interface;
mod wire;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
    thread::sleep,
    time::{Duration, Instant},
};

use machine::Machine;
use nodewell_kit::free_port;
pub use pdu::{COMMUNITY, Pdu, missing as missing_pdu};
pub use redfish::{Behavior, Redfish, missing as missing_redfish};
pub use simulator::Simulator;
pub use system_interface::{Sensor, SystemInterface, missing as missing_system_interface};
pub use wire::{Delivery, Wire};

/// What the BMC's user is called and knows.
pub const USER: &str = "lab";
pub const PASSWORD: &str = "labpass-7f3a";
/// Programs of the packages, each with its package.
const PROGRAMS: [(&str, &str); 3] =
    [("/usr/bin/ipmi_sim", "openipmi"), ("/usr/bin/ipmitool", "ipmitool"), ("/usr/sbin/fence_ipmilan", "fence-agents")];
const START_LIMIT: Duration = Duration::from_secs(10);

/// How a machine takes the BMC's orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    Obeys,
    /// The BMC takes the order and the machine stays as it is.
    Ignores,
}

/// A BMC and its machine; both end with it.
#[derive(Debug)]
pub struct Bmc {
    pub port: u16,
    address: String,
    /// None while the machine has no current: its BMC has none either.
    simulator: Mutex<Option<Child>>,
    machine: Machine,
    folder: tempfile::TempDir,
}

/// The package that is missing, if one is.
#[must_use]
pub fn missing() -> Option<String> {
    PROGRAMS.iter().find_map(|(program, package)| missing_program(program, package))
}

fn missing_program(program: &str, package: &str) -> Option<String> {
    (!Path::new(program).exists()).then(|| format!("{program} is missing: apt-get install {package}"))
}

impl Bmc {
    /// Starts a BMC whose system has this GUID (32 hex digits, in the order they are sent), with its machine on.
    ///
    /// # Errors
    /// What is missing, or why it does not answer.
    pub fn start(guid: &str, manner: Manner) -> Result<Self, String> {
        Self::start_at("127.0.0.1", guid, manner)
    }

    /// The same at an address of this machine's, for clients that cannot reach its loopback.
    ///
    /// # Errors
    /// What is missing, or why it does not answer.
    pub fn start_at(address: &str, guid: &str, manner: Manner) -> Result<Self, String> {
        Self::start_on(address, free_port(), guid, manner)
    }

    /// The same on a port where another one was before.
    ///
    /// # Errors
    /// What is missing, or why it does not answer.
    pub fn start_on(address: &str, port: u16, guid: &str, manner: Manner) -> Result<Self, String> {
        if let Some(missing) = missing() {
            return Err(missing);
        }
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let machine = Machine::new(folder.path());
        Simulator { folder: folder.path(), guid, address, port, manner }.write();
        let simulator = Mutex::new(Some(simulate(folder.path())?));
        let bmc = Self { port, address: address.to_owned(), simulator, machine, folder };
        bmc.order("1");
        bmc.wait()?;
        Ok(bmc)
    }

    /// Whether the machine's process lives.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.machine.is_on()
    }

    /// The boot that runs now, another one each time the machine is started; nothing while it is off.
    #[must_use]
    pub fn boot(&self) -> Option<String> {
        self.machine.boot()
    }

    /// The orders that came, oldest first: `get power`, `set power 0`.
    #[must_use]
    pub fn orders(&self) -> Vec<String> {
        self.timed_orders().into_iter().map(|(_, order)| order).collect()
    }

    /// The same with when each came, in seconds since 1970.
    #[must_use]
    pub fn timed_orders(&self) -> Vec<(f64, String)> {
        let log = fs::read_to_string(self.path("log")).unwrap_or_default();
        let timed = log.lines().filter_map(|line| line.split_once(' '));
        timed.filter_map(|(at, order)| Some((at.parse().ok()?, order.to_owned()))).collect()
    }

    /// Options of `fence_ipmilan` for it, without the password.
    #[must_use]
    pub fn options(&self) -> String {
        format!(
            "ip={}\nipport={}\nusername={USER}\nlanplus=1\ncipher=3\npower-wait=0\npower-timeout=20\n",
            self.address, self.port
        )
    }

    /// Turns the machine on (`1`) or off (`0`) as a person at its switch would: the BMC is not asked.
    pub fn order(&self, power: &str) {
        self.machine.order(power);
    }

    /// The machine and its BMC lose their current, or have it again: the BMC is there then as soon as it has started, and the
    /// machine starts by itself, as firmware is set up that turns it on after a loss of power.
    ///
    /// # Panics
    /// If the simulator cannot be started again.
    pub fn supply(&self, has_current: bool) {
        let mut simulator = self.simulator();
        if !has_current {
            simulator.take().into_iter().for_each(end);
            self.order("0");
        } else if simulator.is_none() {
            *simulator = Some(simulate(self.folder.path()).unwrap());
            self.order("1");
        }
    }

    fn simulator(&self) -> MutexGuard<'_, Option<Child>> {
        self.simulator.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self) -> Result<(), String> {
        let give_up = Instant::now() + START_LIMIT;
        while Instant::now() < give_up {
            if answers(&self.address, self.port) {
                return Ok(());
            }
            sleep(Duration::from_millis(50));
        }
        Err(format!("ipmi_sim does not answer: {}", fs::read_to_string(self.path("out")).unwrap_or_default()))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

impl Drop for Bmc {
    fn drop(&mut self) {
        self.simulator().take().into_iter().for_each(end);
    }
}

/// Whether a BMC is at that address.
#[must_use]
pub fn answers(address: &str, port: u16) -> bool {
    let port = port.to_string();
    let arguments = ["-I", "lanplus", "-C", "3", "-N", "1", "-R", "1", "-H", address, "-p", &port, "-U", USER];
    let mut command = Command::new("ipmitool");
    command.args(arguments).args(["-E", "power", "status"]).env("IPMI_PASSWORD", PASSWORD).stdin(Stdio::null());
    command.output().is_ok_and(|asked| asked.status.success())
}

/// In a folder that has its files.
fn simulate(folder: &Path) -> Result<Child, String> {
    let argv = Simulator::argv(folder);
    Command::new(&argv[0])
        .args(&argv[1..])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(fs::File::create(folder.join("out")).unwrap())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("ipmi_sim: {error}"))
}

fn end(mut simulator: Child) {
    let _ = simulator.kill();
    let _ = simulator.wait();
}
