//! ATA's blocks of 512 bytes: IDENTIFY DEVICE (ACS-3 7.12.7), SMART data and thresholds (SFF-8035i), the self-test log
//! (ACS-3 A.15). Each carries a checksum.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::disk::{
    page::{self, PageError, little},
    reading::{Identity, SelfTest, Smart},
};

const BYTES: usize = 512;

/// What IDENTIFY DEVICE returns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentifyDevice {
    pub identity: Identity,
    pub smart: Smart,
    pub is_solid_state: bool,
    pub has_self_test_log: bool,
}

/// One SMART attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attribute {
    pub id: u8,
    /// Whether its threshold predicts a failure, or only shows that it has aged.
    pub is_prefailure: bool,
    /// Normalized: falls towards the threshold.
    pub value: u8,
    pub threshold: Option<u8>,
    /// 48 bits of the vendor's own making.
    pub raw: u64,
}

/// Thresholds by attribute.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Thresholds(BTreeMap<u8, u8>);

impl IdentifyDevice {
    pub fn parse(bytes: &[u8]) -> Result<Self, PageError> {
        const PAGE: &str = "disk's identity";
        let block = page::whole::<BYTES>(PAGE, bytes)?;
        // The checksum is there only if the signature before it is.
        if block[510] == 0xa5 && !sums_to_zero(block) {
            return Err(PageError::Checksum { page: PAGE });
        }
        let word = |number: usize| u16::from_le_bytes([block[2 * number], block[2 * number + 1]]);
        // Words 83, 84 and 87 are meant to be read if their highest bits are 01.
        let is_valid = |number| word(number) >> 14 == 0b01;
        Ok(Self {
            identity: Identity {
                model: swapped(&block[54..94]),
                serial: swapped(&block[20..40]),
                firmware: swapped(&block[46..54]),
            },
            smart: match (is_valid(83) && word(82) & 1 != 0, word(85) & 1 != 0) {
                (false, _) => Smart::Unsupported,
                (true, false) => Smart::Off,
                (true, true) => Smart::On,
            },
            is_solid_state: word(217) == 1,
            has_self_test_log: is_valid(84) && word(84) & 0b10 != 0,
        })
    }
}

/// ATA strings have the bytes of each word swapped.
fn swapped(bytes: &[u8]) -> String {
    page::text(bytes.chunks_exact(2).flat_map(|pair| [pair[1], pair[0]]))
}

fn checked<'a>(name: &'static str, bytes: &'a [u8]) -> Result<&'a [u8; BYTES], PageError> {
    let block = page::whole::<BYTES>(name, bytes)?;
    if sums_to_zero(block) { Ok(block) } else { Err(PageError::Checksum { page: name }) }
}

fn sums_to_zero(block: &[u8]) -> bool {
    block.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte)) == 0
}

/// Thirty slots of twelve bytes, after the revision; slots in use have a number.
fn slots(block: &[u8; BYTES]) -> impl Iterator<Item = &[u8]> {
    block[2..362].chunks_exact(12).filter(|slot| slot[0] != 0)
}

/// The attributes in use.
pub fn attributes(bytes: &[u8], thresholds: Option<&Thresholds>) -> Result<Vec<Attribute>, PageError> {
    let block = checked("SMART data", bytes)?;
    let attribute = |slot: &[u8]| Attribute {
        id: slot[0],
        is_prefailure: slot[1] & 1 != 0,
        value: slot[3],
        threshold: thresholds.and_then(|thresholds| thresholds.0.get(&slot[0]).copied()),
        raw: little(&slot[5..11]),
    };
    Ok(slots(block).map(attribute).collect())
}

impl Thresholds {
    pub fn parse(bytes: &[u8]) -> Result<Self, PageError> {
        let block = checked("SMART thresholds", bytes)?;
        Ok(Self(slots(block).map(|slot| (slot[0], slot[1])).collect()))
    }
}

impl Attribute {
    #[must_use]
    pub fn is_at_threshold(&self) -> bool {
        self.is_within(0)
    }

    /// Whether it is at its threshold or no more than `above` over it. Values 1 to 253 count, 0 and what is above are
    /// reserved; a threshold of 0 is never reached.
    #[must_use]
    pub fn is_within(&self, above: u8) -> bool {
        const COUNTS: std::ops::RangeInclusive<u8> = 1..=253;
        let reached = |threshold: u8| COUNTS.contains(&threshold) && self.value <= threshold.saturating_add(above);
        COUNTS.contains(&self.value) && self.threshold.is_some_and(reached)
    }
}

/// The newest test that came to an end.
pub fn self_test(bytes: &[u8]) -> Result<Option<SelfTest>, PageError> {
    const ENTRIES: usize = 21;
    const ENTRY_BYTES: usize = 24;
    let block = match checked("self-test log", bytes) {
        // A disk that never tested itself.
        Err(PageError::Blank { byte: 0, .. }) => return Ok(None),
        other => other?,
    };
    // A ring: the index, from one, is that of the newest; 0 means that there is none.
    let newest = usize::from(block[508]);
    if newest == 0 || newest > ENTRIES {
        return Ok(None);
    }
    let entry = |back: usize| {
        let start = 2 + (newest + ENTRIES - 1 - back) % ENTRIES * ENTRY_BYTES;
        &block[start..start + ENTRY_BYTES]
    };
    Ok((0..ENTRIES).map(entry).find_map(ended))
}

fn ended(entry: &[u8]) -> Option<SelfTest> {
    if entry.iter().all(|byte| *byte == 0) {
        return None;
    }
    let at_hours = little(&entry[2..4]);
    let end = |passed, result: &str| Some(SelfTest { passed, at_hours, result: result.to_owned() });
    match entry[1] >> 4 {
        0 => end(true, "passed"),
        3 => end(false, "an unknown error ended the test"),
        4 => end(false, "an unknown part failed"),
        5 => end(false, "the electrical part failed"),
        6 => end(false, "the servo part failed"),
        7 => end(false, &format!("reading failed at sector {}", little(&entry[5..9]))),
        8 => end(false, "the disk may have been damaged in handling"),
        // 1 and 2 were aborted, 15 is running.
        _ => None,
    }
}

#[cfg(test)]
pub(crate) mod tests;
