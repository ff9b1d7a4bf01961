//! What travels from the worker to the judge: one reading of all links, one of the resolver.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// Everything but names.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct LinksReading {
    pub(crate) routes: Routes,
    pub(crate) interfaces: BTreeMap<String, Interface>,
    pub(crate) bonds: BTreeMap<String, BondReading>,
    pub(crate) tunnels: BTreeMap<String, TunnelReading>,
}

/// The interfaces of the default routes; `None` where the kernel shows no table.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Routes {
    pub(crate) ipv4: Option<BTreeSet<String>>,
    pub(crate) ipv6: Option<BTreeSet<String>>,
    /// Whether all of IPv6's were made by the kernel, as a router advertised them.
    pub(crate) is_advertised: bool,
}

/// A card's interface, or a bond.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Interface {
    /// Whether the operator wants it up (`ip link set … up`).
    pub(crate) is_wanted: bool,
    pub(crate) has_carrier: bool,
    /// Whether it, or what lies upon it, has an address or a route.
    pub(crate) is_used: bool,
    /// Whether it is one of a bond's.
    pub(crate) is_bonded: bool,
    /// Whether the fabric monitor judges its port.
    pub(crate) is_fabric: bool,
    /// How often its carrier went, since it was made.
    pub(crate) downs: Option<u64>,
    pub(crate) megabits: Option<u32>,
    pub(crate) counters: Counters,
}

/// Documentation/networking/statistics.rst: `rx_errors` and `tx_errors` count every damaged packet, drops none of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Counters {
    pub(crate) packets: u64,
    pub(crate) errors: u64,
    /// What the card had no buffer for.
    pub(crate) missed: u64,
    /// The kinds of errors, by their file names.
    pub(crate) kinds: BTreeMap<String, u64>,
}

/// A bond and what it is made of.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct BondReading {
    pub(crate) is_wanted: bool,
    /// `802.3ad`, `active-backup`.
    pub(crate) mode: String,
    /// The one of its aggregators that is in use (802.3ad).
    pub(crate) aggregator: Option<u32>,
    pub(crate) slaves: BTreeMap<String, Slave>,
}

/// One interface of a bond.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Slave {
    /// `up`, `going down`, `down`, `going back`: the bond's own monitor; empty if it reports nothing.
    pub(crate) monitor: String,
    pub(crate) aggregator: Option<u32>,
    /// Its LACP state (IEEE 802.1AX 6.4.2.3, Actor_State).
    pub(crate) actor: Option<u32>,
}

/// A tunnel whose packets leave by a link that is known.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct TunnelReading {
    pub(crate) mtu: u32,
    pub(crate) lower: String,
    pub(crate) lower_mtu: u32,
}

/// What the resolver answered.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct NamesReading {
    /// Another number: asked again.
    pub(crate) serial: u64,
    pub(crate) name: String,
    /// `None`: it answered, be it that there is no such name.
    pub(crate) error: Option<String>,
    pub(crate) millis: u64,
}
