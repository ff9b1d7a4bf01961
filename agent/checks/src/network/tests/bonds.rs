use super::*;

const NEXT_STEP: &str = "; check their cables and the switch's ports, and its link aggregation";

/// `bond0` of `eth0` and `eth1`, 802.3ad, all healthy.
fn bond() -> Machine {
    let mut machine = Machine::new();
    machine.link("bond0").card("eth1").file("proc/net/route", &format!("{HEAD}{DEFAULT}").replace("eth0", "bond0"));
    machine.set("bond0", "bonding/slaves", "eth0 eth1").set("bond0", "bonding/mode", "802.3ad 4");
    machine.set("bond0", "bonding/ad_aggregator", 1);
    for slave in ["eth0", "eth1"] {
        machine.set(slave, "bonding_slave/mii_status", "up").set(slave, "bonding_slave/ad_aggregator_id", 1);
        // Active, aggregatable, in sync, collecting, distributing.
        machine.set(slave, "bonding_slave/ad_actor_oper_port_state", 0x3d).upon("bond0", slave);
    }
    machine
}

#[test]
fn a_whole_bond_is_healthy() {
    let mut machine = bond();
    let findings = machine.during(600);
    assert!(is_silent(&findings));
    assert_eq!(reported(&findings, "bond0"), ["healthy: a bond of 2 interfaces"]);
    assert_eq!(findings.hardware[0].total, 3);
}

#[test]
fn one_that_is_down_degrades_its_bond_and_is_reported_by_it_alone() {
    let mut machine = bond();
    machine.after(0);
    machine.set("eth1", "carrier", 0).set("eth1", "bonding_slave/mii_status", "down");
    assert!(is_silent(&machine.during(30)));
    let findings = machine.after(15);
    assert_eq!(
        reported(&findings, "bond0"),
        [format!("BondDegraded: 1 of 2 interfaces carry, eth1: no carrier{NEXT_STEP}")]
    );
    assert_eq!(reported(&findings, "eth1"), ["healthy: down"]);
    machine.restart();
    machine.set("eth1", "carrier", 1).set("eth1", "bonding_slave/mii_status", "up");
    assert!(!is_silent(&machine.during(30)));
    assert!(is_silent(&machine.after(15)));
}

#[test]
fn what_one_counts_its_bond_counts_too_and_is_reported_once() {
    let mut machine = bond();
    machine.after(0);
    for errors in 1..=20 {
        for link in ["eth1", "bond0"] {
            machine.count(link, "rx_errors", 7 + errors * 10);
        }
        machine.after(15);
    }
    let findings = machine.after(0);
    assert_eq!(
        reported(&findings, "eth1"),
        ["InterfaceErrors: 200 damaged packets or more within 5 min (limit 50, 1000 of a million); \
             check the cable, the transceiver and the other end"]
    );
    assert_eq!(reported(&findings, "bond0"), ["healthy: a bond of 2 interfaces"]);
}

#[test]
fn a_bond_of_which_nothing_carries_is_down() {
    let mut machine = bond();
    machine.after(0);
    for name in ["eth0", "eth1", "bond0"] {
        machine.set(name, "carrier", 0);
    }
    let findings = machine.during(60);
    assert_eq!(reported(&findings, "bond0"), [DOWN]);
    assert_eq!(findings.hardware[0].states.get("down"), Some(&1));
}

#[test]
fn partners_that_do_not_speak_or_are_another_one_are_reported() {
    let cases = [
        ("bonding_slave/ad_actor_oper_port_state", 0x45, "no partner speaks LACP"),
        ("bonding_slave/ad_actor_oper_port_state", 0xbd, "no partner speaks LACP"),
        ("bonding_slave/ad_aggregator_id", 2, "another partner than the others"),
    ];
    for (file, number, problem) in cases {
        let mut machine = bond();
        machine.after(0);
        machine.set("eth1", file, number);
        let words = format!("BondDegraded: 1 of 2 interfaces carry, eth1: {problem}{NEXT_STEP}");
        assert_eq!(reported(&machine.during(60), "bond0"), [words]);
        machine.set("bond0", "bonding/mode", "active-backup 1");
        assert!(is_silent(&machine.during(60)));
    }
}

#[test]
fn one_that_the_monitor_does_not_reach_is_reported() {
    let mut machine = bond();
    machine.set("bond0", "bonding/mode", "active-backup 1").after(0);
    machine.set("eth1", "bonding_slave/mii_status", "going back");
    let words = format!("BondDegraded: 1 of 2 interfaces carry, eth1: down by the bond's monitor{NEXT_STEP}");
    assert_eq!(reported(&machine.during(60), "bond0"), [words]);
}

#[test]
fn what_an_operator_switched_off_or_took_out_is_not_missed() {
    let mut machine = bond();
    machine.after(0);
    machine.set("eth1", "flags", "0x1002").set("eth1", "carrier", "").set("eth1", "bonding_slave/mii_status", "down");
    assert!(is_silent(&machine.during(600)));
    machine.set("bond0", "bonding/slaves", "eth0");
    assert!(is_silent(&machine.during(600)));
    assert_eq!(reported(&machine.after(15), "bond0"), ["healthy: a bond of 1 interfaces"]);
}

#[test]
fn one_that_is_gone_from_the_machine_is_missed() {
    let mut machine = bond();
    machine.after(0);
    machine.set("bond0", "bonding/slaves", "eth0");
    fs::remove_dir_all(machine.home("eth1")).unwrap();
    let words = format!("BondDegraded: 1 of 2 interfaces carry, eth1: gone from the machine{NEXT_STEP}");
    assert_eq!(reported(&machine.during(60), "bond0"), std::slice::from_ref(&words));
    machine.restart();
    assert_eq!(reported(&machine.during(60), "bond0"), [words]);
    machine.card("eth1").set("eth1", "bonding_slave/mii_status", "up").set("bond0", "bonding/slaves", "eth0 eth1");
    assert!(is_silent(&machine.during(60)));
}

#[test]
fn one_that_is_renamed_is_not_missed() {
    let mut machine = bond();
    machine.after(0);
    fs::rename(machine.home("eth1"), machine.home("ens3")).unwrap();
    machine.set("bond0", "bonding/slaves", "eth0 ens3");
    assert!(is_silent(&machine.during(600)));
}

#[test]
fn a_bond_that_is_switched_off_is_no_fault() {
    let mut machine = bond();
    machine.after(0);
    machine.set("bond0", "flags", "0x1402");
    for name in ["eth0", "eth1", "bond0"] {
        machine.set(name, "carrier", 0);
    }
    assert!(is_silent(&machine.during(600)));
}
