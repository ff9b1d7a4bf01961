//! Which devices are taken from a tree of files, and what is read of them.

use std::{fs, os::unix::fs::symlink};

use tempfile::TempDir;

use super::*;
use crate::{
    probe::{ReadError, Reader, Roots},
    slow_disks::SlowDisksReader,
};

/// A `/proc` and a `/sys`, block devices being links into the devices.
struct Tree {
    root: TempDir,
    lines: Vec<String>,
}

/// Reads, writes, what is under way, busy, weighted, discards, flushes; as Linux 5.5 has them.
const COUNTERS: &str = "100 3 800 1000 200 5 3200 4000 2 900 5000 11 0 88 7 13 60";

impl Tree {
    fn new() -> Self {
        Self { root: tempfile::tempdir().unwrap(), lines: Vec::new() }
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn line(&mut self, name: &str) {
        self.lines.push(format!("   8       0 {name} {COUNTERS}"));
        self.write("proc/diskstats", &self.lines.join("\n"));
    }

    fn link(&self, to: &str, from: &str) {
        let from = self.root.path().join(from);
        fs::create_dir_all(from.parent().unwrap()).unwrap();
        symlink(self.root.path().join(to), from).unwrap();
    }

    /// The files that each block device has.
    fn block(&mut self, name: &str, folder: &str) {
        self.write(&format!("{folder}/size"), "7814037168\n");
        self.write(&format!("{folder}/queue/rotational"), "1\n");
        self.write(&format!("{folder}/queue/scheduler"), "none [mq-deadline] bfq\n");
        self.write(&format!("{folder}/queue/write_cache"), "write back\n");
        self.write(&format!("{folder}/diskseq"), "12\n");
        self.link(folder, &format!("sys/block/{name}"));
        self.line(name);
    }

    fn scsi(&mut self, name: &str, bus: &str, vendor: &str, model: &str) {
        let folder = format!("sys/devices/{bus}/block/{name}");
        self.write(&format!("{folder}/device/vendor"), vendor);
        self.write(&format!("{folder}/device/model"), model);
        self.write(&format!("{folder}/device/vpd_pg80"), &format!("\0\u{40}\0\u{8}  S-{name} "));
        self.block(name, &folder);
    }

    fn controller(&self, name: &str, model: &str, transport: &str) {
        let folder = format!("sys/class/nvme/{name}");
        self.write(&format!("{folder}/model"), model);
        self.write(&format!("{folder}/serial"), &format!("S-{name}\n"));
        self.write(&format!("{folder}/transport"), transport);
    }

    fn namespace(&mut self, name: &str, below: &str) {
        let folder = format!("sys/devices/nvme/{name}");
        self.link(below, &format!("{folder}/device"));
        self.block(name, &folder);
    }

    fn reader(&self, ignore: &[&str]) -> SlowDisksReader {
        let (proc, sys) = (self.root.path().join("proc"), self.root.path().join("sys"));
        let ignore = ignore.iter().map(|one| (*one).to_owned()).collect();
        let settings = SlowDisksSettings { ignore, ..SlowDisksSettings::default() };
        SlowDisksReader::new(Roots { proc, sys, ..Roots::default() }, &settings)
    }

    fn devices(&self, ignore: &[&str]) -> Vec<Device> {
        let reading = self.reader(ignore).read(ALL).unwrap();
        reading.parse::<SlowDisksReading>().unwrap().devices
    }

    /// Their names, each with its disk's.
    fn names(&self, ignore: &[&str]) -> Vec<String> {
        self.devices(ignore).iter().map(|device| format!("{} of {}", device.name, device.subject)).collect()
    }
}

#[test]
fn a_disk_is_read_with_its_kind_and_counters() {
    let mut tree = Tree::new();
    tree.scsi("sda", "pci/host2", "SEAGATE \n", "ST4000NM0025    \n");
    let expected = Device {
        name: "sda".to_owned(),
        sequence: Some(12),
        subject: "sda".to_owned(),
        serial: "S-sda".to_owned(),
        model: Model { name: "SEAGATE ST4000NM0025".to_owned(), ..device(0).model },
        counters: Counters {
            reads: Transfers { operations: 100, sectors: 800, millis: 1000 },
            writes: Transfers { operations: 200, sectors: 3200, millis: 4000 },
            discards: 11,
            flushes: 13,
            busy_millis: 900,
        },
    };
    assert_eq!(tree.devices(&[]), [expected]);
    let mut reader = tree.reader(&[]);
    assert_eq!(reader.list(), Ok(vec![ALL.to_owned()]));
    let before = reader.read(ALL).unwrap().parse::<SlowDisksReading>().unwrap();
    let after = reader.read(ALL).unwrap().parse::<SlowDisksReading>().unwrap();
    assert!(before.at < after.at, "the clock is read with the counters");
    assert_eq!(before.devices, after.devices);
}

#[test]
fn only_local_disks_of_known_makers_are_compared() {
    let mut tree = Tree::new();
    for (name, bus, vendor, model) in [
        ("sda", "pci/ata1", "ATA     \n", "ST8000NM0055-1RM\n"),
        ("sdb", "pci/host2", "WDC     \n", "WUH721816AL5204\n"),
        ("sdc", "pci/usb1/1-1", "ATA\n", "ST8000NM0055-1RM\n"),
        ("sdd", "pci/host3/session1", "SEAGATE\n", "ST4000NM0025\n"),
        ("sde", "pci/host4/rport-4:0-1", "SEAGATE\n", "ST4000NM0025\n"),
        ("sdf", "pci/host5", "DELL\n", "PERC H740P Adp\n"),
        ("sdg", "pci/host5", "HPE\n", "LOGICAL VOLUME\n"),
        ("sdh", "pci/ata2", "ATA\n", "QEMU HARDDISK\n"),
        ("sdi", "pci/host6", "VMware\n", "Virtual disk\n"),
    ] {
        tree.scsi(name, bus, vendor, model);
    }
    for name in ["sda1", "dm-0", "md0", "loop0", "ram0", "zram0", "nbd0", "vda", "mmcblk0", "sr0", "nvme0n1p1"] {
        tree.line(name);
    }
    assert_eq!(tree.names(&[]), ["sda of sda", "sdb of sdb"]);
    for (pattern, expected) in [("sdb", 1), ("S-sdb", 1), ("* WUH*", 1), ("WDC WUH*", 1), ("ATA*", 1), ("x", 2)] {
        assert_eq!(tree.names(&[pattern]).len(), expected, "{pattern}");
    }
}

/// With the kernel's multipath the head lies below the subsystem, and its paths below their controllers.
#[test]
fn namespaces_and_paths_are_their_controllers() {
    let mut tree = Tree::new();
    tree.controller("nvme0", "SAMSUNG MZQL23T8HCLS-00A07\n", "pcie\n");
    tree.namespace("nvme0n1", "sys/class/nvme/nvme0");
    tree.namespace("nvme0n2", "sys/class/nvme/nvme0");
    tree.controller("nvme1", "SAMSUNG MZQL23T8HCLS-00A07\n", "pcie\n");
    tree.write("sys/devices/virtual/nvme-subsystem/nvme-subsys1/model", "SAMSUNG MZQL23T8HCLS-00A07\n");
    tree.namespace("nvme1n1", "sys/devices/virtual/nvme-subsystem/nvme-subsys1");
    tree.namespace("nvme1c1n1", "sys/class/nvme/nvme1");
    tree.controller("nvme2", "Linux\n", "tcp\n");
    tree.namespace("nvme2n1", "sys/class/nvme/nvme2");
    tree.controller("nvme3", "Amazon Elastic Block Store\n", "pcie\n");
    tree.namespace("nvme3n1", "sys/class/nvme/nvme3");
    assert_eq!(tree.names(&[]), ["nvme0n1 of nvme0", "nvme0n2 of nvme0", "nvme1c1n1 of nvme1"]);
    let devices = tree.devices(&[]);
    assert_eq!(devices[0].disk(), devices[1].disk());
    assert_eq!(devices[2].disk(), "SAMSUNG MZQL23T8HCLS-00A07, serial number S-nvme1");
}

#[test]
fn what_is_not_known_in_full_is_not_compared() {
    for (path, text) in [
        ("queue/rotational", "7"),
        ("queue/rotational", "\0"),
        ("size", "0"),
        ("size", "many"),
        ("device/vpd_pg80", "\0\u{40}\0\0"),
    ] {
        let mut tree = Tree::new();
        tree.scsi("sda", "pci/ata1", "ATA\n", "ST8000NM0055-1RM\n");
        assert_eq!(tree.names(&[]).len(), 1);
        tree.write(&format!("sys/devices/pci/ata1/block/sda/{path}"), text);
        assert_eq!(tree.names(&[]).len(), 0, "{path}");
        assert!(matches!(tree.reader(&[]).list(), Err(ReadError::Gone { .. })));
    }
    // Linux 4.18 counts discards and no flushes, and 4.4 neither.
    let mut tree = Tree::new();
    tree.scsi("sda", "pci/ata1", "ATA\n", "ST8000NM0055-1RM\n");
    for text in [
        "8 0 sda 100 3 800 1000 200 5 3200 4000 2 900 5000 11 0 88 7\n",
        "8 0 sda 100 3 800 1000 200 5 3200 4000 2 900 5000\n",
        "8 0 sda -1 3 800 1000 200 5 3200 4000 2 900 5000 11 0 88 7 13 60\n",
        "8 0 sda 100 3 800 1000 99999999999999999999 5 3200 4000 2 900 5000 11 0 88 7 13 60\n",
        "\u{0}\u{fffd}\n8 0\n\n",
        "",
    ] {
        tree.write("proc/diskstats", text);
        assert_eq!(tree.names(&[]).len(), 0, "{text}");
    }
    fs::remove_file(tree.root.path().join("proc/diskstats")).unwrap();
    assert!(matches!(tree.reader(&[]).read(ALL), Err(ReadError::Gone { .. })));
    assert!(matches!(tree.reader(&[]).read("sda"), Err(ReadError::Gone { .. })));
}
