//! Pins: what a person has written into the node's own ConfigMap to say which machine is the node's (`system_uuid`,
//! `outlets`). A kubelet chooses its Node's labels, addresses and systemUUID: they may contradict a pin, and never replace
//! it.

use std::{collections::BTreeSet, fmt};

use super::{AgentAction, IdentityMethod, Unproven, ValidatedMethod, ValidatedMethods, compare, guid_of, plugs};
use crate::facts::Node;

/// The keys of `config.properties` that pin a machine.
pub(super) const SYSTEM_UUID: [&str; 2] = ["system_uuid", "system-uuid"];
pub(super) const OUTLETS: &str = "outlets";

/// A node's pins, and the ConfigMap that has them, or should.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Pins {
    /// The name of the node's own ConfigMap.
    pub map: String,
    /// The machine's UUID, which is what its BMC reports.
    pub system_uuid: Option<String>,
    /// Every outlet of a PDU (or port of a switch) that powers the node: none of these can report whose it is.
    pub outlets: Option<BTreeSet<String>>,
}

/// A pin is missing or wrong: what to write, if the machine is this node's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unpinned {
    /// What was found, as text.
    pub found: String,
    /// The line of `config.properties`.
    pub line: String,
    pub map: String,
}

impl fmt::Display for Unpinned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { found, line, map } = self;
        write!(f, "{found}; if that is so, write {line} into config.properties of the ConfigMap {map}")
    }
}

impl std::error::Error for Unpinned {}

impl Pins {
    /// Checks that the kubelet does not report another `systemUUID` than the pin.
    ///
    /// # Errors
    /// It does, or the pin names no machine.
    pub fn check_reported_uuid(&self, node: &Node) -> Result<(), String> {
        let Some(pin) = &self.system_uuid else { return Ok(()) };
        if guid_of(pin).is_none() {
            return Err(format!("system_uuid of the ConfigMap {} is {pin:?}, which names no machine", self.map));
        }
        match compare(&node.system_uuid, pin) {
            Err(Unproven::Mismatch { bmc: reported, node: pinned }) => Err(format!(
                "the kubelet says that its machine is {reported}, the ConfigMap {} that it is {pinned}: the node is on another \
                 machine, or the pin is wrong; correct system_uuid, and with it what turns the machine off",
                self.map
            )),
            // The kubelet reports nothing that could contradict the pin.
            _ => Ok(()),
        }
    }

    /// What to write if a BMC that reports `guid` is the node's.
    #[must_use]
    pub fn unpinned(&self, node: &Node, guid: &str) -> Unpinned {
        let guid = guid_of(guid).map_or_else(|| guid.trim().to_owned(), super::identity::show);
        let kubelet = &node.system_uuid;
        let found = format!(
            "no system_uuid= says whose BMC this is: it says that its machine is {guid}, the kubelet says {kubelet:?}, \
             which proves nothing"
        );
        Unpinned { found, line: format!("system_uuid={guid}"), map: self.map.clone() }
    }
}

impl ValidatedMethods {
    /// Compares the pin `outlets` with the node's methods. It has to name every outlet that a method turns off without being
    /// able to ask whose it is, and every one that a label of the node chose, in any step. The methods have to turn off every
    /// outlet that it names: one power supply that is forgotten leaves the machine on.
    ///
    /// # Errors
    /// They differ; what to write if the methods are right.
    pub fn check_outlet_pins(&self) -> Result<(), Unpinned> {
        let wanted: BTreeSet<String> =
            self.calls.values().filter(|call| self.cannot_be_asked(call)).flat_map(plugs::outlets).collect();
        let given = self.pins.outlets.clone().unwrap_or_default();
        let power = self.power_of_all(AgentAction::Off).filter(|call| call.storage.is_none());
        let all: BTreeSet<String> = power.flat_map(plugs::outlets).chain(wanted.iter().cloned()).collect();
        if wanted.is_subset(&given) && given.is_subset(&all) || all.is_empty() {
            return Ok(());
        }
        let text = |outlets: &BTreeSet<String>| outlets.iter().cloned().collect::<Vec<_>>().join(" ");
        let node = &self.node;
        let found = match &self.pins.outlets {
            None => format!("no outlets= says that {node} hangs on {} and on no other outlet", text(&wanted)),
            Some(given) => format!(
                "the ConfigMap {} says that {node} hangs on {}, and its methods turn {} off",
                self.pins.map,
                text(given),
                text(&all)
            ),
        };
        let right = if wanted.is_empty() { &all } else { &wanted };
        Err(Unpinned { found, line: format!("{OUTLETS}={}", text(right)), map: self.pins.map.clone() })
    }

    /// Only a person can say whose machine the call acts on: it cannot report that itself, or a label of the node chose it.
    /// Only methods of power management ask; the others act on what their options name.
    fn cannot_be_asked(&self, call: &ValidatedMethod) -> bool {
        let is_of_power = self.is_of_power(&call.name) && call.storage.is_none();
        match call.identity_method {
            IdentityMethod::Configured if is_of_power && call.actions.contains(&AgentAction::Off) => true,
            IdentityMethod::Asked if is_of_power => call.from_label.contains("plug"),
            IdentityMethod::Pinned(_) if is_of_power => false,
            _ => call.from_label.iter().any(|name| plugs::distinguishes_machines(&call.agent, name)),
        }
    }
}
