//! Whether two UUIDs are one machine's: what a BMC reports of the system it is in, against the pin in the node's ConfigMap.

use std::fmt::Write;

const BYTES: usize = 16;

/// Why a BMC is not believed to be a node's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unproven {
    #[error("the pin is {0:?}, which names no machine; write the GUID that its BMC says")]
    NodeUnknown(String),
    #[error("the BMC says {0:?}, which names no machine; pin it by system-uuid=GUID, or replace it")]
    BmcUnknown(String),
    #[error(
        "the BMC says that it is {bmc}, the node's pin is {node}; this is another machine's BMC, or one \
         with a GUID of its own, which system-uuid=GUID of the method pins"
    )]
    Mismatch { bmc: String, node: String },
}

/// The 16 bytes of a UUID, with or without dashes. All equal bytes name no machine: vendors leave 00… and ff….
#[must_use]
pub fn guid_of(text: &str) -> Option<[u8; BYTES]> {
    let hex: Vec<u8> = text.bytes().filter(|byte| !matches!(byte, b'-' | b' ' | b'\n' | b'\t' | b'\r')).collect();
    if hex.len() != 2 * BYTES {
        return None;
    }
    let mut guid = [0; BYTES];
    for (byte, pair) in guid.iter_mut().zip(hex.chunks_exact(2)) {
        let digit = |at: usize| char::from(pair[at]).to_digit(16);
        *byte = u8::try_from(digit(0)? * 16 + digit(1)?).ok()?;
    }
    guid.iter().any(|byte| *byte != guid[0]).then_some(guid)
}

/// Compares what a BMC reports with what names its node, in each order of bytes that firmware uses: as they are (RFC
/// 4122), all reversed (IPMI 2.0 §20.8), or the first three fields reversed (SMBIOS 2.6).
///
/// # Errors
/// They differ, or one of them names no machine.
pub fn compare(bmc: &str, node: &str) -> Result<(), Unproven> {
    let of_node = guid_of(node).ok_or_else(|| Unproven::NodeUnknown(node.to_owned()))?;
    let of_bmc = guid_of(bmc).ok_or_else(|| Unproven::BmcUnknown(bmc.trim().to_owned()))?;
    let reversed = {
        let mut bytes = of_bmc;
        bytes.reverse();
        bytes
    };
    let all = [of_bmc, reversed, fields_reversed(of_bmc), fields_reversed(reversed)];
    if all.contains(&of_node) {
        return Ok(());
    }
    Err(Unproven::Mismatch { bmc: show(of_bmc), node: show(of_node) })
}

fn fields_reversed(mut bytes: [u8; BYTES]) -> [u8; BYTES] {
    bytes[0..4].reverse();
    bytes[4..6].reverse();
    bytes[6..8].reverse();
    bytes
}

pub(super) fn show(bytes: [u8; BYTES]) -> String {
    let mut text = String::new();
    for (index, byte) in bytes.iter().enumerate() {
        if [4, 6, 8, 10].contains(&index) {
            text.push('-');
        }
        write!(text, "{byte:02x}").expect("a String takes all");
    }
    text
}
