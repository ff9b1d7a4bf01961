use std::os::unix::fs::symlink;

use super::*;

/// A tree as sysfs has it: block devices are links into the devices.
struct Tree {
    root: tempfile::TempDir,
}

impl Tree {
    fn new() -> Self {
        Self { root: tempfile::tempdir().unwrap() }
    }

    fn roots(&self) -> Roots {
        let root = self.root.path();
        Roots { sys: root.to_owned(), proc: root.join("proc"), dev: root.join("dev"), ..Roots::default() }
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn scsi(&self, name: &str, bus: &str, vendor: &str) {
        let folder = format!("devices/{bus}/block/{name}");
        self.write(&format!("{folder}/device/vendor"), vendor);
        self.write(&format!("{folder}/device/model"), "ST8000NM0055-1RM");
        self.write(&format!("{folder}/device/state"), "running\n");
        self.write(&format!("{folder}/device/vpd_pg80"), "\0\u{40}\0\u{8}  ZA1AB \0");
        fs::create_dir_all(self.root.path().join("block")).unwrap();
        symlink(self.root.path().join(folder), self.root.path().join("block").join(name)).unwrap();
    }

    fn kinds(&self, ignored: &[&str]) -> Vec<(String, DiskKind)> {
        let ignored: Vec<_> = ignored.iter().map(|glob| (*glob).to_owned()).collect();
        let disks = disks(&self.roots(), &Ignored::new(&ignored));
        disks.into_iter().map(|disk| (disk.name, disk.kind)).collect()
    }
}

fn full() -> Tree {
    let tree = Tree::new();
    for (name, kind) in [("nvme10", "io"), ("nvme2", "io"), ("nvme3", "discovery")] {
        tree.write(&format!("class/nvme/{name}/cntrltype"), kind);
        tree.write(&format!("class/nvme/{name}/serial"), &format!("SN-{name}\n"));
    }
    tree.scsi("sda", "pci/ata1", "ATA     \n");
    tree.scsi("sdb", "pci/host2", "SEAGATE \n");
    tree.scsi("sdc", "pci/usb1/1-1", "ATA     \n");
    tree.scsi("sdaa", "pci/ata9", "ATA\n");
    tree.scsi("sdd", "pci/host2", "DELL\n");
    tree.write("devices/pci/host2/block/sdd/device/type", "13\n");
    for name in ["vda", "loop0", "sr0", "zram0", "dm-1", "nvme0n1"] {
        tree.write(&format!("block/{name}/size"), "1");
    }
    tree.write("block/md127/md/array_state", "clean");
    tree.write("block/dm-0/dm/uuid", "mpath-3600a098000\n");
    tree.write("block/dm-2/dm/uuid", "LVM-abc\n");
    tree
}

#[test]
fn disks_are_distinguished_from_what_only_looks_like_one() {
    let expected = [
        ("dm-0", DiskKind::Map),
        ("md127", DiskKind::Array),
        ("nvme2", DiskKind::Nvme),
        ("nvme10", DiskKind::Nvme),
        ("sda", DiskKind::Ata),
        ("sdb", DiskKind::Scsi),
        ("sdc", DiskKind::Usb),
        ("sdaa", DiskKind::Ata),
        ("vda", DiskKind::Plain),
    ];
    assert_eq!(full().kinds(&[]), expected.map(|(name, kind)| (name.to_owned(), kind)));
}

#[test]
fn pools_volumes_and_links_are_found_by_what_made_them() {
    let tree = Tree::new();
    for (name, uuid) in [
        ("dm-3", "LVM-x7Zq9pool-tpool"),
        ("dm-4", "LVM-x7Zq9pool"),
        ("dm-5", "stratis-1-5f2c-thinpool-pool"),
        ("dm-6", "stratis-1-5f2c-thinpool-mdv"),
    ] {
        tree.write(&format!("block/{name}/dm/uuid"), &format!("{uuid}\n"));
        tree.write(&format!("block/{name}/dm/name"), &format!("name-of-{name}\n"));
        tree.write(&format!("block/{name}/dev"), &format!("{}\n", name.replace("dm-", "253:")));
    }
    // One that has no such name and no device mapper to ask.
    tree.write("block/dm-7/dm/name", "devpool\n");
    tree.write("block/dm-7/dev", "253:7\n");
    tree.scsi("sda", "pci/host0", "LSI\n");
    tree.write("devices/pci/host0/block/sda/device/raid_devices/0:1:0:0/state", "active\n");
    tree.write("class/sas_phy/phy-0:3/negotiated_linkrate", "Unknown\n");
    tree.write("proc/spl/kstat/zfs/tank/state", "ONLINE\n");
    let expected = [
        ("253:3", DiskKind::ThinPool),
        ("253:5", DiskKind::ThinPool),
        ("phy-0:3", DiskKind::Phy),
        ("sda", DiskKind::RaidVolume),
        ("zpool tank", DiskKind::Zpool),
    ];
    assert_eq!(tree.kinds(&[]), expected.map(|(name, kind)| (name.to_owned(), kind)));
    assert_eq!(tree.kinds(&["name-of-dm-3", "tank", "phy-*", "LSI*"]), [("253:5".to_owned(), DiskKind::ThinPool)]);
    for name in ["zpool ../tank", "zpool gone", "phy-0:4", "phy-../x", "253:4", "253:3/../5", "dm-3"] {
        assert_eq!(Listed::named(&tree.roots(), name), None, "{name}");
    }
}

#[test]
fn a_raid_card_is_one_by_its_address_while_its_driver_has_it() {
    let tree = Tree::new();
    let host = "devices/pci0000:00/0000:03:00.0/host2/scsi_host/host2";
    tree.write(&format!("{host}/proc_name"), "megaraid_sas\n");
    fs::create_dir_all(tree.root.path().join("class/scsi_host")).unwrap();
    symlink(tree.root.path().join(host), tree.root.path().join("class/scsi_host/host2")).unwrap();
    assert_eq!(tree.kinds(&[]), [("0000:03:00.0".to_owned(), DiskKind::Card)]);
    assert_eq!(tree.kinds(&["0000:03:*"]), []);
    for name in ["0000:04:00.0", "../0000:03:00.0", ":"] {
        assert_eq!(Listed::named(&tree.roots(), name), None, "{name}");
    }
}

#[test]
fn a_volume_across_a_network_is_not_asked() {
    let tree = Tree::new();
    for (name, transport) in [("nvme0", "pcie"), ("nvme1", "tcp"), ("nvme2", "rdma")] {
        tree.write(&format!("class/nvme/{name}/transport"), &format!("{transport}\n"));
    }
    tree.scsi("sda", "platform/host3/session1/target3:0:0", "LIO-ORG\n");
    tree.scsi("sdb", "pci0000:00/0000:05:00.0/host1/rport-1:0-0/target1:0:0", "ATA\n");
    let expected = [
        ("nvme0", DiskKind::Nvme),
        ("nvme1", DiskKind::Plain),
        ("nvme2", DiskKind::Plain),
        ("sda", DiskKind::Plain),
        ("sdb", DiskKind::Plain),
    ];
    assert_eq!(tree.kinds(&[]), expected.map(|(name, kind)| (name.to_owned(), kind)));
}

#[test]
fn the_ignored_are_left_out_by_name_model_or_serial_number() {
    let names = |globs: &[&str]| full().kinds(globs).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    assert_eq!(names(&["vd*", "SN-nvme10", "*ST8000NM*", "[", "md*"]), ["dm-0", "nvme2"]);
    assert_eq!(names(&["vd*", "nvme2n*", "sd?", "sdaa", "dm-*"]), ["md127", "nvme10"]);
}

#[test]
fn a_name_that_is_a_path_is_no_disk() {
    let tree = full();
    for name in ["../../etc", "sda/../sdb", "", "nvme", "nvme2x", "sd", "sda1"] {
        assert_eq!(Listed::named(&tree.roots(), name), None, "{name}");
    }
}

#[test]
fn a_machine_without_sysfs_has_no_disks() {
    assert_eq!(Tree::new().kinds(&[]), []);
}

#[test]
fn the_serial_number_comes_from_the_page_that_the_kernel_keeps() {
    let tree = full();
    let disk = Listed::named(&tree.roots(), "sda").unwrap();
    let known = identity(&tree.roots(), &disk);
    assert_eq!((known.model.as_str(), known.serial.as_str()), ("ATA ST8000NM0055-1RM", "ZA1AB"));
}

#[test]
fn disks_that_sleep_or_are_out_of_service_are_not_opened() {
    let tree = full();
    let known = |name| without_asking(&tree.roots(), &Listed::named(&tree.roots(), name).unwrap());
    assert_eq!(known("sda"), None);
    tree.write("block/sda/device/power/runtime_status", "suspended\n");
    assert_eq!(known("sda"), Some(Health::Asleep));
    tree.write("block/sdb/device/state", "offline\n");
    assert_eq!(known("sdb"), Some(Health::Stopped { state: "offline".to_owned() }));
    assert!(matches!(known("vda"), Some(Health::Plain { .. })));
    assert!(matches!(known("sdc"), Some(Health::Plain { .. })));
}
