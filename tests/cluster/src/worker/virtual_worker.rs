//! A worker that is a virtual machine: a kernel, a kernel log, boots and cgroups of its own, and nothing of version 1.
//! Its BMC cuts the power of its whole hardware.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use nodewell_tests::{cli::Outcome, leftovers, machine::Package, wait::until_within};
use nodewell_vm::guest::{Guest, Plan};
use serde_json::json;
use tempfile::TempDir;

use super::{
    Common, Number, Order,
    bmc::Bmc,
    image::Image,
    power::{Body, Power},
};
use crate::network::{self, Network};

/// A kubelet reports memory pressure below 100 MiB.
const MEMORY_MIB: u32 = 2048;
const PROCESSORS: u8 = 2;
/// What it sees of [`VirtualWorker::outside`].
const OUTSIDE: &str = "outside";
/// Without udev nothing loads it. What is mounted later the kernel asks for itself, and the disk has all modules.
const MODULES: [&str; 1] = ["virtio_net"];
/// Boots and installs: each instruction is emulated.
const EMULATED: Duration = Duration::from_mins(15);

/// A worker and its BMC; both end when dropped.
#[derive(Debug)]
pub struct VirtualWorker {
    name: String,
    /// Dropped in this order: what turns it on, then the machine, then its files.
    bmc: Bmc,
    power: Power<Emulated>,
    folder: TempDir,
}

impl VirtualWorker {
    /// One that is off, with its kubelet's credentials on its disk; its BMC answers.
    pub(crate) fn prepare(common: &Common<'_>, number: Number) -> Self {
        let folder = leftovers::folder("worker");
        let image = Image::make(common, number, folder.path());
        fs::create_dir(outside(folder.path())).unwrap();
        let mac = format!("02:00:00:00:00:{:02x}", number.last());
        let plan = Plan::default()
            .within(common.network.enter(network::SWITCH))
            .processors(PROCESSORS)
            .memory_mib(MEMORY_MIB)
            .reboots()
            // Its card is called eth0, there is no hierarchy of version 1, and no login at its console.
            .kernel("net.ifnames=0 systemd.unified_cgroup_hierarchy=1 cgroup_no_v1=all systemd.getty_auto=no")
            .modules(&MODULES)
            .system(&image)
            .system_uuid(&number.system_uuid())
            .error_record_store(&folder.path().join("erst"))
            .folder(OUTSIDE, &outside(folder.path()))
            .tap(&number.name(), &mac);
        let bmc_folder = folder.path().join("bmc");
        let emulated = Emulated { plan, network: Arc::clone(common.network), name: number.name() };
        let power = Power::start(emulated, &bmc_folder);
        let bmc = Bmc::start(common.network, number, &bmc_folder);
        Self { name: number.name(), bmc, power, folder }
    }

    /// Its Node's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// As by its power button; it is on already, or begins to boot.
    ///
    /// # Errors
    /// Why it does not; it is off then.
    pub fn on(&self) -> Result<(), String> {
        self.power.on()
    }

    /// None of its processors does anything any more, and it has power.
    ///
    /// # Panics
    /// If it is off.
    pub fn hang(&self) {
        self.guest().qmp("stop", &json!({}));
    }

    /// Waits until one more boot is so far that it takes scripts: each boot is to be waited for once.
    ///
    /// # Panics
    /// If it does not come so far.
    #[track_caller]
    pub fn wait_boot(&self) {
        let guest = until_within(EMULATED, &format!("{} is on", self.name), || {
            self.power.of_machine(|powered| Arc::clone(&powered.0))
        });
        guest.wait_reboot();
    }

    /// Runs a shell script in it to its end, as root.
    ///
    /// # Panics
    /// If it does not end, or the machine does.
    #[track_caller]
    #[must_use]
    pub fn run(&self, script: &str) -> Outcome {
        self.guest().run(script)
    }

    /// Runs a shell script in it that must succeed; gives what it wrote.
    ///
    /// # Panics
    /// If it fails.
    #[track_caller]
    pub fn sh(&self, script: &str) -> String {
        self.guest().sh(script)
    }

    /// Installs `package` as its administrator would.
    ///
    /// # Panics
    /// If apt refuses.
    #[track_caller]
    pub fn install(&self, package: Package) {
        fs::copy(package.path(), outside(self.folder.path()).join("package.deb")).unwrap();
        // Before 5.18 the kernel loads no transport by itself.
        let script = format!(
            "modprobe 9pnet_virtio; mkdir -p /run/{OUTSIDE} && mount -t 9p -o trans=virtio,ro {OUTSIDE} /run/{OUTSIDE} && \
             cp /run/{OUTSIDE}/package.deb /root/ && umount /run/{OUTSIDE} && \
             DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet /root/package.deb 2>&1"
        );
        let installed = self.guest().run_within(EMULATED, &script);
        assert_eq!(installed.code, 0, "{}: {}{}", self.name, installed.stdout, installed.stderr);
    }

    /// What its BMC was ordered, oldest first.
    #[must_use]
    pub fn orders(&self) -> Vec<Order> {
        self.bmc.orders()
    }

    /// The ConfigMap and the Secret by which the controller fences it.
    #[must_use]
    pub fn fencing(&self) -> [serde_json::Value; 2] {
        self.bmc.fencing()
    }

    /// Its own, so that its BMC does not wait for what is done in the machine.
    #[track_caller]
    fn guest(&self) -> Arc<Guest> {
        self.power.of_machine(|powered| Arc::clone(&powered.0)).unwrap_or_else(|| panic!("{} is off", self.name))
    }
}

fn outside(folder: &Path) -> PathBuf {
    folder.join(OUTSIDE)
}

/// What is booted.
#[derive(Debug)]
struct Emulated {
    plan: Plan,
    network: Arc<Network>,
    name: String,
}

/// Without power when dropped, although a case may have the guest still.
#[derive(Debug)]
struct Powered(Arc<Guest>);

impl Drop for Powered {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Body for Emulated {
    type Machine = Powered;

    fn name(&self) -> &str {
        &self.name
    }

    fn turn_on(&self) -> Result<Powered, String> {
        self.network.plug_in_tap(&self.name)?;
        self.plan.turn_on().map(|guest| Powered(Arc::new(guest)))
    }

    fn unplug(&self) {
        self.network.unplug(&self.name);
    }

    fn process(machine: &Powered) -> u32 {
        machine.0.qemu_pid()
    }

    fn has_ended(machine: &mut Powered) -> bool {
        machine.0.has_ended()
    }
}
