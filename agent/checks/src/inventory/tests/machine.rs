//! A machine of files, which is looked at, changed and started again.

use std::{fs, os::unix::fs::symlink, path::PathBuf, time::Duration};

use jiff::Timestamp;
use nodewell_model::inventory::InventoryView;
use serde_json::Value;
use tempfile::TempDir;

use crate::{
    inventory::{
        InventoryJudge, InventoryReader, InventorySettings,
        dmi::tests::{module, table},
    },
    probe::{Findings, Judge, Now, PollError, Reader, Roots, Round},
};

pub(super) const GIB: u64 = 1 << 20;
pub(super) const DISKS: [&str; 2] = ["0000:01:00.0", "0000:02:00.0"];

/// A machine with two modules, eight CPUs, two disks, a card and two accelerators; five minutes between two looks.
pub(super) struct Machine {
    root: TempDir,
    pub(super) judge: InventoryJudge,
    pub(super) settings: InventorySettings,
    pub(super) now: Now,
    /// As the last process left it.
    saved: Value,
}

impl Machine {
    pub(super) fn new() -> Self {
        let settings = InventorySettings::default();
        let now = Now { wall: Timestamp::UNIX_EPOCH, boottime: Duration::ZERO, boot_id: "one".to_owned() };
        let (root, judge) = (tempfile::tempdir().unwrap(), InventoryJudge::new(&settings));
        let machine = Self { root, judge, settings, now, saved: Value::Null };
        fs::create_dir_all(machine.path("sys/block")).unwrap();
        machine.set("proc/meminfo", &format!("MemTotal:       {} kB\nMemFree: 1 kB\n", 31 * GIB));
        machine.set("proc/sys/kernel/osrelease", "6.12.9");
        machine.set("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu vme");
        machine.set("sys/devices/system/cpu/present", "0-7");
        machine.set("sys/class/dmi/id/bios_version", "2.7.3\u{1b}[31m");
        machine.modules(&[module("A1", 16384, "77AB"), module("B1", 16384, "77AC")]);
        machine.nvme(DISKS[0], "nvme0", "S1");
        machine.nvme(DISKS[1], "nvme1", "S2");
        machine.function("0000:3b:00.0", "0x020000", "0x15b3");
        machine.interface("0000:3b:00.0", "eth0", "02:00:00:00:00:01");
        machine.function("0000:41:00.0", "0x030200", "0x10de");
        machine.function("0000:42:00.0", "0x030200", "0x10de");
        machine
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    pub(super) fn set(&self, path: &str, text: &str) {
        fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
        fs::write(self.path(path), format!("{text}\n")).unwrap();
    }

    pub(super) fn modules(&self, modules: &[Vec<u8>]) {
        self.set("sys/firmware/dmi/tables/DMI", "");
        fs::write(self.path("sys/firmware/dmi/tables/DMI"), table(modules)).unwrap();
    }

    /// A function behind a port of its own.
    pub(super) fn function(&self, address: &str, class: &str, vendor: &str) -> String {
        let home = format!("sys/devices/pci0000:00/0000:00:01.0/{address}");
        self.set(&format!("{home}/class"), class);
        self.set(&format!("{home}/vendor"), vendor);
        self.set(&format!("{home}/device"), "0x1021");
        self.link("sys/bus/pci/devices", address, &home);
        home
    }

    pub(super) fn link(&self, folder: &str, name: &str, to: &str) {
        fs::create_dir_all(self.path(folder)).unwrap();
        symlink(self.path(to), self.path(folder).join(name)).unwrap();
    }

    pub(super) fn nvme(&self, address: &str, name: &str, serial: &str) {
        let home = self.function(address, "0x010802", "0x144d");
        self.set(&format!("{home}/nvme/{name}/serial"), &format!("{serial}NX0K71"));
        self.set(&format!("{home}/nvme/{name}/model"), "SSD 980");
        self.set(&format!("{home}/nvme/{name}/transport"), "pcie");
    }

    /// A SCSI disk at `device`, which is below a function.
    pub(super) fn scsi(&self, device: &str, name: &str) {
        self.set(&format!("{device}/model"), "WDC WD40EFRX");
        self.set(&format!("{device}/block/{name}/removable"), "0");
        symlink("../..", self.path(&format!("{device}/block/{name}/device"))).unwrap();
        fs::write(self.path(&format!("{device}/vpd_pg80")), b"\0\x80\0\x08 WD-WX11").unwrap();
        self.link("sys/block", name, &format!("{device}/block/{name}"));
    }

    pub(super) fn interface(&self, address: &str, name: &str, mac: &str) {
        self.set(&format!("sys/devices/net/{name}/address"), mac);
        self.set(&format!("sys/devices/net/{name}/addr_assign_type"), "0");
        let home = format!("sys/devices/pci0000:00/0000:00:01.0/{address}");
        symlink(self.path(&home), self.path(&format!("sys/devices/net/{name}/device"))).unwrap();
        self.link("sys/class/net", name, &format!("sys/devices/net/{name}"));
    }

    pub(super) fn remove(&self, address: &str) {
        let home = fs::canonicalize(self.path("sys/bus/pci/devices").join(address)).unwrap();
        for entry in self.path("sys/class/net").read_dir().unwrap().flatten() {
            if fs::canonicalize(entry.path().join("device")).unwrap() == home {
                fs::remove_file(entry.path()).unwrap();
            }
        }
        fs::remove_file(self.path("sys/bus/pci/devices").join(address)).unwrap();
        fs::remove_dir_all(home).unwrap();
    }

    pub(super) fn round(&mut self) -> Round {
        let passed = Duration::from_secs(300);
        (self.now.wall, self.now.boottime) = (self.now.wall + passed, self.now.boottime + passed);
        let path = |name| self.path(name);
        let roots = Roots { sys: path("sys"), proc: path("proc"), run: path("run"), ..Roots::default() };
        let firmware = |interface: &str| (interface == "eth1").then(|| "214.4.9.6/pkg 21".to_owned());
        let mut reader = InventoryReader::with_firmware(roots, firmware);
        let listed = reader.list().map_err(PollError::Read);
        let answers =
            listed.iter().flatten().map(|device| (device.clone(), reader.read(device).map_err(PollError::Read)));
        Round { now: self.now.clone(), answers: answers.collect(), listed }
    }

    /// The last findings, with the Events of all of them.
    pub(super) fn looks(&mut self, rounds: usize) -> Findings {
        let (mut findings, mut events) = (Findings::default(), Vec::new());
        for _ in 0..rounds {
            let round = self.round();
            findings = self.judge.judge(round);
            events.append(&mut findings.events);
        }
        Findings { events, ..findings }
    }

    /// Another boot, and another process that has what was saved.
    pub(super) fn reboot(&mut self, boot_id: &str) {
        (self.now.boottime, self.now.boot_id) = (Duration::ZERO, boot_id.to_owned());
        self.restart();
    }

    pub(super) fn restart(&mut self) {
        self.saved = self.judge.save().unwrap_or_else(|| self.saved.take());
        self.judge = InventoryJudge::new(&self.settings);
        self.judge.load(self.saved.clone());
    }

    pub(super) fn saved(&self) -> Value {
        self.saved.clone()
    }

    pub(super) fn view(&self) -> InventoryView {
        self.judge.inventory_view().unwrap()
    }
}
