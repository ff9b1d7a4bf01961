//! The one pass: finds the windows of all rules in a block of text at once.
//!
//! The four bytes at each place of the text are hashed and looked up in a table of bits that stays in the processor's
//! first cache; what it lets through is compared, with all of the text around them. That costs the same for a thousand
//! windows as for ten.

use super::literal::{KEY_BYTES, Window};

/// So many bits of a hash are looked up: 16 KiB. A thousand windows let through one place in 130.
const HASH_BITS: u32 = 17;
const WORDS: usize = (1 << HASH_BITS) / 64;
/// So many bits of it are a part of the list of keys.
const PART_BITS: u32 = 10;
/// Places that are looked up before anything is decided.
const AT_ONCE: usize = 8;
/// What is read at these.
const BLOCK_BYTES: usize = AT_ONCE - 1 + KEY_BYTES;

/// Searches for a set of windows.
#[derive(Default)]
pub(crate) struct Scan {
    /// Each once, in order.
    windows: Vec<Window>,
    /// One for each length that a key has: where all have [`KEY_BYTES`], one.
    tables: Vec<Table>,
}

/// The windows with keys of one length.
struct Table {
    key_bytes: usize,
    /// For each hash whether a reading has it.
    bits: Box<[u64; WORDS]>,
    /// By the first bits of their hashes.
    readings: Vec<Reading>,
    /// Where each part of them begins.
    parts: Vec<u32>,
}

/// What is read of a window where it stands.
struct Reading {
    number: u32,
    window: u32,
    /// Where it is in the window.
    at: u8,
    /// The byte of the window that is farthest from it, and where that is: it tells most windows with one key apart.
    far: u8,
    far_at: u8,
}

impl Scan {
    /// A scan for `windows`, each known by its index in [`Self::windows`].
    pub(super) fn of(mut windows: Vec<Window>) -> Self {
        windows.sort_unstable();
        windows.dedup();
        windows.shrink_to_fit();
        let tables = (1..=KEY_BYTES).filter_map(|length| Table::of(&windows, length)).collect();
        Self { windows, tables }
    }

    /// One scan that hits wherever any of `scans` does, or any of `more`.
    pub(crate) fn joined<'a>(scans: impl IntoIterator<Item = &'a Self>, more: &[&[u8]]) -> Self {
        let windows = scans.into_iter().flat_map(|scan| scan.windows.iter().copied());
        Self::of(windows.chain(more.iter().map(|text| Window::text(text))).collect())
    }

    /// Each once, in order.
    pub(super) fn windows(&self) -> &[Window] {
        &self.windows
    }

    /// Calls `found` for every window in `text` whose key is at `from` or behind it, more than once if it is there more
    /// than once.
    pub(crate) fn each(&self, text: &[u8], from: usize, mut found: impl FnMut(u32)) {
        for table in &self.tables {
            let mut pass = |place, number| {
                self.at(table, text, place, number).for_each(&mut found);
                // So the pass goes on, up to the end.
                false
            };
            table.find(text, from, &mut pass);
        }
    }

    /// Walks over the hits in `block`.
    pub(crate) fn cursor<'a>(&'a self, block: &'a [u8]) -> Cursor<'a> {
        Cursor { scan: self, block, next: vec![Some(0); self.tables.len()], fresh: false }
    }

    /// The windows that are there whole, of those with this reading at `place`.
    fn at<'a>(&'a self, table: &'a Table, text: &'a [u8], place: usize, number: u32) -> impl Iterator<Item = u32> + 'a {
        let is_whole = move |reading: &&Reading| {
            let begin = place.checked_sub(usize::from(reading.at));
            let text = begin.and_then(|begin| text.get(begin..));
            text.is_some_and(|text| {
                text.get(usize::from(reading.far_at)) == Some(&reading.far)
                    && text.starts_with(&self.windows[reading.window as usize])
            })
        };
        table.having(number).filter(is_whole).map(|reading| reading.window)
    }

    fn is_any(&self, table: &Table, text: &[u8], place: usize, number: u32) -> bool {
        self.at(table, text, place, number).next().is_some()
    }
}

/// A place in a block, for each table its next hit behind it.
pub(crate) struct Cursor<'a> {
    scan: &'a Scan,
    block: &'a [u8],
    next: Vec<Option<usize>>,
    fresh: bool,
}

impl Cursor<'_> {
    /// A place in the first window at or behind `from`. `from` must not go back.
    pub(crate) fn next_from(&mut self, from: usize) -> Option<usize> {
        for (table, next) in self.scan.tables.iter().zip(&mut self.next) {
            if next.is_some_and(|at| at < from || !self.fresh) {
                let mut is_any = |place, number| self.scan.is_any(table, self.block, place, number);
                *next = table.find(self.block, from, &mut is_any);
            }
        }
        self.fresh = true;
        self.next.iter().copied().flatten().min()
    }
}

impl Table {
    /// Nothing if no key is of this length.
    fn of(windows: &[Window], key_bytes: usize) -> Option<Self> {
        let of_length = windows.iter().zip(0_u32..).filter(|(window, _)| window.key().len() == key_bytes);
        let mut readings: Vec<Reading> = of_length.map(|(window, id)| Reading::of(window, id)).collect();
        if readings.is_empty() {
            return None;
        }
        readings.shrink_to_fit();
        readings.sort_by_key(|reading| hash(reading.number));
        let mut bits = Box::new([0; WORDS]);
        for hash in readings.iter().map(|reading| hash(reading.number)) {
            bits[(hash / 64) as usize] |= 1 << (hash % 64);
        }
        let begin = |part: u32| readings.partition_point(|reading| part_of(hash(reading.number)) < part);
        let begin = |part: u32| u32::try_from(begin(part)).expect("rule files are smaller than 4 GiB");
        let parts = (0..=1 << PART_BITS).map(begin).collect();
        Some(Self { key_bytes, bits, readings, parts })
    }

    /// The first place at or behind `from` with a reading of which `is_wanted` is true.
    fn find(&self, text: &[u8], from: usize, is_wanted: &mut impl FnMut(usize, u32) -> bool) -> Option<usize> {
        match self.key_bytes {
            1 => self.find_of::<1>(text, from, is_wanted),
            2 => self.find_of::<2>(text, from, is_wanted),
            3 => self.find_of::<3>(text, from, is_wanted),
            _ => self.find_of::<KEY_BYTES>(text, from, is_wanted),
        }
    }

    /// The same for a length that the compiler knows.
    fn find_of<const BYTES: usize>(
        &self,
        text: &[u8],
        from: usize,
        is_wanted: &mut impl FnMut(usize, u32) -> bool,
    ) -> Option<usize> {
        let mut at = from;
        while let Some(block) = text.get(at..).and_then(<[u8]>::first_chunk::<BLOCK_BYTES>) {
            let bit = |nth| self.bit(read::<BYTES>(block, nth));
            if (0..AT_ONCE).fold(0, |any, nth| any | bit(nth)) & 1 != 0 {
                // Nearly always it is one place, and which one cannot be foreseen: it is reckoned, not searched for.
                let mut left = (0..AT_ONCE).fold(0, |places, nth| places | (bit(nth) & 1) << nth);
                while left != 0 {
                    let nth = left.trailing_zeros() as usize;
                    left &= left - 1;
                    if is_wanted(at + nth, read::<BYTES>(block, nth)) {
                        return Some(at + nth);
                    }
                }
            }
            at += AT_ONCE;
        }
        let mut rest = text.get(at..).unwrap_or_default().windows(BYTES).enumerate();
        rest.find_map(|(nth, bytes)| {
            let number = number(bytes);
            (self.bit(number) & 1 != 0 && is_wanted(at + nth, number)).then_some(at + nth)
        })
    }

    /// The lowest bit of the answer is set if some window may be read so.
    #[inline]
    fn bit(&self, number: u32) -> u64 {
        let hash = hash(number);
        self.bits[(hash / 64) as usize] >> (hash % 64)
    }

    fn having(&self, number: u32) -> impl Iterator<Item = &Reading> {
        let part = part_of(hash(number)) as usize;
        let part = self.parts[part] as usize..self.parts[part + 1] as usize;
        self.readings.get(part).unwrap_or_default().iter().filter(move |reading| reading.number == number)
    }
}

impl Reading {
    fn of(window: &Window, id: u32) -> Self {
        let (before, last) = (window.key_at(), window.len() - 1);
        let far_at = if before > last - before { 0 } else { last };
        Self { number: number(window.key()), window: id, at: before as u8, far: window[far_at], far_at: far_at as u8 }
    }
}

/// At most four bytes as a number, the first the lowest.
fn number(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

/// The same of the bytes at `place` of a block.
#[inline]
fn read<const BYTES: usize>(block: &[u8; BLOCK_BYTES], place: usize) -> u32 {
    let mut bytes = [0; KEY_BYTES];
    bytes[..BYTES].copy_from_slice(&block[place..place + BYTES]);
    u32::from_le_bytes(bytes)
}

/// Multiplied by the golden ratio, so that bytes which differ little are far from each other.
#[inline]
fn hash(number: u32) -> u32 {
    number.wrapping_mul(0x9e37_79b1) >> (u32::BITS - HASH_BITS)
}

fn part_of(hash: u32) -> u32 {
    hash >> (HASH_BITS - PART_BITS)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn scan_of(windows: &[&str]) -> Scan {
        Scan::of(windows.iter().map(|window| Window::text(window.as_bytes())).collect())
    }

    /// The numbers that `windows` have there, of those that are found.
    fn found(windows: &[&str], text: &str) -> Vec<usize> {
        let scan = scan_of(windows);
        let mut found = Vec::new();
        scan.each(text.as_bytes(), 0, |id| {
            let window = &*scan.windows()[id as usize];
            found.extend(windows.iter().position(|known| known.as_bytes() == window));
        });
        found.sort_unstable();
        found.dedup();
        found
    }

    #[test]
    fn overlapping_and_nested_windows_are_all_found() {
        assert_eq!(found(&["abcd", "bcde", "ab", "abc", "e", "zzzz"], "xxabcdexx"), [0, 1, 2, 3, 4]);
        assert_eq!(found(&["aaaa"], "aaa"), [0; 0]);
        assert_eq!(found(&[], "abc"), [0; 0]);
    }

    #[test]
    fn a_thousand_windows_are_found() {
        let windows: Vec<String> = (0..1000).map(|n| format!("w{n:03}")).collect();
        let windows: Vec<&str> = windows.iter().map(String::as_str).collect();
        assert_eq!(found(&windows, "w000 w127w128 w299 w999 padding of a line that is long"), [0, 127, 128, 299, 999]);
        let all = windows.concat();
        assert_eq!(found(&windows, &all).len(), 1000);
    }

    #[test]
    fn no_number_of_windows_is_too_large() {
        let windows: Vec<String> = (0..40_000).map(|n| format!("w{n:05}")).collect();
        let windows: Vec<&str> = windows.iter().map(String::as_str).collect();
        let some: Vec<usize> = (0..windows.len()).step_by(97).collect();
        let text: String = some.iter().map(|index| windows[*index]).collect();
        assert_eq!(found(&windows, &text), some);
    }

    #[test]
    fn a_cursor_meets_hits_in_order() {
        let scan = scan_of(&["abcd", "xy"]);
        let block = b"....xy..abcd..xy..";
        let mut cursor = scan.cursor(block);
        assert_eq!(cursor.next_from(0), Some(4));
        assert_eq!(cursor.next_from(5), Some(8));
        assert_eq!(cursor.next_from(9), Some(14));
        assert_eq!(cursor.next_from(15), None);
        assert_eq!(cursor.next_from(block.len()), None);
    }

    #[test]
    fn a_joined_scan_hits_where_any_of_its_parts_does() {
        let parts = [scan_of(&["abcd", "xy"]), scan_of(&["abcd", "bcde"]), scan_of(&[])];
        let joined = Scan::joined(&parts, &[b"Linux version"]);
        let hits = |text: &str| joined.cursor(text.as_bytes()).next_from(0);
        assert_eq!(["..abcd", "..bcde", "......xy"].map(hits), [Some(2), Some(2), Some(6)]);
        assert!((2..10).contains(&hits("a Linux version and more text of it").unwrap()));
        assert_eq!(hits("a Linux machine and more text of it"), None);
        assert_eq!(Scan::joined(&parts[2..], &[b"E\":["]).cursor(b"..E\":[").next_from(0), Some(2));
    }

    proptest! {
        /// What a search for each window by itself finds, wherever it stands and whatever is around it.
        #[test]
        fn as_each_window_alone(
            windows in prop::collection::vec(("[ab]{0,3}", "[ab]{1,4}", "[ab]{0,3}"), 0..8),
            text in "[abc]{0,60}",
            from in prop_oneof![Just(0), 0..60_usize],
        ) {
            let window = |(before, key, behind): &(String, String, String)| {
                Window::new(before.as_bytes(), key.as_bytes(), behind.as_bytes())
            };
            let (scan, text) = (Scan::of(windows.iter().map(window).collect()), text.as_bytes());
            let mut found = vec![false; scan.windows().len()];
            let from = from.min(text.len());
            // The first key of a window that is not before `from`.
            let key = |window: &Window| {
                let skipped = from.saturating_sub(window.key_at());
                memchr::memmem::find(&text[skipped..], window).map(|begin| skipped + begin + window.key_at())
            };
            scan.each(text, from, |id| found[id as usize] = true);
            let expected: Vec<bool> = scan.windows().iter().map(|window| key(window).is_some()).collect();
            prop_assert_eq!(found, expected);

            // A cursor is in a window, at the first key that is not before `from`.
            let first = scan.windows().iter().filter_map(key).min();
            let at = scan.cursor(text).next_from(from);
            prop_assert!(first.is_none_or(|first| at.is_some_and(|at| at <= first)));
            let covers = |window: &Window, at: usize| {
                (0..window.len().min(at + 1)).any(|back| text[at - back..].starts_with(window))
            };
            prop_assert!(at.is_none_or(|at| at >= from && scan.windows().iter().any(|window| covers(window, at))));
        }
    }
}
