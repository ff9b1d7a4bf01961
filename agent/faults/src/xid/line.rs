//! The driver's line for an Xid: `NVRM: Xid (PCI:0000:05:00): 79, pid=…, name=…, GPU has fallen off the bus.`

use crate::{nvlink5::Report, pci};

/// One such line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line<'a> {
    /// The GPU's PCI address, as the kernel writes it.
    pub address: String,
    pub code: u32,
    /// What follows the code.
    pub rest: &'a str,
}

impl<'a> Line<'a> {
    /// Reads a record of the kernel log. Takes addresses with and without a function, a MIG instance beside the address
    /// (`PCI:0000:01:00 GPU-I:05`), and lines that end at the code.
    #[must_use]
    pub fn parse(text: &'a str) -> Option<Self> {
        let (place, rest) = text.strip_prefix("NVRM: Xid (")?.split_once("): ")?;
        let address = place.split(' ').next()?;
        let address = pci::address(address.strip_prefix("PCI:").unwrap_or(address))?;
        let (code, rest) = rest.split_at(rest.bytes().take_while(u8::is_ascii_digit).count());
        let ended = rest.is_empty() || rest.starts_with([',', ' ', '\n']);
        let code = code.parse().ok().filter(|code| *code > 0)?;
        ended.then(|| Self { address, code, rest: rest.trim_start_matches([',', ' ']) })
    }

    /// What an Xid of NVLink 5 reports of its unit; `None` for other Xids and wordings.
    #[must_use]
    pub fn nvlink5(&self) -> Option<Report<'a>> {
        if (144..=150).contains(&self.code) { Report::parse(self.rest) } else { None }
    }
}
