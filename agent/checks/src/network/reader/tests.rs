use std::{fs, os::unix::fs::symlink};

use super::*;

fn reader(root: &Path) -> NetworkReader {
    let path = |name: &str| root.join(name);
    let roots =
        Roots { proc: path("proc"), sys: path("sys"), dev: path("dev"), run: path("run"), tracing: path("tracing") };
    NetworkReader::new(roots, &NetworkSettings::default())
}

fn file(root: &Path, path: &str, content: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

fn links(root: &Path) -> LinksReading {
    reader(root).read(LINKS).unwrap().parse().unwrap()
}

#[test]
fn without_classes_there_is_nothing_to_list() {
    let root = tempfile::tempdir().unwrap();
    assert!(matches!(reader(root.path()).list(), Err(ReadError::Gone { .. })));
    assert!(matches!(reader(root.path()).read("eth0"), Err(ReadError::Gone { .. })));
}

#[test]
fn names_are_listed_only_if_there_are_any() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join("sys/class/net")).unwrap();
    assert_eq!(reader(root.path()).list().unwrap(), [LINKS]);
    let settings = NetworkSettings { names: Some(vec!["a.example".to_owned()]), ..NetworkSettings::default() };
    let resolver = Resolver::new(root.path().join("proc"), &settings);
    assert_eq!(reader(root.path()).with_resolver(resolver).list().unwrap(), [LINKS, DNS]);
}

#[test]
fn an_interface_is_read_as_the_kernel_shows_it() {
    let root = tempfile::tempdir().unwrap();
    let home = "sys/class/net/eth0";
    let files = [("flags", "0x1003"), ("carrier", "1"), ("carrier_down_count", "3"), ("speed", "25000")];
    let counters =
        [("rx_packets", "10"), ("tx_packets", "5"), ("rx_errors", "3"), ("tx_errors", "1"), ("rx_missed_errors", "2")];
    let counters = counters.map(|(name, count)| (format!("statistics/{name}"), count));
    for (name, content) in files.map(|(name, content)| (name.to_owned(), content)).iter().chain(&counters) {
        file(root.path(), &format!("{home}/{name}"), &format!("{content}\n"));
    }
    fs::create_dir_all(root.path().join(home).join("device")).unwrap();
    file(root.path(), &format!("{home}/statistics/rx_crc_errors"), "3\n");
    file(root.path(), "proc/net/route", "eth0\t0000000A\t00000000\t0001\t0\t0\t0\t000000FF\t0\t0\t0\n");
    let kinds = [("rx_crc_errors".to_owned(), 3)].into();
    let expected = Interface {
        is_wanted: true,
        has_carrier: true,
        is_used: true,
        is_bonded: false,
        is_fabric: false,
        downs: Some(3),
        megabits: Some(25_000),
        counters: Counters { packets: 15, errors: 4, missed: 2, kinds },
    };
    assert_eq!(links(root.path()).interfaces, [("eth0".to_owned(), expected)].into());
}

#[test]
fn a_bond_is_read_with_its_slaves() {
    let root = tempfile::tempdir().unwrap();
    let files = [
        ("bond0/flags", "0x1403"),
        ("bond0/bonding/mode", "802.3ad 4"),
        ("bond0/bonding/slaves", "eth0 eth1"),
        ("bond0/bonding/ad_aggregator", "2"),
        ("eth0/bonding_slave/mii_status", "up"),
        ("eth0/bonding_slave/ad_aggregator_id", "2"),
        ("eth0/bonding_slave/ad_actor_oper_port_state", "61"),
    ];
    for (name, content) in files {
        file(root.path(), &format!("sys/class/net/{name}"), &format!("{content}\n"));
    }
    file(root.path(), "sys/class/net/bonding_masters", "bond0\n");
    let up = Slave { monitor: "up".to_owned(), aggregator: Some(2), actor: Some(0x3d) };
    let slaves = [("eth0".to_owned(), up), ("eth1".to_owned(), Slave::default())].into();
    let expected = BondReading { is_wanted: true, mode: "802.3ad".to_owned(), aggregator: Some(2), slaves };
    assert_eq!(links(root.path()).bonds, [("bond0".to_owned(), expected)].into());
}

#[test]
fn a_tunnel_that_names_two_links_or_none_is_not_known() {
    let root = tempfile::tempdir().unwrap();
    for (name, content) in [
        ("vx0/uevent", "DEVTYPE=vxlan\nINTERFACE=vx0"),
        ("vx0/mtu", "1450"),
        ("eth0/mtu", "1500"),
        ("eth1/mtu", "9000"),
    ] {
        file(root.path(), &format!("sys/class/net/{name}"), &format!("{content}\n"));
    }
    let class = root.path().join("sys/class/net");
    assert!(links(root.path()).tunnels.is_empty());
    symlink(class.join("eth0"), class.join("vx0/lower_eth0")).unwrap();
    let expected = TunnelReading { mtu: 1450, lower: "eth0".to_owned(), lower_mtu: 1500 };
    assert_eq!(links(root.path()).tunnels, [("vx0".to_owned(), expected)].into());
    symlink(class.join("eth1"), class.join("vx0/lower_eth1")).unwrap();
    assert!(links(root.path()).tunnels.is_empty());
}

#[test]
fn a_bond_that_has_no_folder_yet_is_looked_at_again() {
    let root = tempfile::tempdir().unwrap();
    file(root.path(), "sys/class/net/bond0/uevent", "DEVTYPE=bond\nINTERFACE=bond0\n");
    let mut reader = reader(root.path());
    let mut bonds = move || -> Vec<String> {
        let reading: LinksReading = reader.read(LINKS).unwrap().parse().unwrap();
        reading.bonds.into_keys().collect()
    };
    assert_eq!(bonds(), [""; 0]);
    file(root.path(), "sys/class/net/bond0/bonding/mode", "802.3ad 4\n");
    assert_eq!(bonds(), ["bond0"]);
}

/// A node has hundreds of such interfaces, and what each is is read once.
#[test]
fn what_is_of_no_interest_is_looked_at_once_and_another_of_its_name_is_looked_at() {
    let root = tempfile::tempdir().unwrap();
    let card = |name: &str| fs::create_dir_all(root.path().join("sys/class/net").join(name).join("device")).unwrap();
    file(root.path(), "sys/class/net/veth1/uevent", "INTERFACE=veth1\n");
    file(root.path(), "sys/class/net/new/uevent", "INTERFACE=veth1\n");
    fs::create_dir_all(root.path().join("sys/class/net/silent")).unwrap();
    let mut reader = reader(root.path());
    let mut names = move || -> Vec<String> {
        let reading: LinksReading = reader.read(LINKS).unwrap().parse().unwrap();
        reading.interfaces.into_keys().collect()
    };
    assert_eq!(names(), [""; 0]);
    // Nothing of this kind happens to an interface; it shows that the first is not read again.
    card("veth1");
    card("silent");
    card("new");
    assert_eq!(names(), ["silent"], "one that shows nothing may be anything");
    let class = root.path().join("sys/class/net");
    fs::rename(class.join("veth1"), root.path().join("gone")).unwrap();
    fs::rename(class.join("new"), class.join("veth1")).unwrap();
    assert_eq!(names(), ["silent", "veth1"], "another one");
}

/// An interface that is not listed, or looks switched off, is missed by no check: its problem would be over.
#[test]
fn what_cannot_be_read_of_an_interface_is_no_sign_that_it_is_gone_or_off() {
    let home = "sys/class/net/bond0";
    for name in ["flags", "carrier", "bonding/slaves"] {
        let root = tempfile::tempdir().unwrap();
        for (name, content) in [("flags", "0x1003"), ("carrier", "1"), ("bonding/slaves", ""), ("device/x", "")] {
            file(root.path(), &format!("{home}/{name}"), content);
        }
        assert_eq!(links(root.path()).interfaces.len(), 1);
        // A folder is no file.
        let path = root.path().join(home).join(name);
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(matches!(reader(root.path()).read(LINKS), Err(ReadError::Failed { .. })), "{name}");
    }
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join("sys/class")).unwrap();
    symlink("net", root.path().join("sys/class/net")).unwrap();
    assert!(matches!(reader(root.path()).read(LINKS), Err(ReadError::Failed { .. })), "the list");
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join("sys")).unwrap();
    symlink("class", root.path().join("sys/class")).unwrap();
    assert!(matches!(reader(root.path()).list(), Err(ReadError::Failed { .. })), "whether there is one");
}
