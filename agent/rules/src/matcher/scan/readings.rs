//! What is read of windows where they stand, by its hash.

use crate::matcher::literal::Window;

/// The golden ratio without its last five bits: of the last of four bytes only three bits count, so that four bytes of
/// which three are known have no more than [`ENDINGS`] hashes.
const RATIO: u32 = 0x9e37_79a0;
pub(super) const ENDINGS: u8 = 8;
/// So many bits of a hash are a part of the list.
const PART_BITS: u32 = 10;

/// In the order of their hashes.
pub(super) struct Readings {
    all: Vec<Reading>,
    /// Where each part of them begins, and behind the last where that ends.
    begins: Vec<u32>,
}

/// What is read of a window where it stands.
pub(super) struct Reading {
    hash: u32,
    window: u32,
    /// Where it is in the window.
    at: u8,
    /// The byte of the window that is farthest from it, and where that is: it tells most windows with one reading
    /// apart.
    far: u8,
    far_at: u8,
}

impl Readings {
    pub(super) fn of(mut all: Vec<Reading>) -> Self {
        all.shrink_to_fit();
        all.sort_by_key(|reading| reading.hash);
        let begin = |part: usize| all.partition_point(|reading| part_of(reading.hash) < part);
        let begin = |part: usize| u32::try_from(begin(part)).expect("rule files are smaller than 4 GiB");
        let begins = (0..=1 << PART_BITS).map(begin).collect();
        Self { all, begins }
    }

    /// Those of `windows` that are in `text` whole, of those of which this is read at `place`.
    pub(super) fn whole<'a>(
        &'a self,
        windows: &'a [Window],
        text: &'a [u8],
        place: usize,
        hash: u32,
    ) -> impl Iterator<Item = u32> + 'a {
        let is_whole = move |reading: &&Reading| {
            let begin = place.checked_sub(usize::from(reading.at));
            let text = begin.and_then(|begin| text.get(begin..));
            text.is_some_and(|text| {
                text.get(usize::from(reading.far_at)) == Some(&reading.far)
                    && text.starts_with(&windows[reading.window as usize])
            })
        };
        self.having(hash).filter(is_whole).map(|reading| reading.window)
    }

    fn having(&self, hash: u32) -> impl Iterator<Item = &Reading> {
        let part = part_of(hash);
        let part = self.begins[part] as usize..self.begins[part + 1] as usize;
        self.all.get(part).unwrap_or_default().iter().filter(move |reading| reading.hash == hash)
    }
}

impl Reading {
    /// What is read at `at` in `window`, which is the one with this number.
    pub(super) fn of(window: &Window, number: u32, at: usize, hash: u32) -> Self {
        let last = window.len() - 1;
        let far_at = if at > last - at { 0 } else { last };
        Self { hash, window: number, at: at as u8, far: window[far_at], far_at: far_at as u8 }
    }
}

/// At most four bytes as a number, the first the lowest.
pub(super) fn number(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

/// Bytes that differ little are far from each other by the first bits of it.
#[inline]
pub(super) fn hash(number: u32) -> u32 {
    number.wrapping_mul(RATIO)
}

fn part_of(hash: u32) -> usize {
    (hash >> (u32::BITS - PART_BITS)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_bytes_of_which_three_are_known_have_few_hashes() {
        for last in 0..=u8::MAX {
            let (all, few) = (number(&[b'a', b'b', b'c', last]), number(&[b'a', b'b', b'c', last % ENDINGS]));
            assert_eq!(hash(all), hash(few), "{last}");
        }
        let mut endings: Vec<u32> = (0..ENDINGS).map(|last| hash(number(&[b'a', b'b', b'c', last]))).collect();
        endings.dedup();
        assert_eq!(endings.len(), usize::from(ENDINGS));
    }
}
