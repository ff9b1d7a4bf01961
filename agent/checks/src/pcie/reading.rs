//! What one PCI Express device reports: the reading that travels from the worker to the judge.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One function of a device.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PcieReading {
    /// Vendor and device, as `lspci -n` shows them: `15b3:1021`.
    pub id: String,
    /// Base class, subclass and interface, 24 bits: `0x020700` is an InfiniBand controller.
    pub class: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// What its driver shows of what is printed on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The ports and bridges above it, the nearest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub above: Vec<String>,
    /// Asleep by run-time power management: asking it more would wake it.
    #[serde(default)]
    pub asleep: bool,
    /// The bus carries all ones where its vendor's number should be.
    #[serde(default)]
    pub mute: bool,
    /// Behind a port for what people plug in and out, such as USB4.
    #[serde(default)]
    pub removable: bool,
    /// The link to the port above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<Link>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aer: Option<Aer>,
    /// Fatal messages that a root port received from anywhere below it, or from itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_fatal: Option<u64>,
    /// The slots below a port; read once something has vanished.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slots: Vec<Slot>,
}

/// A link: what it runs at, and what its two ends can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    pub now: Lanes,
    pub device: Lanes,
    pub port: Lanes,
}

/// Width and speed; zero where the hardware does not report them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Lanes {
    pub width: u32,
    /// Megatransfers a second and lane: 16,000 is `16.0 GT/s PCIe`.
    pub speed: u32,
}

/// The kernel's error counters for a device, from zero at its enumeration.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Aer {
    pub correctable: Errors,
    pub nonfatal: Errors,
    pub fatal: Errors,
}

/// One of its files.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Errors {
    /// Messages; one may carry several kinds.
    pub total: u64,
    /// By the kernel's own names (`BadTLP`), without those that never happened.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kinds: BTreeMap<String, u64>,
}

/// A slot that the kernel can look at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slot {
    /// Domain, bus and device of what is in it: `0000:05:00`.
    pub address: String,
    /// Whether a card is in it; whether its power is on, for a slot that cannot report it.
    pub occupied: bool,
}

impl PcieReading {
    /// Graphics and accelerators (base classes 03h and 12h of the PCI Code and ID Assignment Specification): their
    /// drivers slow the link down while there is nothing to do.
    #[must_use]
    pub fn is_gpu(&self) -> bool {
        matches!(self.class >> 16, 0x03 | 0x12)
    }
}

/// Reads an `aer_dev_*` file: `Bad TLP 0`, `TOTAL_ERR_COR 2`, a line each (Documentation/ABI, sysfs-bus-pci-devices-aer).
/// `None` for what is none.
#[must_use]
pub fn parse_errors(text: &str) -> Option<Errors> {
    let mut errors = Errors::default();
    let mut total = None;
    let lines = text.lines().filter_map(|line| line.trim().rsplit_once(' '));
    let counts: Vec<_> = lines.filter_map(|(kind, count)| Some((kind.trim(), count.parse().ok()?))).collect();
    for (kind, count) in &counts {
        if kind.starts_with("TOTAL_ERR_") {
            total = Some(*count);
        } else if *count > 0 {
            errors.kinds.insert((*kind).to_owned(), *count);
        }
    }
    errors.total = total.unwrap_or_else(|| errors.kinds.values().fold(0, |sum: u64, count| sum.saturating_add(*count)));
    (!counts.is_empty()).then_some(errors)
}

/// Reads `16.0 GT/s PCIe`, of older kernels `8 GT/s`; zero for `Unknown`.
#[must_use]
pub fn parse_speed(text: &str) -> u32 {
    let Some((figure, "GT/s")) =
        text.trim().split_once(' ').map(|(figure, unit)| (figure, unit.trim_end_matches(" PCIe")))
    else {
        return 0;
    };
    let (whole, part) = figure.split_once('.').unwrap_or((figure, "0"));
    match (whole.parse::<u32>(), part.parse::<u32>()) {
        // 64 GT/s is PCI Express 6.0, 128 is 7.0: more is no speed.
        (Ok(whole), Ok(tenths)) if whole <= 256 && tenths <= 9 => whole * 1_000 + tenths * 100,
        _ => 0,
    }
}

/// Reads a width. A link has 1 to 32 lanes; 63 is all ones in the register's field, 255 the kernel's value for unknown.
#[must_use]
pub fn parse_width(text: &str) -> u32 {
    text.trim().parse().ok().filter(|width| (1..=32).contains(width)).unwrap_or(0)
}

#[cfg(test)]
mod tests;
