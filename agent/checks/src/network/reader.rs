//! Reads links in sysfs (Documentation/ABI: sysfs-class-net, sysfs-class-net-statistics; Documentation/networking/bonding)
//! and asks the resolver.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    os::unix::fs::DirEntryExt,
    path::{Path, PathBuf},
};

use crate::probe::{RawReading, ReadError, Reader, Roots, attribute};

use super::{
    DNS, LINKS,
    names::Resolver,
    reading::{BondReading, Counters, Interface, LinksReading, Slave, TunnelReading},
    routes::{self, Tables},
};
use crate::network::NetworkSettings;

/// A VLAN upon a bridge upon a bond is three; deeper is a loop or a jest.
const DEEPEST: usize = 5;

/// The kinds of `rx_errors` and `tx_errors` that show what is broken.
pub(super) const KINDS: [&str; 4] = ["rx_crc_errors", "rx_frame_errors", "rx_length_errors", "tx_carrier_errors"];

/// Reads in a worker.
#[derive(Debug)]
pub struct NetworkReader {
    proc: PathBuf,
    interfaces: PathBuf,
    resolver: Resolver,
    /// What is no card, bond or tunnel, with the inode of its entry, which no other gets: a pod's end of a link stays one,
    /// and a node has hundreds.
    plain: BTreeMap<String, u64>,
}

impl NetworkReader {
    #[must_use]
    pub fn new(roots: Roots, settings: &NetworkSettings) -> Self {
        let interfaces = roots.sys.join("class/net");
        let resolver = Resolver::new(roots.proc.clone(), settings);
        Self { proc: roots.proc, interfaces, resolver, plain: BTreeMap::new() }
    }

    #[cfg(test)]
    pub(super) fn with_resolver(mut self, resolver: Resolver) -> Self {
        self.resolver = resolver;
        self
    }

    fn links(&mut self) -> Result<LinksReading, ReadError> {
        let tables = routes::read(&self.proc)?;
        let mut reading = LinksReading { routes: tables.defaults.clone(), ..LinksReading::default() };
        let known = std::mem::take(&mut self.plain);
        for (name, inode) in self.names()? {
            if known.get(&name) == Some(&inode) || read_link(&self.interfaces, &name, &tables, &mut reading)? {
                self.plain.insert(name, inode);
            }
        }
        Ok(reading)
    }

    /// An interface that is not listed is gone, and what was wrong with it is over: a list with an error is none.
    fn names(&self) -> Result<Vec<(String, u64)>, ReadError> {
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => gone(&self.interfaces),
            _ => attribute::read_error(&self.interfaces, &error),
        };
        let entries = self.interfaces.read_dir().and_then(Iterator::collect::<io::Result<Vec<_>>>).map_err(failed)?;
        let named = entries.into_iter().filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.ino())));
        // Beside links there is this file.
        Ok(named.filter(|(name, _)| name != "bonding_masters").collect())
    }
}

/// Adds what is to be known of a link; returns whether that is nothing, and stays so.
fn read_link(class: &Path, name: &str, tables: &Tables, reading: &mut LinksReading) -> Result<bool, ReadError> {
    let link = Link::new(class, name);
    let (is_bond, uevent) = (link.is_bond()?, link.text("uevent"));
    let is_of_kind = |kind: &str| uevent.lines().any(|line| line.strip_prefix("DEVTYPE=") == Some(kind));
    let is_tunnel = is_of_kind("vxlan");
    if is_bond {
        reading.bonds.insert(name.to_owned(), link.bond()?);
    }
    if let Some(tunnel) = is_tunnel.then(|| link.tunnel()).flatten() {
        reading.tunnels.insert(name.to_owned(), tunnel);
    }
    let is_card = is_bond || link.is_card()?;
    if is_card {
        reading.interfaces.insert(name.to_owned(), link.interface(tables)?);
    }
    // Of what shows nothing of itself it is not known what it is. A bond is listed before it has its folder
    // (`device_add` in drivers/base/core.c).
    Ok(!is_card && !is_tunnel && !is_of_kind("bond") && !uevent.is_empty())
}

impl Reader for NetworkReader {
    fn list(&mut self) -> Result<Vec<String>, ReadError> {
        if !attribute::is_there(&self.interfaces)? {
            return Err(gone(&self.interfaces));
        }
        let names = self.resolver.has_names().then(|| DNS.to_owned());
        Ok(std::iter::once(LINKS.to_owned()).chain(names).collect())
    }

    /// The settings decide whether there are names; links come and go within one reading.
    fn is_list_fixed(&self) -> bool {
        true
    }

    fn read(&mut self, device: &str) -> Result<RawReading, ReadError> {
        match device {
            LINKS => RawReading::of(&self.links()?),
            DNS => RawReading::of(&self.resolver.ask()?),
            _ => Err(ReadError::Gone { what: device.to_owned() }),
        }
    }
}

/// One entry of /sys/class/net.
struct Link<'a> {
    class: &'a Path,
    name: &'a str,
    home: PathBuf,
}

impl<'a> Link<'a> {
    fn new(class: &'a Path, name: &'a str) -> Self {
        Self { class, name, home: class.join(name) }
    }

    fn is_bond(&self) -> Result<bool, ReadError> {
        self.has("bonding")
    }

    /// What a card has, but radio. What pods have (veth, cali*, lxc*), bridges, tunnels and dummies have no device.
    fn is_card(&self) -> Result<bool, ReadError> {
        Ok(self.has("device")? && !self.has("phy80211")?)
    }

    fn interface(&self, tables: &Tables) -> Result<Interface, ReadError> {
        let has_carrier = attribute::number_shown(&self.home.join("carrier"))? == Some(1);
        let is_used = self.is_used(tables);
        let is_bonded = self.has("bonding_slave")?;
        let is_bond = self.is_bond()?;
        Ok(Interface {
            is_wanted: self.is_wanted()?,
            has_carrier,
            is_used,
            is_bonded,
            is_fabric: self.has("device/infiniband")?,
            downs: self.downs(),
            megabits: if !is_bond && has_carrier && (is_used || is_bonded) { self.megabits() } else { None },
            // Those of a bond are the sums of its interfaces', which are judged themselves.
            counters: if is_bond { Counters::default() } else { self.counters() },
        })
    }

    /// An interface that is switched off is not missed.
    fn is_wanted(&self) -> Result<bool, ReadError> {
        const IFF_UP: u32 = 1;
        let flags = attribute::shown(&self.home.join("flags"))?.unwrap_or_default();
        Ok(u32::from_str_radix(flags.trim_start_matches("0x"), 16).is_ok_and(|flags| flags & IFF_UP != 0))
    }

    /// Linux 4.16 counts them; before, changes of both kinds.
    fn downs(&self) -> Option<u64> {
        self.number("carrier_down_count").or_else(|| Some(self.number("carrier_changes")? / 2))
    }

    /// A link of hypervisors is as fast as its host at the moment; that of a bond is the sum of what is up. Reading it takes
    /// the lock of all of the kernel's network settings.
    fn megabits(&self) -> Option<u32> {
        let bus = fs::read_link(self.home.join("device/subsystem")).ok();
        let bus = bus.as_deref().and_then(Path::file_name).and_then(|name| name.to_str());
        if matches!(bus, Some("virtio" | "vmbus" | "xen")) {
            return None;
        }
        // -1: unknown.
        self.text("speed").parse().ok().filter(|speed| *speed > 0)
    }

    fn counters(&self) -> Counters {
        let count = |name: &str| self.number(&format!("statistics/{name}"));
        let sum = |names: [&str; 2]| names.into_iter().filter_map(count).fold(0, u64::saturating_add);
        Counters {
            packets: sum(["rx_packets", "tx_packets"]),
            errors: sum(["rx_errors", "tx_errors"]),
            missed: count("rx_missed_errors").unwrap_or_default(),
            kinds: KINDS.iter().filter_map(|name| Some(((*name).to_owned(), count(name)?))).collect(),
        }
    }

    /// Whether it, or what lies upon it (a VLAN, a bridge), has an address or a route. What lies upon a bond is the bond's.
    fn is_used(&self, tables: &Tables) -> bool {
        let (mut seen, mut edge) = (BTreeSet::new(), vec![self.name.to_owned()]);
        for _ in 0..DEEPEST {
            if edge.iter().any(|name| tables.used.contains(name)) {
                return true;
            }
            seen.extend(edge.iter().cloned());
            edge = edge.iter().flat_map(|name| self.above(name)).filter(|name| !seen.contains(name)).collect();
        }
        false
    }

    fn above(&self, name: &str) -> Vec<String> {
        let uppers = neighbours(&self.class.join(name), "upper_");
        uppers.into_iter().filter(|upper| !self.class.join(upper).join("bonding").is_dir()).collect()
    }

    fn bond(&self) -> Result<BondReading, ReadError> {
        let slaves = attribute::shown(&self.home.join("bonding/slaves"))?.unwrap_or_default();
        let slaves = slaves.split_ascii_whitespace().map(|name| (name.to_owned(), slave(&self.class.join(name))));
        Ok(BondReading {
            is_wanted: self.is_wanted()?,
            // `802.3ad 4`: its name and number.
            mode: self.text("bonding/mode").split_ascii_whitespace().next().unwrap_or_default().to_owned(),
            aggregator: self.small("bonding/ad_aggregator"),
            slaves: slaves.collect(),
        })
    }

    fn has(&self, name: &str) -> Result<bool, ReadError> {
        attribute::is_there(&self.home.join(name))
    }

    /// A VXLAN device that was made upon a link reports it (Linux 5.5).
    fn tunnel(&self) -> Option<TunnelReading> {
        let lowers = neighbours(&self.home, "lower_");
        let [lower] = &lowers[..] else { return None };
        let lower_mtu = attribute::number(&self.class.join(lower).join("mtu"))?;
        Some(TunnelReading { mtu: self.small("mtu")?, lower: lower.clone(), lower_mtu: u32::try_from(lower_mtu).ok()? })
    }

    /// What cannot be read counts as empty: kinds of interfaces differ in what they have.
    fn text(&self, name: &str) -> String {
        text(&self.home.join(name))
    }

    fn number(&self, name: &str) -> Option<u64> {
        attribute::number(&self.home.join(name))
    }

    fn small(&self, name: &str) -> Option<u32> {
        u32::try_from(self.number(name)?).ok()
    }
}

fn slave(home: &Path) -> Slave {
    let number =
        |name| attribute::number(&home.join("bonding_slave").join(name)).and_then(|number| u32::try_from(number).ok());
    Slave {
        monitor: text(&home.join("bonding_slave/mii_status")),
        aggregator: number("ad_aggregator_id"),
        actor: number("ad_actor_oper_port_state"),
    }
}

/// `upper_br0`, `lower_eth0`: links to what lies above and below.
fn neighbours(home: &Path, prefix: &str) -> Vec<String> {
    let entries = home.read_dir().into_iter().flatten().flatten();
    entries.filter_map(|entry| Some(entry.file_name().to_str()?.strip_prefix(prefix)?.to_owned())).collect()
}

fn text(path: &Path) -> String {
    attribute::text(path).ok().flatten().unwrap_or_default().trim().to_owned()
}

fn gone(path: &Path) -> ReadError {
    ReadError::Gone { what: path.display().to_string() }
}

#[cfg(test)]
mod tests;
