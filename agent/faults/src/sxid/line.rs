//! The two lines that show an SXid: the driver's, and the one of the fabric manager's log.

use crate::pci;

/// One such line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The switch's PCI address, as the kernel writes it.
    pub address: String,
    pub code: u32,
    /// As the line states it.
    pub is_fatal: Option<bool>,
    /// The link or port it is about.
    pub link: Option<u32>,
}

impl Line {
    /// Reads a line of either kind. `None` also for those that only go on about the SXid of the line before them:
    /// `…: 20034, Data {0x…}` and `…: 12028, Severity 0 Engine instance 32 …`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text.starts_with("nvidia-nvswitch") { Self::of_driver(text) } else { Self::of_fabric_manager(text) }
    }

    /// `nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 24007, Fatal, Link 28 sourcetrack timeout error (First)`
    fn of_driver(text: &str) -> Option<Self> {
        let (_, rest) = text.split_once(": SXid (PCI:")?;
        let (address, rest) = rest.split_once("): ")?;
        let (code, rest) = rest.split_at(rest.bytes().take_while(u8::is_ascii_digit).count());
        let ended = rest.is_empty() || rest.starts_with([',', ' ', '\n']);
        let words = rest.trim_start_matches([',', ' ']);
        if !ended || words.starts_with("Data {") || words.starts_with("Severity ") {
            return None;
        }
        let word = words.split(',').next().unwrap_or_default();
        Some(Self {
            address: pci::address(address)?,
            code: positive(code)?,
            is_fatal: fatality(word),
            link: after(words, "Link "),
        })
    }

    /// `… detected NVSwitch non-fatal error 12028 on fid 0 on NVSwitch pci bus id 00000000:86:00.0 physical id 3 port 61`
    fn of_fabric_manager(text: &str) -> Option<Self> {
        let (_, rest) = text.split_once("detected NVSwitch ")?;
        let (word, rest) = rest.split_once(" error ")?;
        let (code, rest) = rest.split_once(' ')?;
        let (_, place) = rest.split_once("pci bus id ")?;
        let address = place.split(' ').next().and_then(pci::address)?;
        Some(Self { address, code: positive(code)?, is_fatal: fatality(word), link: after(place, "port ") })
    }
}

fn positive(digits: &str) -> Option<u32> {
    digits.parse().ok().filter(|code| *code > 0)
}

fn fatality(word: &str) -> Option<bool> {
    match word.trim().to_ascii_lowercase().as_str() {
        "fatal" => Some(true),
        "non-fatal" | "nonfatal" => Some(false),
        _ => None,
    }
}

/// The number behind `name`.
fn after(words: &str, name: &str) -> Option<u32> {
    let (_, rest) = words.split_once(name)?;
    let digits = &rest[..rest.bytes().take_while(u8::is_ascii_digit).count()];
    digits.parse().ok()
}
