//! Reads /proc/net/route, /proc/net/ipv6_route and /proc/net/if_inet6 (net/ipv4/fib_trie.c, net/ipv6/route.c,
//! net/ipv6/addrconf.c).

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use crate::probe::{ReadError, attribute};

use super::reading::Routes;

/// RTF_UP, RTF_REJECT of include/uapi/linux/route.h, RTF_ADDRCONF of ipv6_route.h.
const UP: u32 = 0x1;
const REJECT: u32 = 0x200;
const ADVERTISED: u32 = 0x4_0000;

/// What the tables show of interfaces.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Tables {
    pub(super) defaults: Routes,
    /// Interfaces with a route or an address that others can reach.
    pub(super) used: BTreeSet<String>,
}

/// The host's tables, whatever network this process is in.
pub(super) fn read(proc: &Path) -> Result<Tables, ReadError> {
    let folder = folder(proc);
    let ipv4 = attribute::text(&folder.join("route"))?;
    let ipv6 = attribute::text(&folder.join("ipv6_route"))?;
    let addresses = attribute::text(&folder.join("if_inet6"))?.unwrap_or_default();
    let mut used: BTreeSet<String> = addresses.lines().filter_map(global_address).collect();
    used.extend(ipv4.iter().flat_map(|table| table.lines()).filter_map(|line| ipv4_route(line)?.interface()));
    used.extend(ipv6.iter().flat_map(|table| table.lines()).filter_map(|line| ipv6_route(line)?.default_interface()));
    let mut configured = ipv6.iter().flat_map(|table| table.lines()).filter_map(ipv6_route);
    let is_configured = configured.any(|route| route.default_interface().is_some() && route.flags & ADVERTISED == 0);
    let defaults = Routes {
        is_advertised: !is_configured,
        ipv4: ipv4.map(|table| defaults(&table, ipv4_route)),
        ipv6: ipv6.map(|table| defaults(&table, ipv6_route)),
    };
    Ok(Tables { defaults, used })
}

/// Process 1 is in the host's network; a process that shows none of it (a tree of a test's) has its own.
pub(super) fn folder(proc: &Path) -> PathBuf {
    let host = proc.join("1/net");
    if host.join("dev").exists() || host.join("route").exists() { host } else { proc.join("net") }
}

/// One line of a table.
struct Route<'a> {
    interface: &'a str,
    is_default: bool,
    flags: u32,
}

impl Route<'_> {
    fn leads_out(&self) -> bool {
        self.flags & UP != 0 && self.flags & REJECT == 0 && self.interface != "lo" && self.interface != "*"
    }

    fn interface(&self) -> Option<String> {
        self.leads_out().then(|| self.interface.to_owned())
    }

    fn default_interface(&self) -> Option<String> {
        self.interface().filter(|_| self.is_default)
    }
}

fn defaults<'a>(table: &'a str, parse: impl Fn(&'a str) -> Option<Route<'a>>) -> BTreeSet<String> {
    table.lines().filter_map(|line| parse(line)?.default_interface()).collect()
}

/// `eth0 00000000 010200C0 0003 0 0 0 00000000 0 0 0`: interface, destination, gateway, flags, …, mask.
fn ipv4_route(line: &str) -> Option<Route<'_>> {
    let fields: Vec<&str> = line.split_ascii_whitespace().take(8).collect();
    let [interface, destination, _, flags, _, _, _, mask] = fields[..] else { return None };
    let flags = u32::from_str_radix(flags, 16).ok()?;
    let (destination, mask) = (u32::from_str_radix(destination, 16).ok()?, u32::from_str_radix(mask, 16).ok()?);
    Some(Route { interface, is_default: destination == 0 && mask == 0, flags })
}

/// `00…0 00 00…0 00 fd…1 00000400 00000003 00000000 00000003 eth0`: destination, its length, source, its length, gateway,
/// metric, references, uses, flags, interface.
fn ipv6_route(line: &str) -> Option<Route<'_>> {
    let fields: Vec<&str> = line.split_ascii_whitespace().take(10).collect();
    let [destination, length, _, source_length, _, _, _, _, flags, interface] = fields[..] else { return None };
    let is_zero = |text: &str| text.bytes().all(|byte| byte == b'0');
    let is_default = is_zero(destination) && is_zero(length) && is_zero(source_length);
    Some(Route { interface, is_default, flags: u32::from_str_radix(flags, 16).ok()? })
}

/// `fd…2 04 40 00 82 eth0`: address, interface's number, prefix, scope, flags, interface. Scope 0 is global.
fn global_address(line: &str) -> Option<String> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let [_, _, _, scope, _, interface] = fields[..] else { return None };
    (scope == "00").then(|| interface.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;

    use super::*;

    /// As Linux 6.18 writes them.
    const IPV4: &str = "\
Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0
eth1\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
*\t0000A8C0\t00000000\t0201\t0\t0\t0\t0000FFFF\t0\t0\t0
";
    const IPV6: &str = "\
fe800000000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000001 00000000 00000001      eth1
00000000000000000000000000000000 00 00000000000000000000000000000000 00 fd000000000000000000000000000001 00000400 00000003 00000000 00000003     eth0
00000000000000000000000000000000 00 00000000000000000000000000000000 00 00000000000000000000000000000000 ffffffff 00000001 00000000 00200200       lo
";
    const ADDRESSES: &str = "\
fd000000000000000000000000000002 04 40 00 82     eth2
fe8000000000000000fc00fffe000001 04 40 20 80     eth3
";

    fn tables(at: &str) -> Tables {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join(at);
        fs::create_dir_all(&folder).unwrap();
        for (name, text) in [("route", IPV4), ("ipv6_route", IPV6), ("if_inet6", ADDRESSES)] {
            fs::write(folder.join(name), text).unwrap();
        }
        read(root.path()).unwrap()
    }

    #[test]
    fn default_routes_and_those_who_have_an_address_are_found() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        for folder in ["net", "1/net"] {
            let found = tables(folder);
            assert_eq!(
                found.defaults,
                Routes { ipv4: Some(names(&["eth0"])), ipv6: Some(names(&["eth0"])), is_advertised: false }
            );
            assert_eq!(found.used, names(&["eth0", "eth1", "eth2"]));
        }
    }

    #[test]
    fn a_kernel_without_a_table_reports_nothing_of_it() {
        let root = tempfile::tempdir().unwrap();
        let defaults = Routes { is_advertised: true, ..Routes::default() };
        assert_eq!(read(root.path()).unwrap(), Tables { defaults, used: BTreeSet::new() });
    }

    #[test]
    fn no_default_route_is_not_no_table() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("net")).unwrap();
        fs::write(root.path().join("net/route"), IPV4.lines().next().unwrap()).unwrap();
        assert_eq!(
            read(root.path()).unwrap().defaults,
            Routes { ipv4: Some(BTreeSet::new()), ipv6: None, is_advertised: true }
        );
    }

    proptest! {
        #[test]
        fn no_table_is_too_bad(line in "(?s)[0-9a-f *\t]{0,160}.{0,8}", cut in 0_usize..200) {
            for text in [line.as_str(), &IPV4[..cut.min(IPV4.len())], &IPV6[..cut.min(IPV6.len())]] {
                for line in text.lines() {
                    let names = [ipv4_route(line).map(|route| route.interface.len()), ipv6_route(line).map(|route| route.interface.len())];
                    prop_assert!(names.into_iter().flatten().all(|length| length > 0 && length <= line.len()));
                    global_address(line);
                }
            }
        }
    }
}
