use super::*;

const IPV6: &str = "00000000000000000000000000000000 00 00000000000000000000000000000000 00 fd000000000000000000000000000001 00000400 00000003 00000000 00000003     eth0\n";
const NO_IPV6: &str = "00000000000000000000000000000000 00 00000000000000000000000000000000 00 00000000000000000000000000000000 ffffffff 00000001 00000000 00200200       lo\n";
const LOST: &str = "DefaultRouteLost: no default route for IPv4, it went by eth0; \
                    see ip route, and the log of what sets it (systemd-networkd, NetworkManager, DHCP)";

#[test]
fn a_default_route_that_is_gone_is_missed_and_its_return_ends_it() {
    let mut machine = Machine::new();
    machine.after(0);
    machine.file("proc/net/route", &format!("{HEAD}{ON_LINK}"));
    assert!(is_silent(&machine.during(30)));
    assert_eq!(reported(&machine.after(15), "default-route"), [LOST]);
    machine.file("proc/net/route", &format!("{HEAD}{DEFAULT}"));
    assert_eq!(reported(&machine.after(15), "default-route"), ["healthy: the default route goes by eth0"]);
}

#[test]
fn a_new_lease_within_the_grace_is_silent() {
    let mut machine = Machine::new();
    for _ in 0..10 {
        machine.file("proc/net/route", &format!("{HEAD}{ON_LINK}"));
        assert!(is_silent(&machine.during(30)));
        machine.file("proc/net/route", &format!("{HEAD}{DEFAULT}{ON_LINK}"));
        assert!(is_silent(&machine.after(15)));
    }
}

#[test]
fn a_node_that_never_had_one_has_nothing_to_lose() {
    let mut machine = Machine::new();
    machine.file("proc/net/route", &format!("{HEAD}{ON_LINK}")).file("proc/net/ipv6_route", NO_IPV6);
    assert_eq!(reported(&machine.during(600), "default-route"), ["nothing"]);
}

#[test]
fn both_families_are_missed_each_by_itself() {
    let mut machine = Machine::new();
    machine.file("proc/net/ipv6_route", IPV6).after(0);
    machine.file("proc/net/ipv6_route", NO_IPV6);
    let lost = ["DefaultRouteLost: no default route for IPv6, it went by eth0; \
                see ip route, and the log of what sets it (systemd-networkd, NetworkManager, DHCP)"];
    assert_eq!(reported(&machine.during(60), "default-route"), lost);
    machine.file("proc/net/route", HEAD);
    let both = "DefaultRouteLost: no default route, IPv4's went by eth0 and IPv6's by eth0; \
                see ip route, and the log of what sets it (systemd-networkd, NetworkManager, DHCP)";
    assert_eq!(reported(&machine.during(60), "default-route"), [both]);
}

#[test]
fn what_a_router_advertised_is_missed_only_where_there_is_no_other_way() {
    let advertised = IPV6.replace("00000003     eth0", "00450003     eth0");
    for (ipv4, lost) in [(DEFAULT, false), ("", true)] {
        let mut machine = Machine::new();
        machine.file("proc/net/route", &format!("{HEAD}{ipv4}{ON_LINK}")).file("proc/net/ipv6_route", &advertised);
        machine.after(0);
        machine.file("proc/net/ipv6_route", NO_IPV6);
        assert_eq!(!is_silent(&machine.during(600)), lost);
    }
}

#[test]
fn it_is_remembered_across_restarts_and_forgotten_with_a_new_boot() {
    let mut machine = Machine::new();
    machine.after(0);
    machine.restart();
    machine.file("proc/net/route", HEAD);
    assert_eq!(reported(&machine.during(60), "default-route"), [LOST]);
    machine.restart();
    assert_eq!(reported(&machine.after(15), "default-route"), [LOST]);
    machine.boot();
    assert_eq!(reported(&machine.during(600), "default-route"), ["nothing"]);
}

#[test]
fn no_route_has_to_be_there() {
    let mut machine = Machine::with(NetworkSettings { default_route: false, ..NetworkSettings::default() });
    machine.after(0);
    machine.file("proc/net/route", HEAD);
    assert_eq!(reported(&machine.during(600), "default-route"), ["nothing"]);
}

#[test]
fn the_hosts_routes_count_and_not_those_of_our_own_network() {
    let mut machine = Machine::new();
    machine.file("proc/1/net/route", &format!("{HEAD}{DEFAULT}")).file("proc/net/route", HEAD);
    assert!(is_silent(&machine.during(600)));
    assert_eq!(reported(&machine.after(15), "default-route"), ["healthy: the default route goes by eth0"]);
}
