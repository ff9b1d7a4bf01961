//! The windows of one to three bytes, which no shipped rule has: those with keys of one length cost a pass of their
//! own.

use super::{
    pairs::LEAST_BYTES,
    readings::{Reading, Readings, hash, number},
};
use crate::matcher::literal::Window;

/// So many bits of a hash are looked up.
const HASH_BITS: u32 = 17;
const WORDS: usize = (1 << HASH_BITS) / 64;

/// Looks at every place.
pub(super) struct Short {
    key_bytes: usize,
    /// For each hash whether a key has it.
    bits: Box<[u64; WORDS]>,
    pub(super) readings: Readings,
}

impl Short {
    /// Nothing if none has a key of this length.
    pub(super) fn of(windows: &[Window], key_bytes: usize) -> Option<Self> {
        let is_one = |window: &Window| window.len() < LEAST_BYTES && window.key().len() == key_bytes;
        let (mut bits, mut readings) = (Box::new([0; WORDS]), Vec::new());
        for (window, id) in windows.iter().zip(0_u32..) {
            if is_one(window) {
                let hash = hash(number(window.key()));
                let (word, bit) = place_of(hash);
                bits[word] |= 1 << bit;
                readings.push(Reading::of(window, id, window.key_at(), hash));
            }
        }
        (!readings.is_empty()).then(|| Self { key_bytes, bits, readings: Readings::of(readings) })
    }

    /// The first place at or behind `from` with a key of which `is_wanted` is true.
    pub(super) fn find(
        &self,
        text: &[u8],
        from: usize,
        is_wanted: &mut impl FnMut(usize, u32) -> bool,
    ) -> Option<usize> {
        match self.key_bytes {
            1 => self.find_of::<1>(text, from, is_wanted),
            2 => self.find_of::<2>(text, from, is_wanted),
            _ => self.find_of::<3>(text, from, is_wanted),
        }
    }

    /// The same for a length that the compiler knows.
    fn find_of<const BYTES: usize>(
        &self,
        text: &[u8],
        from: usize,
        is_wanted: &mut impl FnMut(usize, u32) -> bool,
    ) -> Option<usize> {
        let mut keys = text.get(from..).unwrap_or_default().windows(BYTES).enumerate();
        keys.find_map(|(nth, key)| {
            let hash = hash(number(key));
            let (word, bit) = place_of(hash);
            ((self.bits[word] >> bit) & 1 != 0 && is_wanted(from + nth, hash)).then_some(from + nth)
        })
    }
}

/// The word and the bit of it.
#[inline]
fn place_of(hash: u32) -> (usize, u32) {
    let bits = hash >> (u32::BITS - HASH_BITS);
    ((bits / 64) as usize, bits % 64)
}
