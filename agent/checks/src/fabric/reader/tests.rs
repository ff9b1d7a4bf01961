use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;
use crate::probe::device_file::tests::{add, mount_dev};

/// A sysfs made from the kernel's ABI documents.
pub(crate) struct Tree(TempDir);

impl Tree {
    pub(crate) fn new() -> Self {
        let tree = Self(TempDir::new().unwrap());
        fs::create_dir_all(tree.0.path().join("class/infiniband")).unwrap();
        tree
    }

    /// A card with its PCI device.
    pub(crate) fn card(&self, name: &str, address: &str) -> &Self {
        let device = self.0.path().join("devices").join(address);
        fs::create_dir_all(&device).unwrap();
        self.write(&format!("class/infiniband/{name}/node_guid"), "b859:9f03:00fa:0001");
        symlink(device, self.0.path().join("class/infiniband").join(name).join("device")).unwrap();
        self
    }

    pub(crate) fn port(&self, port: &str, files: &[(&str, &str)]) -> &Self {
        let (card, number) = port.split_once('/').unwrap();
        for (name, text) in files {
            self.write(&format!("class/infiniband/{card}/ports/{number}/{name}"), text);
        }
        self
    }

    pub(crate) fn write(&self, file: &str, text: &str) {
        let path = self.0.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
    }

    pub(crate) fn remove(&self, card: &str) {
        fs::remove_dir_all(self.0.path().join("class/infiniband").join(card)).unwrap();
    }

    fn roots(&self) -> Roots {
        let root = self.0.path();
        Roots { sys: root.to_owned(), proc: root.join("proc"), dev: root.join("dev"), ..Roots::default() }
    }

    pub(crate) fn reader(&self) -> FabricReader {
        FabricReader::new(self.roots(), &FabricSettings::default())
    }

    fn read(&self, port: &str) -> PortReading {
        self.reader().read(port).unwrap().parse().unwrap()
    }
}

pub(crate) const UP: [(&str, &str); 4] = [
    ("state", "4: ACTIVE"),
    ("phys_state", "5: LinkUp"),
    ("rate", "400 Gb/sec (4X NDR)"),
    ("link_layer", "InfiniBand"),
];

#[test]
fn a_port_of_infiniband_is_read() {
    let tree = Tree::new();
    tree.card("mlx5_0", "0000:18:00.0").port("mlx5_0/1", &UP);
    let counters =
        [("counters/symbol_error", "7"), ("counters/link_downed", "N/A (no PMA)"), ("counters/port_rcv_data", "9")];
    tree.port("mlx5_0/1", &counters);
    let reading = tree.read("mlx5_0/1");
    assert_eq!((reading.state, reading.physical, reading.rate.tenths), (4, 5, 4_000));
    assert_eq!((reading.guid.as_str(), reading.address.as_deref()), ("b859:9f03:00fa:0001", Some("0000:18:00.0")));
    assert_eq!(reading.counters, BTreeMap::from([("symbol_error".to_owned(), 7)]));
    assert_eq!(reading.interface, None);
}

/// Beside the counters of the specification, and never for one of them: docs/pcie-and-fabrics.md.
#[test]
fn what_drivers_count_of_losses_and_errors_is_read_apart() {
    let tree = Tree::new();
    tree.card("mlx5_0", "0000:18:00.0").port("mlx5_0/1", &UP);
    let known = [("hw_counters/np_cnp_sent", "7"), ("hw_counters/out_of_sequence", "18446744073709551615")];
    let traffic = [("hw_counters/rx_write_requests", "5"), ("hw_counters/lifespan", "10")];
    let others = [("hw_counters/symbol_error", "7"), ("counters/port_xmit_wait", "9")];
    tree.port("mlx5_0/1", &known).port("mlx5_0/1", &traffic).port("mlx5_0/1", &others);
    let reading = tree.read("mlx5_0/1");
    assert_eq!(reading.counters, BTreeMap::new());
    let expected = [("np_cnp_sent", 7), ("out_of_sequence", u64::MAX)];
    assert_eq!(reading.hw_counters, BTreeMap::from(expected.map(|(name, count)| (name.to_owned(), count))));
    assert_eq!(reading.card_hw_counters, BTreeMap::new());
}

/// As EFA's driver shows them: those of its commands beside the ports.
#[test]
fn what_a_driver_counts_of_its_card_is_read_too() {
    let tree = Tree::new();
    tree.card("rdmap0s31", "0000:00:1f.0").port("rdmap0s31/1", &UP);
    tree.port("rdmap0s31/1", &[("hw_counters/rx_drops", "0"), ("hw_counters/retrans_timeout_events", "3")]);
    for (name, count) in [("no_completion_cmds", "1"), ("submitted_cmds", "77")] {
        tree.write(&format!("class/infiniband/rdmap0s31/hw_counters/{name}"), count);
    }
    let reading = tree.read("rdmap0s31/1");
    let expected = [("retrans_timeout_events", 3), ("rx_drops", 0)];
    assert_eq!(reading.hw_counters, BTreeMap::from(expected.map(|(name, count)| (name.to_owned(), count))));
    assert_eq!(reading.card_hw_counters, BTreeMap::from([("no_completion_cmds".to_owned(), 1)]));
}

/// One counter that is of no use hides neither the others nor the port.
#[test]
fn a_count_is_digits_and_a_line_break_or_nothing() {
    let tree = Tree::new();
    tree.card("mlx5_0", "0000:18:00.0").port("mlx5_0/1", &UP);
    let folder = tree.0.path().join("class/infiniband/mlx5_0/ports/1/hw_counters");
    let huge = "0".repeat(1 << 20) + "7\n";
    let texts: [&[u8]; 13] = [
        b"",
        b"\n",
        b"7",
        b"-1\n",
        b"+7\n",
        b" 7\n",
        b"7\n8\n",
        b"0x10\n",
        b"1e3\n",
        b"18446744073709551616\n",
        b"N/A (no PMA)\n",
        b"\xff\xfe\n",
        huge.as_bytes(),
    ];
    for text in texts {
        tree.port("mlx5_0/1", &[("hw_counters/rnr_nak_retry_err", "5")]);
        fs::write(folder.join("out_of_buffer"), text).unwrap();
        let reading = tree.read("mlx5_0/1");
        let expected = BTreeMap::from([("rnr_nak_retry_err".to_owned(), 5)]);
        assert_eq!((reading.state, reading.hw_counters), (4, expected), "{}", String::from_utf8_lossy(text));
    }
}

#[test]
fn what_is_no_file_is_no_count() {
    let tree = Tree::new();
    tree.card("mlx5_0", "0000:18:00.0").port("mlx5_0/1", &UP).port("mlx5_0/1", &[("hw_counters/packet_seq_err", "5")]);
    let folder = tree.0.path().join("class/infiniband/mlx5_0/ports/1/hw_counters");
    fs::create_dir(folder.join("out_of_buffer")).unwrap();
    symlink("out_of_sequence", folder.join("out_of_sequence")).unwrap();
    symlink("nowhere", folder.join("req_cqe_error")).unwrap();
    assert_eq!(tree.read("mlx5_0/1").hw_counters, BTreeMap::from([("packet_seq_err".to_owned(), 5)]));
    fs::remove_dir_all(&folder).unwrap();
    fs::write(&folder, "a file\n").unwrap();
    assert_eq!(tree.read("mlx5_0/1").hw_counters, BTreeMap::new());
}

#[test]
fn a_port_on_ethernet_knows_its_interface() {
    let tree = Tree::new();
    tree.card("mlx5_0", "0000:18:00.0").port("mlx5_0/1", &UP).port("mlx5_0/1", &[("link_layer", "Ethernet")]);
    tree.port("mlx5_0/1", &[("gid_attrs/ndevs/0", "ens1f0np0")]);
    assert_eq!(tree.read("mlx5_0/1").interface, None);
    tree.write("class/net/ens1f0np0/flags", "0x1002");
    tree.write("class/net/ens1f0np0/carrier_down_count", "3");
    let interface = Interface { name: "ens1f0np0".to_owned(), is_wanted: false, carrier_downs: Some(3) };
    assert_eq!(tree.read("mlx5_0/1").interface, Some(interface));
    tree.write("class/net/ens1f0np0/flags", "0x1003");
    assert!(tree.read("mlx5_0/1").interface.unwrap().is_wanted);
}

#[test]
fn the_file_of_a_cards_verbs_is_looked_for() {
    let tree = Tree::new();
    tree.card("mlx5_0", "0000:18:00.0").port("mlx5_0/1", &UP);
    tree.card("mlx5_1", "0000:19:00.0").port("mlx5_1/1", &UP);
    mount_dev(&tree.roots(), &["devtmpfs"]);
    assert_eq!(tree.read("mlx5_0/1").missing_file, None, "programs have no module");
    for (card, uverbs) in [("mlx5_1", "uverbs0"), ("mlx5_0", "uverbs1")] {
        let entry = tree.0.path().join("class/infiniband_verbs").join(uverbs);
        add(&entry, &format!("DEVNAME=infiniband/{uverbs}\n"));
        fs::write(entry.join("ibdev"), format!("{card}\n")).unwrap();
    }
    tree.write("class/infiniband_verbs/abi_version", "6");
    tree.write("dev/infiniband/uverbs0", "");
    assert_eq!(tree.read("mlx5_0/1").missing_file.as_deref(), Some("infiniband/uverbs1"));
    assert_eq!(tree.read("mlx5_1/1").missing_file, None);
}

#[test]
fn virtual_functions_and_software_are_left_out() {
    let tree = Tree::new();
    tree.card("mlx5_0", "0000:18:00.0").port("mlx5_0/1", &UP).port("mlx5_0/2", &UP);
    tree.card("mlx5_1", "0000:18:00.2").port("mlx5_1/1", &UP);
    tree.write("devices/0000:18:00.2/physfn/vendor", "0x15b3");
    tree.port("rxe0/1", &UP);
    assert_eq!(tree.reader().list().unwrap(), ["mlx5_0/1", "mlx5_0/2"]);
}

#[test]
fn what_is_not_there_is_gone() {
    let folder = TempDir::new().unwrap();
    let roots = Roots { sys: folder.path().to_owned(), ..Roots::default() };
    let mut reader = FabricReader::new(roots, &FabricSettings::default());
    assert!(matches!(reader.list(), Err(ReadError::Gone { .. })));
    for port in ["mlx5_0/1", "mlx5_0", ""] {
        assert!(matches!(reader.read(port), Err(ReadError::Gone { .. })), "{port:?}");
    }
}
