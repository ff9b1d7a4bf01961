//! The windows of four bytes and more, found by a look at every second place of a text.
//!
//! A window is known by two readings of four bytes that are beside each other in it: wherever it stands, one of them is
//! at such a place. What is read at the next place is known, too, if the window is so long. Both have to be in the
//! tables for windows of one class, and in a text without a window that is so at few places.

use super::{
    readings::{ENDINGS, Reading, Readings, hash, number},
    usual::Usual,
};
use crate::matcher::literal::Window;

/// Shorter windows are not searched for here.
pub(super) const LEAST_BYTES: usize = 4;
/// What is read at a place.
const READ_BYTES: usize = 4;
/// Of these so many have to be known: what the last is matters little to the hash.
const KNOWN_BYTES: usize = 3;
/// From one place to the next.
pub(super) const STEP: usize = 2;
/// Places that are looked up before anything is decided.
const AT_ONCE: usize = 8;
/// What is read at these and at the one behind them.
const BLOCK_BYTES: usize = AT_ONCE * STEP + READ_BYTES;

/// So many bits of a hash are looked up: with both tables 32 KiB, which stay in the processor's first cache.
const SLOT_BITS: u32 = 14;
pub(super) const SLOTS: usize = 1 << SLOT_BITS;
/// Readings of which it is known what follows are of one of so many classes, each a bit.
const CLASSES: u32 = 6;
/// The class of those that end a window of four bytes: what is before them begins with any byte.
const ENDS: u8 = 1 << CLASSES;
/// The class of the others: anything may follow.
const ALONE: u8 = 2 << CLASSES;

/// Looks at every second place.
pub(super) struct Pairs {
    /// By the hash of what is read at a place: the classes of such readings.
    first: Box<[u8; SLOTS]>,
    /// By the hash of what is read at the next place: the classes of readings that it may follow.
    second: Box<[u8; SLOTS]>,
    pub(super) readings: Readings,
}

/// Its tables, and the list of its readings.
struct Builder {
    first: Box<[u8; SLOTS]>,
    second: Box<[u8; SLOTS]>,
    readings: Vec<Reading>,
}

impl Pairs {
    /// Nothing if none is so long.
    pub(super) fn of(windows: &[Window]) -> Option<Self> {
        let (first, second) = (Box::new([0; SLOTS]), Box::new([ALONE; SLOTS]));
        let (mut builder, usual) = (Builder { first, second, readings: Vec::new() }, Usual::count());
        for (window, id) in windows.iter().zip(0_u32..) {
            match window.len() {
                ..LEAST_BYTES => {}
                LEAST_BYTES => {
                    builder.add(window, id, 0);
                    builder.add_end(window, id);
                }
                _ => {
                    let at = usual.best(window);
                    builder.add(window, id, at);
                    builder.add(window, id, at + 1);
                }
            }
        }
        let Builder { first, second, readings } = builder;
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
        // What is before the first place is not looked at.
        if self.second[slot(here)] & ENDS != 0 && is_wanted(from, here) {
            return Some(from);
        }
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
                    let found = self.wanted(text, place, is_wanted);
                    if found.is_some() {
                        return found;
                    }
                }
            }
            (at, here) = (at + AT_ONCE * STEP, last);
        }
        while at + KNOWN_BYTES <= text.len() {
            let found = self.wanted(text, at, is_wanted);
            if found.is_some() {
                return found;
            }
            at += STEP;
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

    /// Where a reading is of which `is_wanted` is true: at `place`, or at the next one if it ends a window there.
    fn wanted(&self, text: &[u8], place: usize, is_wanted: &mut impl FnMut(usize, u32) -> bool) -> Option<usize> {
        let (here, next) = (hash_at(text, place), hash_at(text, place + STEP));
        let classes = self.classes(here, next);
        if classes & !ENDS != 0 && is_wanted(place, here) {
            return Some(place);
        }
        (classes & ENDS != 0 && is_wanted(place + STEP, next)).then_some(place + STEP)
    }

    /// The classes of the readings that may be where the first of these is, and the second at the next place.
    #[inline]
    fn classes(&self, here: u32, next: u32) -> u8 {
        self.first[slot(here)] & self.second[slot(next)]
    }
}

impl Builder {
    /// What is read at `at` of a window that has all of it.
    fn add(&mut self, window: &Window, id: u32, at: usize) {
        let (here, next) = (hash(number(read_of(window, at))), read_of(window, at + STEP));
        let is_alone = next.len() < KNOWN_BYTES;
        let class = if is_alone { ALONE } else { class_of(here) };
        self.first[slot(here)] |= class;
        if !is_alone {
            hashes(next).for_each(|next| self.second[slot(next)] |= class);
        }
        self.readings.push(Reading::of(window, id, at, here));
    }

    /// What is read behind the first byte of a window of four.
    fn add_end(&mut self, window: &Window, id: u32) {
        for before in 0..=u8::MAX {
            let here = hash(number(&[before, window[0], window[1], window[2]]));
            self.first[slot(here)] |= ENDS;
        }
        for next in hashes(&window[1..]) {
            self.second[slot(next)] |= ENDS;
            self.readings.push(Reading::of(window, id, 1, next));
        }
    }
}

/// What is read at `at` of `window`, as far as it goes.
pub(super) fn read_of(window: &[u8], at: usize) -> &[u8] {
    let rest = window.get(at..).unwrap_or_default();
    &rest[..rest.len().min(READ_BYTES)]
}

/// The hashes that a reading may have that begins with `known`: all its bytes, or all but the last.
pub(super) fn hashes(known: &[u8]) -> impl Iterator<Item = u32> {
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
pub(super) fn slot(hash: u32) -> usize {
    (hash >> (u32::BITS - SLOT_BITS)) as usize
}

/// By bits that the slot is not chosen by as well.
fn class_of(hash: u32) -> u8 {
    1 << ((hash >> 6) % CLASSES)
}
