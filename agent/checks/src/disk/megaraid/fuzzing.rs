//! What the parsers of a RAID card's answers promise, whatever the card answers.

use std::collections::BTreeSet;

use nodewell_sys::megaraid::Question;

use super::{
    ask::{Firmware, card},
    layout,
    memory::CardMemory,
    reading::CardReading,
};
use crate::{disk::part::Part, probe::ReadError};

/// Each answer by itself, and a card that gives them one after the other.
pub(crate) fn raid(bytes: &[u8]) {
    if let Ok(disks) = layout::disks(bytes) {
        assert!(disks.len() <= bytes.len() / 24);
    }
    if let Ok(volumes) = layout::volumes(bytes) {
        assert!(volumes.len() <= bytes.len() / 16);
    }
    if let Ok(configuration) = layout::configuration(bytes) {
        assert!(configuration.members.len() <= 256 && configuration.lacking.len() <= 256);
    }
    if let Ok(Some(length)) = layout::configuration_bytes(bytes) {
        assert!(bytes.len() < length && length <= 128 * 1024);
    }
    if let Ok(Some(battery)) = layout::battery(bytes) {
        assert!(battery.status < 1 << 16);
    }
    let first = bytes.first_chunk::<2>().map_or(0, |first| u16::from_le_bytes(*first));
    if let Ok(Some(disk)) = layout::disk(first, bytes) {
        assert!(disk.rebuild_percent.is_none_or(|percent| percent <= 100));
    }
    let _ = (layout::controller(bytes), layout::volume(first.to_le_bytes()[0], bytes));
    dialogue(bytes);
}

fn dialogue(bytes: &[u8]) {
    let mut answers = Answers { rest: bytes, asked: 0 };
    let Ok((_, mut reading)) = card(&mut answers, &|| false) else { return };
    // One question for each disk and volume, and those for the lists.
    assert!(answers.asked <= 256 + 64 + 6);
    let listed: Vec<String> = slots(&reading).map(str::to_owned).collect();
    let distinct: BTreeSet<_> = listed.iter().collect();
    assert_eq!(distinct.len(), listed.len(), "two disks in one slot");
    // All that was there is gone.
    let mut memory = CardMemory::default();
    assert!(memory.look(&reading).is_empty(), "what was never there is missed");
    reading.disks = Part::Read(Vec::new());
    assert!(memory.look(&reading).len() <= listed.len());
}

fn slots(reading: &CardReading) -> impl Iterator<Item = &str> {
    reading.disks.read().into_iter().flatten().map(|disk| disk.slot.as_str())
}

/// A status, a length of two bytes, and that many bytes.
struct Answers<'a> {
    rest: &'a [u8],
    asked: usize,
}

impl Firmware for Answers<'_> {
    fn ask(&mut self, _: Question, into: &mut [u8]) -> Result<u8, ReadError> {
        self.asked += 1;
        let Some(([status, low, high], rest)) = self.rest.split_first_chunk::<3>() else {
            return Err(ReadError::Failed { message: "no more answers".to_owned() });
        };
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(rest.len());
        let (answer, rest) = rest.split_at(length);
        self.rest = rest;
        let length = length.min(into.len());
        into[..length].copy_from_slice(&answer[..length]);
        Ok(*status)
    }
}
