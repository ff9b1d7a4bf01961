//! Where in a window its readings are such as ordinary lines hardly have.

use super::{
    pairs::{SLOTS, STEP, hashes, read_of, slot},
    readings::{hash, number},
};
use crate::matcher::frequency::ORDINARY;

/// What two places that follow each other hold, of either of two readings that are beside each other.
const PAIR_BYTES: usize = 7;
/// Other lines have other words: what is at no place of these lines may be somewhere.
const ELSEWHERE: u64 = 1;
/// What is at one place of them is at more.
const AT_ONE_PLACE: u64 = 5;

/// By its slot, at how many places of ordinary lines something is read. That is counted for each set of windows: it
/// takes far less time than to read their patterns.
pub(super) struct Usual(Box<[u16; SLOTS]>);

impl Usual {
    pub(super) fn count() -> Self {
        let mut places = Box::new([0_u16; SLOTS]);
        for bytes in ORDINARY.as_bytes().windows(4) {
            let places = &mut places[slot(hash(number(bytes)))];
            *places = places.saturating_add(1);
        }
        Self(places)
    }

    /// Where the first of the two readings of `window` is best: so that few places of other lines have the same.
    pub(super) fn best(&self, window: &[u8]) -> usize {
        let begins = 0..=window.len().saturating_sub(PAIR_BYTES);
        begins.min_by_key(|begin| self.passes(window, *begin) + self.passes(window, begin + 1)).unwrap_or(0)
    }

    /// A measure of how many places have what is read at `at` of `window` and, next to that, what follows it.
    fn passes(&self, window: &[u8], at: usize) -> u64 {
        self.measure(read_of(window, at)) * self.measure(read_of(window, at + STEP))
    }

    fn measure(&self, known: &[u8]) -> u64 {
        let places: u64 = hashes(known).map(|hash| u64::from(self.0[slot(hash)])).sum();
        ELSEWHERE + AT_ONE_PLACE * places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ordinary_lines_have_is_not_read() {
        let usual = Usual::count();
        // `overlayfs: ` is such a line's, and `mounted filesystem`.
        for (window, begins) in [("overlayfs: zqjwxk", 8..11), ("zqjwxkmounted files", 0..4), ("abcdef", 0..1)] {
            assert!(begins.contains(&usual.best(window.as_bytes())), "{window}: {}", usual.best(window.as_bytes()));
        }
    }
}
