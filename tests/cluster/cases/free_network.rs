//! The addresses of a cluster are in no network that its machine has an address in or a route to.

use nodewell_cluster::network::free;
use nodewell_tests::suite::Suite;

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("free_network").case("has_no_address_and_no_route", has_no_address_and_no_route);
}

fn has_no_address_and_no_route() {
    let cases = [
        ("", "10.77.0"),
        ("default via 192.0.2.1 dev eth0", "10.77.0"),
        ("2: eth0    inet 10.77.0.1/24 brd 10.77.0.255 scope global eth0", "10.77.1"),
        // A VPN's, and one that takes all traffic.
        ("10.77.0.0/22 dev tun0 scope link", "10.77.4"),
        ("0.0.0.0/1 dev tun0\n128.0.0.0/1 dev tun0", "10.77.0"),
        ("10.0.0.0/8 via 192.0.2.9 dev eth0", "172.29.0"),
        ("10.77.0.9 dev tun0 scope link", "10.77.1"),
    ];
    for (used, expected) in cases {
        assert_eq!(free::prefix(used).as_deref(), Some(expected), "{used}");
    }
    assert_eq!(free::prefix("10.0.0.0/8 172.16.0.0/12 192.168.0.0/16"), None);
}
