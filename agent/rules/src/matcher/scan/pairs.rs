//! The windows of four bytes and more, found by a look at every second place of a text.
//!
//! A window is known by two readings of four bytes that are beside each other in it: wherever it stands, one of them is
//! at such a place. What is read at the next place is known, too, if the window is so long. Both have to be in the
//! tables for windows of one class, and in a text without a window that is so at few places.

use super::readings::{ENDINGS, Reading, Readings, hash, number};
use crate::matcher::literal::Window;

/// Shorter windows are not searched for here.
pub(super) const LEAST_BYTES: usize = 4;
/// What is read at a place.
const READ_BYTES: usize = 4;
/// Of these so many have to be known: what the last is matters little to the hash.
const KNOWN_BYTES: usize = 3;
/// From one place to the next.
const STEP: usize = 2;
/// What two places that follow each other hold, of either reading.
const PAIR_BYTES: usize = 1 + STEP + READ_BYTES;
/// Places that are looked up before anything is decided.
const AT_ONCE: usize = 8;
/// What is read at these and at the one behind them.
const BLOCK_BYTES: usize = AT_ONCE * STEP + READ_BYTES;

/// So many bits of a hash are looked up: with both tables 32 KiB, which stay in the processor's first cache.
const SLOT_BITS: u32 = 14;
const SLOTS: usize = 1 << SLOT_BITS;
/// Readings are of one of so many classes, each a bit, if what follows them is known.
const CLASSES: u32 = 7;
/// The class of the others: anything may follow.
const ALONE: u8 = 1 << CLASSES;

/// Looks at every second place.
pub(super) struct Pairs {
    /// By the hash of what is read at a place: the classes of such readings.
    first: Box<[u8; SLOTS]>,
    /// By the hash of what is read at the next place: the classes of readings that it may follow.
    second: Box<[u8; SLOTS]>,
    pub(super) readings: Readings,
}

impl Pairs {
    /// Nothing if none is so long.
    pub(super) fn of(windows: &[Window]) -> Option<Self> {
        let (mut first, mut second) = (Box::new([0_u8; SLOTS]), Box::new([ALONE; SLOTS]));
        let mut readings = Vec::new();
        for (window, id) in windows.iter().zip(0_u32..).filter(|(window, _)| window.len() >= LEAST_BYTES) {
            for at in readings_of(window) {
                let (here, next) = (read_of(window, at), read_of(window, at + STEP));
                let follows = Some(next).filter(|next| next.len() >= KNOWN_BYTES);
                for hash in hashes(here) {
                    let class = follows.map_or(ALONE, |_| class_of(hash));
                    first[slot(hash)] |= class;
                    follows.into_iter().flat_map(hashes).for_each(|next| second[slot(next)] |= class);
                    readings.push(Reading::of(window, id, at, hash));
                }
            }
        }
        (!readings.is_empty()).then(|| Self { first, second, readings: Readings::of(readings) })
    }

    /// The first of every second place from `from` on with a reading of which `is_wanted` is true.
    pub(super) fn find(
        &self,
        text: &[u8],
        from: usize,
        is_wanted: &mut impl FnMut(usize, u32) -> bool,
    ) -> Option<usize> {
        let (mut at, mut here) = (from, hash_at(text, from));
        while let Some(block) = text.get(at..).and_then(<[u8]>::first_chunk::<BLOCK_BYTES>) {
            let (any, last) = (0..AT_ONCE).fold((0_u8, here), |(any, here), nth| {
                let next = hash(read(block, (nth + 1) * STEP));
                (any | self.classes(here, next), next)
            });
            if any != 0 {
                let mut left = self.places(block);
                while left != 0 {
                    let place = at + left.trailing_zeros() as usize * STEP;
                    left &= left - 1;
                    if is_wanted(place, hash_at(text, place)) {
                        return Some(place);
                    }
                }
            }
            (at, here) = (at + AT_ONCE * STEP, last);
        }
        while at + KNOWN_BYTES <= text.len() {
            let next = hash_at(text, at + STEP);
            if self.classes(here, next) != 0 && is_wanted(at, here) {
                return Some(at);
            }
            (at, here) = (at + STEP, next);
        }
        None
    }

    /// A bit for each place of the block where a reading may be. Which one it is cannot be foreseen: it is reckoned,
    /// not searched for. In the loop over blocks it would take the room of what every block needs.
    #[inline(never)]
    fn places(&self, block: &[u8; BLOCK_BYTES]) -> u32 {
        (0..AT_ONCE).fold(0, |places, nth| {
            let (here, next) = (hash(read(block, nth * STEP)), hash(read(block, (nth + 1) * STEP)));
            places | u32::from(self.classes(here, next) != 0) << nth
        })
    }

    /// The classes of the readings that may be where the first of these is, and the second at the next place.
    #[inline]
    fn classes(&self, here: u32, next: u32) -> u8 {
        self.first[slot(here)] & self.second[slot(next)]
    }
}

/// Where the two readings of a window are in it: both hold the key, with what follows them, if there is room for that.
fn readings_of(window: &Window) -> [usize; 2] {
    let begin = window.key_at().saturating_sub(1).min(window.len().saturating_sub(PAIR_BYTES));
    [begin, begin + 1]
}

/// What is read at `at` of `window`, as far as it goes.
fn read_of(window: &[u8], at: usize) -> &[u8] {
    let rest = window.get(at..).unwrap_or_default();
    &rest[..rest.len().min(READ_BYTES)]
}

/// The hashes that a reading may have that begins with `known`: all its bytes, or all but the last.
fn hashes(known: &[u8]) -> impl Iterator<Item = u32> {
    let (number, endings) = (number(known), if known.len() < READ_BYTES { ENDINGS } else { 1 });
    (0..endings).map(move |ending| hash(number | u32::from(ending) << (8 * KNOWN_BYTES)))
}

/// What is read at `at` of a text. Behind its end nothing matters.
fn hash_at(text: &[u8], at: usize) -> u32 {
    let rest = text.get(at..).unwrap_or_default();
    hash(rest.first_chunk::<READ_BYTES>().map_or_else(|| number(rest), |bytes| u32::from_le_bytes(*bytes)))
}

#[inline]
fn read(block: &[u8; BLOCK_BYTES], place: usize) -> u32 {
    let mut bytes = [0; READ_BYTES];
    bytes.copy_from_slice(&block[place..place + READ_BYTES]);
    u32::from_le_bytes(bytes)
}

#[inline]
fn slot(hash: u32) -> usize {
    (hash >> (u32::BITS - SLOT_BITS)) as usize
}

/// By bits that the slot is not chosen by as well.
fn class_of(hash: u32) -> u8 {
    1 << ((hash >> 6) % CLASSES)
}
