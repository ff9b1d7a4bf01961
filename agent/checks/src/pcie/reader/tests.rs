use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;

/// A sysfs made from the kernel's ABI documents: devices in their tree, links to them on the bus.
pub(crate) struct Tree(TempDir);

impl Tree {
    pub(crate) fn new() -> Self {
        let tree = Self(TempDir::new().unwrap());
        for folder in ["bus/pci/devices", "bus/pci/slots"] {
            fs::create_dir_all(tree.path(folder)).unwrap();
        }
        tree
    }

    fn path(&self, below: &str) -> PathBuf {
        self.0.path().join(below)
    }

    pub(crate) fn roots(&self) -> Roots {
        Roots { sys: self.0.path().to_owned(), ..Roots::default() }
    }

    /// `place`: `pci0000:00/0000:00:01.0/0000:01:00.0`; each file without a line's end.
    pub(crate) fn device(&self, place: &str, files: &[(&str, &str)]) -> &Self {
        let home = self.path("devices").join(place);
        fs::create_dir_all(&home).unwrap();
        let common = [("vendor", "0x15b3"), ("device", "0x1021"), ("class", "0x020700")];
        for (name, text) in common.iter().chain(files) {
            fs::create_dir_all(home.join(name).parent().unwrap()).unwrap();
            fs::write(home.join(name), format!("{text}\n")).unwrap();
        }
        let _ = symlink(&home, self.path("bus/pci/devices").join(home.file_name().unwrap()));
        self
    }

    pub(crate) fn slot(&self, name: &str, files: &[(&str, &str)]) -> &Self {
        let home = self.path("bus/pci/slots").join(name);
        fs::create_dir_all(&home).unwrap();
        for (name, text) in files {
            fs::write(home.join(name), format!("{text}\n")).unwrap();
        }
        self
    }

    pub(crate) fn remove(&self, place: &str) {
        fs::remove_file(self.path("bus/pci/devices").join(Path::new(place).file_name().unwrap())).unwrap();
        fs::remove_dir_all(self.path("devices").join(place)).unwrap();
    }

    pub(crate) fn reader(&self) -> PcieReader {
        PcieReader::new(self.roots(), &PcieSettings::default())
    }

    fn read(&self, device: &str) -> PcieReading {
        let mut reader = self.reader();
        reader.read(device).unwrap().parse().unwrap()
    }
}

pub(crate) const PORT: &str = "pci0000:00/0000:00:01.0";
pub(crate) const CARD: &str = "pci0000:00/0000:00:01.0/0000:01:00.0";

/// What the kernel shows of a link.
#[derive(Clone, Copy)]
pub(crate) struct LinkText {
    width: &'static str,
    speed: &'static str,
}

const FAST: LinkText = LinkText { width: "16", speed: "32.0 GT/s PCIe" };

/// The four files of a link; `most` is what one end can do.
pub(crate) fn link(now: LinkText, most: LinkText) -> [(&'static str, &'static str); 4] {
    [
        ("current_link_width", now.width),
        ("current_link_speed", now.speed),
        ("max_link_width", most.width),
        ("max_link_speed", most.speed),
    ]
}

pub(crate) fn ordinary() -> Tree {
    let tree = Tree::new();
    let fast = link(FAST, FAST);
    tree.device(PORT, &[&fast[..], &[("class", "0x060400"), ("secondary_bus_number", "1")]].concat());
    tree.device(CARD, &[&fast[..], &[("power/runtime_status", "active"), ("power_state", "D0")]].concat());
    tree
}

#[test]
fn virtual_functions_and_what_has_no_link_are_left_out() {
    let tree = ordinary();
    tree.device("pci0000:00/0000:00:1f.0", &[("class", "0x060100")]);
    tree.device("pci0000:00/0000:00:0c.0", &[("current_link_width", "0")]);
    tree.device(&format!("{PORT}/0000:01:00.1"), &[("current_link_width", "16"), ("physfn", "")]);
    tree.device("pci0000:00/0000:00:0b.0", &[("aer_dev_fatal", "TOTAL_ERR_FATAL 0")]);
    assert_eq!(tree.reader().list().unwrap(), ["0000:00:01.0", "0000:00:0b.0", "0000:01:00.0"]);
}

#[test]
fn without_a_bus_there_is_nothing() {
    let folder = TempDir::new().unwrap();
    let roots = Roots { sys: folder.path().to_owned(), ..Roots::default() };
    let error = PcieReader::new(roots, &PcieSettings::default()).list().unwrap_err();
    assert!(matches!(error, ReadError::Gone { .. }), "{error:?}");
}

#[test]
fn a_device_that_went_between_list_and_read_is_gone() {
    let tree = ordinary();
    let mut reader = tree.reader();
    assert_eq!(reader.list().unwrap().len(), 2);
    tree.remove(CARD);
    assert!(matches!(reader.read("0000:01:00.0"), Err(ReadError::Gone { .. })));
}

#[test]
fn a_card_reports_its_link_and_the_port_above_it_does_not() {
    let tree = ordinary();
    tree.device(
        CARD,
        &link(LinkText { width: "8", speed: "16.0 GT/s PCIe" }, LinkText { width: "16", speed: "64.0 GT/s PCIe" }),
    );
    let reading = tree.read("0000:01:00.0");
    assert_eq!((reading.id.as_str(), reading.class), ("15b3:1021", 0x02_0700));
    assert_eq!(reading.above, ["0000:00:01.0"]);
    let expected = Link {
        now: Lanes { width: 8, speed: 16_000 },
        device: Lanes { width: 16, speed: 64_000 },
        port: Lanes { width: 16, speed: 32_000 },
    };
    assert_eq!(reading.link, Some(expected));
    assert_eq!(tree.read("0000:00:01.0").link, None);
}

#[test]
fn what_is_printed_on_a_device_is_read_where_its_driver_shows_it() {
    let tree = ordinary();
    let model = |files: &[(&str, &str)]| tree.device(CARD, files).read("0000:01:00.0").model;
    assert_eq!(model(&[]), None);
    assert_eq!(model(&[("infiniband/mlx5_0/board_id", "MT_0000000838")]).as_deref(), Some("MT_0000000838"));
    assert_eq!(model(&[("nvme/nvme0/model", ""), ("nvme/nvme0/serial", "")]), None);
    let disk =
        [("nvme/nvme0/model", "SAMSUNG MZQL23T8HCLS-00A07              "), ("nvme/nvme0/serial", "S64HNE0R500012")];
    assert_eq!(model(&disk).as_deref(), Some("SAMSUNG MZQL23T8HCLS-00A07, serial number S64HNE0R500012"));
}

#[test]
fn a_switch_reports_its_upper_link_and_its_lower_ports_do_not() {
    let tree = ordinary();
    let bridge = [
        &link(LinkText { width: "4", speed: "8.0 GT/s PCIe" }, LinkText { width: "4", speed: "8.0 GT/s PCIe" })[..],
        &[("class", "0x060400")],
    ]
    .concat();
    let upper = format!("{PORT}/0000:02:00.0");
    let lower = format!("{upper}/0000:03:00.0");
    let behind = format!("{lower}/0000:04:00.0");
    tree.device(&upper, &bridge).device(&lower, &bridge).device(&behind, &bridge[..4]);
    let has_link = |device: &str| tree.read(device).link.is_some();
    assert!(has_link("0000:02:00.0") && !has_link("0000:03:00.0") && has_link("0000:04:00.0"));
    assert_eq!(tree.read("0000:04:00.0").above, ["0000:03:00.0", "0000:02:00.0", "0000:00:01.0"]);
}

#[test]
fn a_second_function_and_a_part_of_the_chipset_have_no_link_of_their_own() {
    let tree = ordinary();
    let fast = link(FAST, FAST);
    tree.device(&format!("{PORT}/0000:01:00.1"), &fast).device("pci0000:00/0000:00:0b.0", &fast);
    assert_eq!(tree.read("0000:01:00.1").link, None);
    assert_eq!(tree.read("0000:00:0b.0").link, None);
}

#[test]
fn a_device_behind_a_bridge_of_the_volume_manager_ends_at_its_own_domain() {
    let tree = Tree::new();
    tree.device("pci0000:00/0000:00:0e.0/pci10000:e0/10000:e0:06.0/10000:e1:00.0", &[("current_link_width", "4")]);
    assert_eq!(tree.read("10000:e1:00.0").above, ["10000:e0:06.0"]);
}

#[test]
fn a_device_that_sleeps_is_not_asked() {
    for (file, text) in [("power/runtime_status", "suspended"), ("power_state", "D3cold")] {
        let tree = ordinary();
        tree.device(CARD, &[(file, text), ("config", "\u{0}")]);
        let reading = tree.read("0000:01:00.0");
        assert!(reading.asleep && !reading.mute && reading.link.is_none(), "{file}");
    }
}

#[test]
fn all_ones_in_the_vendors_place_is_no_answer() {
    let tree = ordinary();
    let config = tree.path("devices").join(CARD).join("config");
    fs::write(&config, [0xff; 64]).unwrap();
    assert!(tree.read("0000:01:00.0").mute);
    for answer in [&[0xb3, 0x15, 0x21, 0x10, 0xff][..], &[0xff, 0xff], &[]] {
        fs::write(&config, answer).unwrap();
        assert!(!tree.read("0000:01:00.0").mute, "{answer:?}");
    }
}

#[test]
fn counters_of_a_device_and_of_its_root_port_are_read() {
    let tree = ordinary();
    tree.device(CARD, &[("aer_dev_correctable", "RxErr 1\nTOTAL_ERR_COR 1"), ("aer_dev_fatal", "TOTAL_ERR_FATAL 2")]);
    tree.device(PORT, &[("aer_dev_fatal", "garbage"), ("aer_rootport_total_err_fatal", "3")]);
    let aer = tree.read("0000:01:00.0").aer.unwrap();
    assert_eq!((aer.correctable.total, aer.nonfatal.total, aer.fatal.total), (1, 0, 2));
    let port = tree.read("0000:00:01.0");
    assert_eq!((port.aer, port.root_fatal), (None, Some(3)));
}

#[test]
fn slots_are_looked_at_once_something_has_vanished() {
    let tree = ordinary();
    tree.slot("5", &[("address", "0000:01:00"), ("adapter", "0"), ("power", "0")]);
    tree.slot("6", &[("address", "0000:07:00"), ("adapter", "1"), ("power", "1")])
        .slot("7", &[("address", "0000:01:01")]);
    let mut reader = tree.reader();
    let slots = |reader: &mut PcieReader| {
        reader.list().unwrap();
        reader.read("0000:00:01.0").unwrap().parse::<PcieReading>().unwrap().slots
    };
    assert_eq!(slots(&mut reader), []);
    tree.remove(CARD);
    let slot = |occupied| Slot { address: "0000:01:00".to_owned(), occupied };
    assert_eq!(slots(&mut reader), [slot(false)]);
    // A card without power is in its slot.
    tree.slot("5", &[("adapter", "1")]);
    assert_eq!(slots(&mut reader), [slot(true)]);
    fs::remove_file(tree.path("bus/pci/slots/5/adapter")).unwrap();
    assert_eq!(slots(&mut reader), [slot(false)]);
}
