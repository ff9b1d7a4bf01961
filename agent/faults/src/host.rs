//! What is known of the host beside a line of its log, and decides what the line means.

use std::collections::BTreeSet;

use crate::Branch;

/// A host, as far as it is known; the default knows nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Host {
    /// The branch of NVIDIA's driver.
    pub branch: Option<Branch>,
    /// The PCI addresses of its GPUs of the Hopper generation, as the kernel writes them.
    pub hoppers: BTreeSet<String>,
}

/// Whether a PCI device is a GPU of the Hopper generation, by the files `vendor` and `device` of sysfs (`0x10de`,
/// `0x2330`). GH100 has the numbers from 2300 to 23ff (pci.ids); its NVSwitches have others.
#[must_use]
pub fn is_hopper(vendor: &str, device: &str) -> bool {
    let number = device.trim().strip_prefix("0x").and_then(|digits| u16::from_str_radix(digits, 16).ok());
    vendor.trim() == "0x10de" && number.is_some_and(|number| number >> 8 == 0x23)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hoppers_are_known_by_their_number() {
        assert!(is_hopper("0x10de\n", "0x2330\n"), "H100 SXM5");
        assert!(is_hopper("0x10de\n", "0x2335\n"), "H200");
        // An A100, a switch of H100s, another vendor, nothing.
        let others = [("0x10de", "0x20b2"), ("0x10de", "0x22a3"), ("0x1002", "0x2330"), ("0x10de", ""), ("", "0x2330")];
        for (vendor, device) in others {
            assert!(!is_hopper(vendor, device), "{vendor} {device}");
        }
    }
}
