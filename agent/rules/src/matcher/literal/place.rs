//! A place of a run as a window: judged without asking for memory, for most places are judged and dropped.

use super::{
    COMPARISON, Required, cost,
    window::{KEY_BYTES, LONGEST, LONGEST_BEFORE, Window},
};
use crate::matcher::frequency;

/// A case-insensitive window of four letters has sixteen spellings.
const SPELLINGS_LIMIT: usize = 16;

/// A key, and what has one spelling around it.
pub(super) struct Candidate<'r> {
    before: &'r [&'r [u8]],
    key: &'r [&'r [u8]],
    behind: &'r [&'r [u8]],
    spellings: usize,
}

impl<'r> Candidate<'r> {
    /// The key of `length` places at place `at` of a run; nothing if it has too many spellings.
    pub(super) fn of(run: &'r [&'r [u8]], at: usize, length: usize) -> Option<Self> {
        let (before, rest) = run.split_at(at);
        let (key, behind) = rest.split_at(length);
        let spellings = key.iter().map(|bytes| bytes.len()).product::<usize>();
        if spellings > SPELLINGS_LIMIT {
            return None;
        }
        let is_one = |bytes: &&&[u8]| bytes.len() == 1;
        let count_before = before.iter().rev().take(LONGEST_BEFORE).take_while(is_one).count();
        let count_behind = behind.iter().take(LONGEST).take_while(is_one).count();
        let (before, behind) = (&before[before.len() - count_before..], &behind[..count_behind]);
        Some(Self { before, key, behind, spellings })
    }

    /// All its spellings, if they are cheaper than `limit`.
    pub(super) fn below(&self, limit: f64) -> Option<Required> {
        let is_short = self.key.len() < KEY_BYTES;
        // Each of these costs more than the one before, and the first two know the keys alone.
        if self.least_expected() * COMPARISON >= limit {
            return None;
        }
        let expected_keys = self.windows().map(|window| frequency::expected(window.key())).sum();
        if cost(0.0, expected_keys, is_short) >= limit {
            return None;
        }
        let expected = self.windows().map(|window| frequency::expected(&window)).sum();
        let is_cheaper = cost(expected, expected_keys, is_short) < limit;
        is_cheaper.then(|| Required { windows: self.windows().collect(), expected, expected_keys })
    }

    /// What all spellings of its key are expected at least.
    fn least_expected(&self) -> f64 {
        let at = |bytes: &&[u8]| bytes.iter().map(|byte| frequency::expected_byte(*byte)).sum::<f64>();
        self.key.iter().map(at).product()
    }

    fn windows(&self) -> impl Iterator<Item = Window> {
        (0..self.spellings).map(|nth| self.window(nth))
    }

    /// The nth of its spellings, in their order.
    fn window(&self, nth: usize) -> Window {
        let (mut key, mut rest) = ([0; KEY_BYTES], nth);
        for (byte, bytes) in key.iter_mut().zip(self.key).rev() {
            *byte = bytes[rest % bytes.len()];
            rest /= bytes.len();
        }
        let one = |bytes: &&[u8]| bytes[0];
        Window::around(self.before.iter().map(one), &key[..self.key.len()], self.behind.iter().map(one))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Every spelling, written out.
    fn spelled(run: &[&[u8]], at: usize, length: usize) -> Option<Required> {
        let positions = &run[at..at + length];
        let mut keys = vec![Vec::new()];
        for bytes in positions {
            keys = keys.iter().flat_map(|head| bytes.iter().map(|byte| [head, &[*byte][..]].concat())).collect();
        }
        let only = |bytes: &&[u8]| if let [byte] = bytes { Some(*byte) } else { None };
        let mut before: Vec<u8> = run[..at].iter().rev().map_while(only).collect();
        before.reverse();
        let behind: Vec<u8> = run[at + length..].iter().map_while(only).collect();
        let windows: Vec<Window> = keys.iter().map(|key| Window::new(&before, key, &behind)).collect();
        let expected = windows.iter().map(|window| frequency::expected(window)).sum();
        let expected_keys = keys.iter().map(|key| frequency::expected(key)).sum();
        (keys.len() <= SPELLINGS_LIMIT).then_some(Required { windows, expected, expected_keys })
    }

    proptest! {
        /// What it is judged by is what all of its spellings cost, and it has all of them in their order.
        #[test]
        fn as_every_spelling_written_out(
            run in prop::collection::vec(prop::sample::select(vec!["a", "e", "Z", " ", "aA", "xyz", "0123456789"]), 2..40),
            at in 0..38_usize,
            length in 2..=KEY_BYTES,
            below in 0.0..2.0_f64,
        ) {
            let run: Vec<&[u8]> = run.iter().map(|bytes| bytes.as_bytes()).collect();
            let (length, at) = (length.min(run.len()), at.min(run.len() - length.min(run.len())));
            let place = Candidate::of(&run, at, length);
            let all = spelled(&run, at, length);
            let windows = |required: Option<Required>| required.map(|required| (required.windows.clone(), required.cost()));
            let limit = all.as_ref().map_or(1.0, Required::cost) * below;
            let expected = windows(all).filter(|(_, cost)| *cost < limit);
            prop_assert_eq!(windows(place.and_then(|place| place.below(limit))), expected);
        }
    }
}
