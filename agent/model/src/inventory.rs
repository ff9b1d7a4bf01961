//! What hardware a node has, boot after boot: the answer to `GET /v1/inventory`, and what a person accepts of it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// What is compared by itself: a class that cannot be read says nothing of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ComponentClass {
    Memory,
    Cpu,
    MemoryModule,
    Disk,
    NetworkCard,
    Accelerator,
}

impl ComponentClass {
    /// For people, and the start of its components' names.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Cpu => "CPUs",
            Self::MemoryModule => "memory module",
            Self::Disk => "disk",
            Self::NetworkCard => "network card",
            Self::Accelerator => "accelerator",
        }
    }

    /// Whether there is one of it, of which only the amount is compared.
    #[must_use]
    pub fn is_amount(self) -> bool {
        matches!(self, Self::Memory | Self::Cpu)
    }
}

/// One component, as the host shows it; what it does not show is empty.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Component {
    /// What it is known by in whatever slot: a serial number, a WWN, a permanent MAC address.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub serial: String,
    /// Where it is: `DIMM_A1`, a PCI address.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub slot: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub model: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub firmware: String,
    /// The kernel's driver, with its version where it has one of its own.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub driver: String,
    /// MiB of memory and of its modules, the number of CPUs; 0 for others.
    #[serde(skip_serializing_if = "is_zero")]
    pub amount: u64,
}

impl Component {
    /// The subject of its problem, and what `nodewell inventory accept` takes.
    #[must_use]
    pub fn name(&self, class: ComponentClass) -> String {
        let by_serial = class == ComponentClass::Disk && !self.serial.is_empty();
        let id = if by_serial || self.slot.is_empty() { &self.serial } else { &self.slot };
        format!("{} {id}", class.as_str()).trim_end().to_owned()
    }
}

/// Facts by which the nodes of a fleet are compared; what a node does not show is empty.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeFacts {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub bios_date: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub bios_vendor: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub bios_version: String,
    /// `uname -r`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kernel: String,
    /// The revision that the first CPU runs.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub microcode: String,
    /// The version of NVIDIA's kernel module.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub nvidia_driver: String,
    /// The machine, as its firmware calls it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub product: String,
}

/// One component, and whether it is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComponentView {
    pub class: ComponentClass,
    pub name: String,
    #[serde(flatten)]
    pub component: Component,
    /// It is accepted, and not there since an earlier boot; of memory and CPUs: there is less than is accepted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub missing: bool,
    /// Of a missing one, to the hour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_seen: Option<Timestamp>,
    /// Of memory and CPUs of which there is less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<u64>,
}

/// The whole of it; empty before the first look.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct InventoryView {
    pub components: Vec<ComponentView>,
    pub facts: NodeFacts,
    /// When the host was looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<Timestamp>,
    /// Only memory and CPUs are compared, if anything is.
    #[serde(rename = "virtual", skip_serializing_if = "std::ops::Not::not")]
    pub is_virtual: bool,
}

impl InventoryView {
    /// What is missing.
    pub fn missing(&self) -> impl Iterator<Item = &ComponentView> {
        self.components.iter().filter(|component| component.missing)
    }
}

/// That a person knows of missing components, and that they will not come back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acceptance {
    /// It holds for what this boot misses.
    pub boot_id: String,
    pub time: Timestamp,
    /// Exactly these: what is lost later is not accepted by it.
    pub names: Vec<String>,
    /// Who, for the Event.
    pub by: String,
}

fn is_zero(amount: &u64) -> bool {
    *amount == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn component(serial: &str, slot: &str) -> Component {
        Component { serial: serial.to_owned(), slot: slot.to_owned(), ..Component::default() }
    }

    #[test]
    fn a_name_is_what_a_person_looks_for() {
        for (class, serial, slot, expected) in [
            (ComponentClass::Disk, "S3X1", "0000:01:00.0", "disk S3X1"),
            (ComponentClass::Disk, "", "0000:01:00.0", "disk 0000:01:00.0"),
            (ComponentClass::MemoryModule, "77", "DIMM_A1", "memory module DIMM_A1"),
            (ComponentClass::MemoryModule, "77", "", "memory module 77"),
            (ComponentClass::NetworkCard, "02:00:00:00:00:01", "0000:3b:00.0", "network card 0000:3b:00.0"),
            (ComponentClass::Memory, "", "", "memory"),
        ] {
            assert_eq!(component(serial, slot).name(class), expected);
        }
    }

    #[test]
    fn a_view_is_read_as_it_was_written() {
        let gone = ComponentView {
            class: ComponentClass::Disk,
            name: "disk S3X1".to_owned(),
            component: component("S3X1", "0000:01:00.0"),
            missing: true,
            last_seen: Some(Timestamp::UNIX_EPOCH),
            accepted: None,
        };
        let view = InventoryView { components: vec![gone], is_virtual: true, ..InventoryView::default() };
        let text = serde_json::to_string(&view).unwrap();
        assert_eq!(serde_json::from_str::<InventoryView>(&text).unwrap(), view, "{text}");
        assert_eq!(view.missing().count(), 1);
        assert_eq!(serde_json::to_string(&InventoryView::default()).unwrap(), r#"{"components":[],"facts":{}}"#);
    }
}
