//! What one look at the host brings.

use std::collections::BTreeMap;

use nodewell_model::inventory::{Component, ComponentClass, NodeFacts};
use serde::{Deserialize, Serialize};

/// The host is one device: its parts are compared together.
pub(super) const ALL: &str = "inventory";

/// More of one class has no node; a class with more is not compared, because what is cut off would look lost.
pub(super) const LIMIT: usize = 512;

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct InventoryReading {
    /// A virtual machine: its sizes are set, and its devices are plugged in and out by its owner.
    pub(super) is_virtual: bool,
    /// Which machine it is; nothing goes out of the check process but what is in `facts`.
    pub(super) uuid: String,
    pub(super) facts: NodeFacts,
    /// Addresses of controllers whose disks this kernel does not show.
    pub(super) hidden: Vec<String>,
    /// A class that cannot be read is not in it: nothing of it is missing, and nothing is there.
    pub(super) classes: BTreeMap<ComponentClass, Vec<Component>>,
}

impl InventoryReading {
    /// Adds a class, in the order of its slots.
    pub(super) fn add(&mut self, class: ComponentClass, components: Option<Vec<Component>>) {
        let Some(mut components) = components.filter(|components| components.len() <= LIMIT) else { return };
        components.sort_by(|one, other| (&one.slot, &one.serial).cmp(&(&other.slot, &other.serial)));
        self.classes.insert(class, components);
    }
}
