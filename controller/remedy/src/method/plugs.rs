//! Which node hangs on which plug. Two nodes on one plug: turning off the one turns off the other.

use std::collections::{BTreeMap, BTreeSet};

use super::{Act, Call, Ready};

/// What is turned off: the address a method talks to, and the outlet, machine or system there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Plug(Vec<String>);

/// The options that tell one machine from another, by the agents' preferred names.
const ADDRESS: [&str; 10] =
    ["ip", "ipport", "region", "project", "zone", "resourceGroup", "plug", "systems_uri", "target", "switch"];
/// Of these a different value is not a different machine for certain.
const DEFAULT_PORTS: [&str; 1] = ["ipport"];

impl Plug {
    /// The plugs of a call: agent, address, outlet. Agents that are links to one another (`fence_ilo4`,
    /// `fence_ipmilan`) talk to the same address, so an agent with an address of its own does not count by its name.
    #[must_use]
    pub fn of(call: &Call) -> Vec<Self> {
        let separator = call.options.get("plug_separator").map_or(",", String::as_str);
        match call.options.get("plug") {
            // Each of them is turned off.
            Some(plugs) if !separator.is_empty() => {
                plugs.split(separator).map(|plug| Self::at(call, Some(plug))).collect()
            }
            plug => vec![Self::at(call, plug.map(String::as_str))],
        }
    }

    fn at(call: &Call, plug: Option<&str>) -> Self {
        let mut parts = Vec::new();
        if !call.options.contains_key("ip") {
            parts.push(call.agent.clone());
        }
        for name in ADDRESS {
            let given = if name == "plug" { plug } else { call.options.get(name).map(String::as_str) };
            let Some(value) = given else { continue };
            if DEFAULT_PORTS.contains(&name) && is_usual(value) {
                continue;
            }
            parts.push(format!("{name}={}", value.trim().trim_end_matches('/').to_ascii_lowercase()));
        }
        Self(parts)
    }
}

/// Ports that agents have by default: given or not, they are the same.
fn is_usual(port: &str) -> bool {
    ["22", "23", "80", "161", "443", "623"].contains(&port)
}

/// The plugs of all nodes that were read, by node.
#[derive(Debug, Clone, Default)]
pub struct Plugs {
    nodes: BTreeMap<String, BTreeSet<Plug>>,
}

impl Plugs {
    /// Replaces what is known of the node.
    pub fn set(&mut self, ready: &Ready) {
        let plugs = ready.power(Act::Off).filter(|call| call.storage.is_none()).flat_map(Plug::of).collect();
        self.nodes.insert(ready.node.clone(), plugs);
    }

    /// Its configuration, or the node, is gone.
    pub fn forget(&mut self, node: &str) {
        self.nodes.remove(node);
    }

    /// Nodes that are turned off with this one.
    ///
    /// # Errors
    /// Names both.
    pub fn alone(&self, node: &str) -> Result<(), String> {
        let Some(plugs) = self.nodes.get(node) else { return Ok(()) };
        let others = self.nodes.iter().filter(|(name, other)| *name != node && !other.is_disjoint(plugs));
        let names: Vec<&str> = others.map(|(name, _)| name.as_str()).collect();
        if names.is_empty() {
            return Ok(());
        }
        Err(format!(
            "{node} and {} are on one plug (same address and outlet); neither is fenced: correct the plug in the ConfigMaps of one",
            names.join(", ")
        ))
    }
}
