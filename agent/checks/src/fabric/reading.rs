//! What one port of a fabric reports: the reading that travels from the worker to the judge.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One port.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PortReading {
    /// The card's `node_guid`: it stays when the port is renamed, and goes with the card.
    pub guid: String,
    /// `InfiniBand`, `Ethernet`.
    pub link_layer: String,
    /// 1 down, 2 initialized, 3 armed, 4 active, 5 active defer (InfiniBand Architecture Specification, PortState).
    pub state: u8,
    /// 2 polling, 3 disabled, 5 link up, 6 error recovery (PortPhysicalState).
    pub physical: u8,
    #[serde(default)]
    pub rate: Rate,
    /// By their file names, those that the card has.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<String, u64>,
    /// What the driver counts of its own: shown, not judged.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub hw_counters: BTreeMap<String, u64>,
    /// The same of the card as a whole.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub card_hw_counters: BTreeMap<String, u64>,
    /// The card's PCI address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The card's file for programs, below /dev, if the kernel has the device and the file is not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing_file: Option<String>,
    /// The network interface that it belongs to, if this network namespace has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<Interface>,
}

/// A port's rate.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Rate {
    /// Tenths of a gigabit a second: lanes times speed; zero if unknown.
    pub tenths: u32,
    /// As the kernel writes it: `400 Gb/sec (4X NDR)`.
    pub text: String,
}

/// The network interface of a port.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Interface {
    pub name: String,
    /// Whether an administrator wants it up (`ip link set … up`).
    pub is_wanted: bool,
    /// How often its carrier went, since it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carrier_downs: Option<u64>,
}

impl PortReading {
    /// Whether data can flow.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.state >= 4
    }

    #[must_use]
    pub fn is_ethernet(&self) -> bool {
        self.link_layer == "Ethernet"
    }

    /// Whether an administrator switched it off. A port on Ethernet reports `Disabled` whenever it is down: there, only
    /// its interface knows. Where that is elsewhere, the port counts as switched off.
    #[must_use]
    pub fn is_switched_off(&self) -> bool {
        const DISABLED: u8 = 3;
        if self.is_ethernet() {
            return self.interface.as_ref().is_none_or(|interface| !interface.is_wanted);
        }
        self.physical == DISABLED
    }
}

/// Reads the number before the colon of `4: ACTIVE`; zero for what has none.
#[must_use]
pub fn parse_number(text: &str) -> u8 {
    text.split_once(':').and_then(|(number, _)| number.trim().parse().ok()).unwrap_or(0)
}

/// Reads `400 Gb/sec (4X NDR)`, `2.5 Gb/sec (1X SDR)`.
#[must_use]
pub fn parse_rate(text: &str) -> Rate {
    let text = text.trim();
    let tenths = text.split_once(" Gb/sec").and_then(|(figure, _)| tenths(figure)).unwrap_or(0);
    Rate { tenths, text: text.to_owned() }
}

fn tenths(figure: &str) -> Option<u32> {
    // 12X at the fastest lane of the specification's plans is below 10 Tb/s: more is no rate.
    const MOST: u32 = 10_000;
    let (whole, part) = figure.split_once('.').unwrap_or((figure, "0"));
    let (whole, part): (u32, u32) = (whole.parse().ok()?, part.parse().ok()?);
    (whole <= MOST && part <= 9).then(|| whole * 10 + part)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn states_are_read_by_their_number() {
        let pairs =
            [("4: ACTIVE\n", 4), ("1: DOWN", 1), ("5: LinkUp", 5), ("", 0), ("ACTIVE", 0), ("4", 0), ("999: X", 0)];
        for (text, number) in pairs {
            assert_eq!(parse_number(text), number, "{text:?}");
        }
    }

    #[test]
    fn rates_are_read_in_tenths() {
        let pairs = [
            ("400 Gb/sec (4X NDR)\n", 4_000),
            ("2.5 Gb/sec (1X SDR)", 25),
            ("0 Gb/sec", 0),
            ("fast", 0),
            ("99999999 Gb/sec", 0),
        ];
        for (text, tenths) in pairs {
            assert_eq!(parse_rate(text).tenths, tenths, "{text:?}");
        }
        assert_eq!(parse_rate("100 Gb/sec (4X EDR)\n").text, "100 Gb/sec (4X EDR)");
    }

    #[test]
    fn who_switched_a_port_off_depends_on_its_link_layer() {
        let port = |link_layer: &str, physical, wanted: Option<bool>| {
            let interface = wanted.map(|is_wanted| Interface { is_wanted, ..Interface::default() });
            PortReading { link_layer: link_layer.to_owned(), physical, interface, ..PortReading::default() }
        };
        assert!(port("InfiniBand", 3, None).is_switched_off());
        assert!(!port("InfiniBand", 2, None).is_switched_off());
        assert!(!port("Ethernet", 3, Some(true)).is_switched_off());
        assert!(port("Ethernet", 3, Some(false)).is_switched_off());
        assert!(port("Ethernet", 3, None).is_switched_off());
    }

    proptest! {
        #[test]
        fn no_text_is_too_bad(text in "(?s).{0,60}") {
            prop_assert!(text.contains(':') || parse_number(&text) == 0);
            prop_assert!(parse_rate(&text).tenths <= 100_009);
        }
    }
}
