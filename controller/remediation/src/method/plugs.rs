//! Plugs: what a method turns off, and for which node. Of two nodes with one plug, turning off the one turns off the other.

use std::collections::{BTreeMap, BTreeSet};

use super::{AgentAction, ValidatedMethod, ValidatedMethods, forbidden};
use crate::snapshot::Level;

/// What is turned off: the address a method talks to, and the outlet, machine or system there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Plug(Vec<String>);

/// The options that distinguish one machine from another, by the agents' preferred names.
const MACHINE_OPTIONS: [&str; 10] =
    ["ip", "ipport", "region", "project", "zone", "resourceGroup", "plug", "systems_uri", "target", "switch"];
/// Options that select the scope in which a plug's name is looked up, such as a namespace: with another scope the same name
/// is another machine. They are no part of a [`Plug`], for two scopes may have one machine.
const SCOPE_OPTIONS: [&str; 6] = ["managed", "namespace", "pve_node", "suborg", "subscriptionId", "vmware_datacenter"];
/// Options that are left out of a [`Plug`] where they have a port that agents use by default.
const PORT_OPTIONS: [&str; 1] = ["ipport"];

impl Plug {
    /// As the pin `outlets` names it: address/outlet.
    #[must_use]
    pub fn outlet(&self) -> String {
        let values = self.0.iter().map(|part| part.split_once('=').map_or(part.as_str(), |(_, value)| value));
        values.map(as_word).collect::<Vec<_>>().join("/")
    }

    /// The plugs of a call: agent, address, outlet. Agents that are links to one another (`fence_ilo4`,
    /// `fence_ipmilan`) talk to the same address, so the agent's name is no part of a plug that has an address.
    #[must_use]
    pub fn of(call: &ValidatedMethod) -> Vec<Self> {
        let separator = call.options.get("plug_separator").map_or(",", String::as_str);
        match call.options.get("plug") {
            // Each of them is turned off.
            Some(plugs) if !separator.is_empty() => {
                plugs.split(separator).map(|plug| Self::at(call, Some(plug))).collect()
            }
            plug => vec![Self::at(call, plug.map(String::as_str))],
        }
    }

    /// As whom the node is known where a call cuts it off a storage. A switch has an address and ports, as a PDU has. Which
    /// options of another agent name the node is not known: only those that have all in common are one.
    fn of_storage(call: &ValidatedMethod) -> Vec<Self> {
        if call.options.contains_key("ip") && call.options.contains_key("plug") {
            return Self::of(call);
        }
        let named = call.options.iter().find(|(name, _)| forbidden::is_reservation_key(&call.agent, name));
        let Some((_, who)) = named else {
            let all = call.options.iter().map(|(name, value)| format!("{name}={value}"));
            return vec![Self(std::iter::once(call.agent.clone()).chain(all).collect())];
        };
        let at = |device: &str| Self(vec![call.agent.clone(), who.clone(), device.to_owned()]);
        match call.options.get("devices") {
            Some(devices) => devices.split([',', ' ']).filter(|device| !device.is_empty()).map(at).collect(),
            None => vec![at("")],
        }
    }

    fn at(call: &ValidatedMethod, plug: Option<&str>) -> Self {
        let mut parts = Vec::new();
        if !call.options.contains_key("ip") {
            parts.push(call.agent.clone());
        }
        for name in MACHINE_OPTIONS {
            let given = if name == "plug" { plug } else { call.options.get(name).map(String::as_str) };
            let Some(value) = given else { continue };
            if PORT_OPTIONS.contains(&name) && is_default_port(value) {
                continue;
            }
            parts.push(format!("{name}={}", value.trim().trim_end_matches('/').to_ascii_lowercase()));
        }
        Self(parts)
    }
}

/// Whether another value of the option is, or may be, another machine.
pub(super) fn distinguishes_machines(agent: &str, option: &str) -> bool {
    MACHINE_OPTIONS.contains(&option) || selects_scope(agent, option)
}

fn selects_scope(agent: &str, option: &str) -> bool {
    SCOPE_OPTIONS.contains(&option) || forbidden::names_node(agent, option)
}

/// A call's plugs as the pin `outlets` names them, with the scope where a label of the node selects that.
pub(super) fn outlets(call: &ValidatedMethod) -> Vec<String> {
    let chosen = call.from_label.iter().filter(|name| selects_scope(&call.agent, name));
    let more: Vec<String> = chosen.filter_map(|name| call.options.get(name)).map(|value| as_word(value)).collect();
    let whole = |plug: &Plug| std::iter::once(plug.outlet()).chain(more.clone()).collect::<Vec<_>>().join("/");
    Plug::of(call).iter().map(whole).collect()
}

/// As one word of the line `outlets=…`.
fn as_word(value: &str) -> String {
    value.trim_start_matches('/').to_ascii_lowercase().replace(char::is_whitespace, "_")
}

/// Where an agent sends its password: the values of options that name a host, with an unusual port, or the agent itself
/// where it knows its provider. A `region` is a part of the provider's own name, and `api_path` of a URL on the host:
/// neither leads elsewhere as long as [`super::check_value`] accepts it.
#[must_use]
pub fn destinations(call: &ValidatedMethod) -> Vec<String> {
    let is_host = |name: &str| {
        name == "ip"
            || name == "target"
            || ["_url", "_endpoint"].iter().any(|end| name.ends_with(end))
            || is_proxy(name)
    };
    let given = call.options.iter().filter(|(name, _)| is_host(name));
    let mut all: Vec<String> = given.map(|(name, value)| with_port(call, name, value)).collect();
    if all.is_empty() || call.options.keys().all(|name| !is_host(name) || is_proxy(name)) {
        all.push(call.agent.clone());
    }
    all
}

/// Another program may listen at another port of the same host.
fn with_port(call: &ValidatedMethod, name: &str, value: &str) -> String {
    let host = value.trim().to_ascii_lowercase();
    let port = match name {
        "ip" => call.options.get("ipport"),
        "proxyhost" => call.options.get("proxyport"),
        _ => None,
    };
    match port.map(|port| port.trim()).filter(|port| !is_default_port(port)) {
        Some(port) if host.contains(':') && !host.starts_with('[') => format!("[{host}]:{port}"),
        Some(port) => format!("{host}:{port}"),
        None => host,
    }
}

fn is_proxy(name: &str) -> bool {
    name == "proxy" || name == "proxyhost"
}

/// Ports that agents have by default: given or not, they are the same.
fn is_default_port(port: &str) -> bool {
    ["22", "23", "80", "161", "443", "623"].contains(&port)
}

fn of<'a>(calls: impl Iterator<Item = &'a ValidatedMethod>) -> BTreeSet<Plug> {
    calls.flat_map(|call| if call.storage.is_some() { Plug::of_storage(call) } else { Plug::of(call) }).collect()
}

/// The plugs of all nodes that were read, by node.
#[derive(Debug, Clone, Default)]
pub struct Plugs {
    nodes: BTreeMap<String, BTreeSet<Plug>>,
}

impl Plugs {
    /// Replaces what is known of the node.
    pub fn set(&mut self, validated: &ValidatedMethods) {
        self.nodes.insert(validated.node.clone(), of(validated.power_of_all(AgentAction::Off)));
    }

    /// The node, or its configuration, is gone.
    pub fn forget(&mut self, node: &str) {
        self.nodes.remove(node);
    }

    /// Checks that no other node has, at any level, a plug of this level of the node.
    ///
    /// # Errors
    /// The nodes that would be turned off together.
    pub fn check_unshared(&self, validated: &ValidatedMethods, level: Level) -> Result<(), String> {
        let node = validated.node.as_str();
        let plugs = of(validated.power(level, AgentAction::Off));
        let others = self.nodes.iter().filter(|(name, other)| *name != node && !other.is_disjoint(&plugs));
        let names: Vec<&str> = others.map(|(name, _)| name.as_str()).collect();
        if names.is_empty() {
            return Ok(());
        }
        Err(format!(
            "{node} and {} are on one plug (same address and outlet, or same storage and key); neither is fenced: correct the plug in \
             the ConfigMaps of one",
            names.join(", ")
        ))
    }
}
