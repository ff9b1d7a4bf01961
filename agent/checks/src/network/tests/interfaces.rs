use super::*;

#[test]
fn a_carrier_that_is_lost_is_a_fault_until_it_has_been_back_for_a_while() {
    let mut machine = Machine::new();
    machine.after(0);
    machine.set("eth0", "carrier", 0);
    assert_eq!(reported(&machine.during(30), "eth0"), ["healthy: down"]);
    let findings = machine.after(15);
    assert_eq!(reported(&findings, "eth0"), [DOWN]);
    assert_eq!(findings.hardware[0].states.get("down"), Some(&1));
    machine.set("eth0", "carrier", 1);
    assert_eq!(
        reported(&machine.during(30), "eth0"),
        ["InterfaceDown: the carrier is back for less than 30 s; \
             check the cable, the transceiver and the switch's port"]
    );
    assert!(is_silent(&machine.after(15)));
}

#[test]
fn who_loses_its_address_with_the_carrier_is_missed_still() {
    let mut machine = Machine::new();
    machine.after(0);
    machine.set("eth0", "carrier", 0).file("proc/net/route", HEAD);
    assert_eq!(reported(&machine.during(60), "eth0"), [DOWN]);
    machine.set("eth0", "carrier", 1);
    // Its address comes back later than the carrier.
    assert_eq!(reported(&machine.during(60), "eth0"), ["healthy: up"]);
    machine.set("eth0", "carrier", 0);
    assert_eq!(reported(&machine.during(60), "eth0"), [DOWN]);
}

#[test]
fn what_an_operator_switched_off_is_not_missed() {
    let mut machine = Machine::new();
    machine.after(0);
    machine.set("eth0", "flags", "0x1002").set("eth0", "carrier", "");
    assert_eq!(reported(&machine.during(600), "eth0"), ["healthy: switched off"]);
}

#[test]
fn what_had_no_carrier_in_this_boot_is_not_missed() {
    let mut machine = Machine::new();
    machine.set("eth0", "carrier", 0);
    assert!(is_silent(&machine.during(600)));
}

#[test]
fn what_is_not_used_is_not_missed() {
    let mut machine = Machine::new();
    machine.card("eth1").after(0);
    machine.set("eth1", "carrier", 0).set("eth1", "carrier_down_count", 50);
    let findings = machine.during(600);
    assert!(is_silent(&findings));
    assert_eq!(reported(&findings, "eth1"), ["nothing"]);
}

#[test]
fn who_has_an_address_by_a_vlan_upon_a_bridge_is_used() {
    let mut machine = Machine::new();
    machine.card("eth1").link("br0").link("br0.7").upon("br0", "eth1").upon("br0.7", "br0");
    machine.file("proc/net/if_inet6", "fd000000000000000000000000000002 04 40 00 82    br0.7\n");
    machine.after(0);
    machine.set("eth1", "carrier", 0);
    assert_eq!(reported(&machine.during(60), "eth1"), [DOWN]);
}

#[test]
fn neighbours_in_a_ring_end() {
    let mut machine = Machine::new();
    machine.card("eth1").card("eth2").upon("eth1", "eth2").upon("eth2", "eth1");
    assert!(is_silent(&machine.during(60)));
}

#[test]
fn what_pods_and_tunnels_have_is_not_judged() {
    let mut machine = Machine::new();
    let names = ["veth1a2b", "cali0", "lxc1", "cilium_host", "tunl0", "docker0", "cni0", "virbr0", "dummy0", "lo"];
    let routes = names.map(|name| ON_LINK.replace("eth0", name)).concat();
    machine.file("proc/net/route", &format!("{HEAD}{DEFAULT}{ON_LINK}{routes}"));
    for name in names {
        machine.link(name);
    }
    machine.after(0);
    for name in names {
        machine.set(name, "carrier", 0).count(name, "rx_errors", 100_000);
    }
    let findings = machine.during(600);
    assert!(is_silent(&findings));
    assert_eq!(findings.hardware[0].total, 1);
}

#[test]
fn a_port_of_a_fabric_is_the_fabric_monitors() {
    let mut machine = Machine::new();
    machine.file("sys/class/net/eth0/device/infiniband/mlx5_0/node_guid", "1\n");
    machine.after(0);
    machine.set("eth0", "carrier", 0).set("eth0", "carrier_down_count", 50).set("eth0", "speed", 100);
    assert!(is_silent(&machine.during(600)));
}

#[test]
fn a_carrier_that_goes_again_and_again_is_a_fault_until_it_has_calmed_down() {
    let mut machine = Machine::new();
    machine.after(0);
    for downs in 2..=5 {
        machine.set("eth0", "carrier_down_count", downs);
        assert!(is_silent(&machine.after(15)), "{downs}");
    }
    machine.set("eth0", "carrier_down_count", 6);
    assert_eq!(
        reported(&machine.after(15), "eth0"),
        ["InterfaceFlapping: the carrier was lost 5 times within 1 h (limit 5); \
             clean or replace the cable and the transceivers"]
    );
    assert!(!is_silent(&machine.during(3_000)));
    assert!(is_silent(&machine.during(900)));
}

#[test]
fn flaps_are_counted_by_changes_where_the_kernel_is_old() {
    let mut machine = Machine::new();
    fs::remove_file(machine.home("eth0").join("carrier_down_count")).unwrap();
    machine.set("eth0", "carrier_changes", 2).after(0);
    machine.after(15);
    machine.set("eth0", "carrier_changes", 12);
    assert_eq!(
        reported(&machine.after(15), "eth0"),
        ["InterfaceFlapping: the carrier was lost 5 times within 1 h (limit 5); \
             clean or replace the cable and the transceivers"]
    );
}

#[test]
fn who_switches_it_off_and_on_makes_no_flaps() {
    let mut machine = Machine::new();
    machine.after(0);
    for downs in 2..20 {
        machine.set("eth0", "carrier_down_count", downs).set("eth0", "flags", "0x1002");
        machine.after(15);
        machine.set("eth0", "flags", "0x1003");
        assert!(is_silent(&machine.after(15)));
    }
}

#[test]
fn a_link_slower_than_it_has_been_in_this_boot_is_a_fault() {
    let mut machine = Machine::new();
    machine.after(0);
    machine.set("eth0", "speed", 100);
    assert!(is_silent(&machine.during(240)));
    let slow = ["LinkSpeedReduced: 100 Mb/s, was 1000 Mb/s in this boot; \
         replace the cable, compare the settings of both ends with ethtool"];
    assert_eq!(reported(&machine.after(15), "eth0"), slow);
    machine.restart();
    assert_eq!(reported(&machine.after(15), "eth0"), slow);
    machine.set("eth0", "speed", 1000).during(240);
    assert!(is_silent(&machine.after(15)));
    machine.set("eth0", "speed", 100).boot();
    assert!(is_silent(&machine.during(600)));
}

#[test]
fn an_unknown_speed_is_no_lower_one() {
    let mut machine = Machine::new();
    machine.after(0);
    for unknown in ["-1", "", "0", "fast", "4294967296"] {
        machine.set("eth0", "speed", unknown);
        assert!(is_silent(&machine.during(600)), "{unknown:?}");
    }
}

#[test]
fn a_hypervisors_link_has_no_speed_of_its_own() {
    let mut machine = Machine::new();
    fs::create_dir_all(machine.root.path().join("sys/bus/virtio")).unwrap();
    symlink(machine.root.path().join("sys/bus/virtio"), machine.home("eth0").join("device/subsystem")).unwrap();
    machine.after(0);
    machine.set("eth0", "speed", 100);
    assert_eq!(reported(&machine.during(600), "eth0"), ["healthy: up"]);
}

#[test]
fn an_interface_that_went_into_a_pod_is_forgotten() {
    let mut machine = Machine::new();
    machine.after(0);
    fs::remove_dir_all(machine.home("eth0")).unwrap();
    let findings = machine.during(600);
    assert_eq!(reported(&findings, "eth0"), ["nothing"]);
    assert_eq!(findings.hardware, []);
}

#[test]
fn ignored_ones_are_not_judged() {
    let mut machine = Machine::with(NetworkSettings { ignore: vec!["eth*".to_owned()], ..NetworkSettings::default() });
    machine.after(0);
    machine.set("eth0", "carrier", 0);
    assert!(is_silent(&machine.during(600)));
}

#[test]
fn a_tunnel_that_does_not_fit_into_its_link_is_a_fault() {
    let mut machine = Machine::new();
    machine.link("flannel.1").set("flannel.1", "uevent", "DEVTYPE=vxlan\nINTERFACE=flannel.1").set(
        "flannel.1",
        "mtu",
        1450,
    );
    machine.upon("flannel.1", "eth0").after(0);
    assert_eq!(reported(&machine.after(15), "flannel.1"), ["healthy: MTU 1450, over eth0 with MTU 1500"]);
    machine.set("eth0", "mtu", 1400);
    assert!(is_silent(&machine.during(30)));
    let words = "MtuMismatch: MTU 1450 and 50 bytes of the tunnel exceed MTU 1400 of eth0; \
                 restore the MTU of eth0, or restart the network plug-in's pod";
    assert_eq!(reported(&machine.after(15), "flannel.1"), [words]);
    machine.set("flannel.1", "mtu", 1350).during(30);
    assert!(is_silent(&machine.after(15)));
}

#[test]
fn a_tunnel_whose_link_is_not_known_is_not_judged() {
    let mut machine = Machine::new();
    machine.link("cilium_vxlan").set("cilium_vxlan", "uevent", "DEVTYPE=vxlan");
    machine.link("vlan7").set("vlan7", "uevent", "DEVTYPE=vlan").upon("vlan7", "eth0");
    let findings = machine.during(600);
    assert!(is_silent(&findings));
    for name in ["cilium_vxlan", "vlan7"] {
        assert_eq!(reported(&findings, name), ["nothing"]);
    }
}
