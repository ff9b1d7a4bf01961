//! The one pass: finds the windows of all rules in a block of text at once.
//!
//! The four bytes at each place of the text are hashed and looked up in a table of bits that stays in the processor's
//! first cache; what it lets through is compared, with all of the text around them. That costs the same for a thousand
//! windows as for ten.

use super::literal::{KEY_BYTES, Window};

/// So many bits of a hash are looked up: 8 KiB. A thousand windows let through one place in sixty.
const HASH_BITS: u32 = 16;
const WORDS: usize = (1 << HASH_BITS) / 64;
/// So many bits of it are a part of the list of windows.
const PART_BITS: u32 = 10;
/// Places that are looked up before anything is decided.
const AT_ONCE: usize = 8;
/// What their keys lie in.
const BLOCK_BYTES: usize = AT_ONCE + KEY_BYTES - 1;

/// Searches for a set of windows.
#[derive(Default)]
pub(crate) struct Scan {
    /// Each once, in order.
    windows: Vec<Window>,
    /// One for each length that a key has: where all have four bytes, one.
    tables: Vec<Table>,
}

/// The windows with keys of one length.
struct Table {
    length: usize,
    /// For each hash whether a key has it.
    bits: Box<[u64; WORDS]>,
    /// Keys and whose they are, by the first bits of their hashes.
    keys: Vec<(u32, u32)>,
    /// Where each part of them begins.
    parts: Vec<u16>,
}

impl Scan {
    /// A scan for `windows`, each known by its index in [`Self::windows`].
    pub(super) fn of(mut windows: Vec<Window>) -> Self {
        windows.sort_unstable();
        windows.dedup();
        let tables = (1..=KEY_BYTES).filter_map(|length| Table::of(&windows, length)).collect();
        Self { windows, tables }
    }

    /// One scan that hits wherever any of `scans` does, or any of `more`.
    pub(crate) fn joined<'a>(scans: impl IntoIterator<Item = &'a Self>, more: &[&[u8]]) -> Self {
        let windows = scans.into_iter().flat_map(|scan| scan.windows.iter().copied());
        Self::of(windows.chain(more.iter().map(|text| Window::new(&[], text, &[]))).collect())
    }

    /// Each once, in order.
    pub(super) fn windows(&self) -> &[Window] {
        &self.windows
    }

    /// Calls `found` for every window that occurs in `text`, more than once if it does so more than once.
    pub(crate) fn each(&self, text: &[u8], mut found: impl FnMut(u32)) {
        for table in &self.tables {
            let mut from = 0;
            while let Some((place, key)) = table.find(text, from, &|place, key| self.is_any(table, text, place, key)) {
                self.at(table, text, place, key).for_each(&mut found);
                from = place + 1;
            }
        }
    }

    /// Walks over the hits in `block`.
    pub(crate) fn cursor<'a>(&'a self, block: &'a [u8]) -> Cursor<'a> {
        Cursor { scan: self, block, next: vec![Some(0); self.tables.len()], fresh: false }
    }

    /// The windows whose key is at `place`, and which are there whole.
    fn at<'a>(&'a self, table: &'a Table, text: &'a [u8], place: usize, key: u32) -> impl Iterator<Item = u32> + 'a {
        table.having(key).filter(move |id| {
            let window = &self.windows[*id as usize];
            let begin = place.checked_sub(window.key_at());
            begin.and_then(|begin| text.get(begin..)).is_some_and(|text| text.starts_with(window))
        })
    }

    fn is_any(&self, table: &Table, text: &[u8], place: usize, key: u32) -> bool {
        self.at(table, text, place, key).next().is_some()
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
    /// Where the first window with its key at or behind `from` has it. `from` must not go back.
    pub(crate) fn next_from(&mut self, from: usize) -> Option<usize> {
        for (table, next) in self.scan.tables.iter().zip(&mut self.next) {
            if next.is_some_and(|at| at < from || !self.fresh) {
                let is_any = |place, key| self.scan.is_any(table, self.block, place, key);
                *next = table.find(self.block, from, &is_any).map(|(place, _)| place);
            }
        }
        self.fresh = true;
        self.next.iter().copied().flatten().min()
    }
}

impl Table {
    /// Nothing if no key is of this length.
    fn of(windows: &[Window], length: usize) -> Option<Self> {
        let of_length = windows.iter().zip(0_u32..).filter(|(window, _)| window.key().len() == length);
        let mut keys: Vec<(u32, u32)> = of_length.map(|(window, id)| (number(window.key()), id)).collect();
        if keys.is_empty() {
            return None;
        }
        keys.sort_by_key(|(key, _)| hash(*key));
        let mut bits = Box::new([0; WORDS]);
        for (key, _) in &keys {
            bits[(hash(*key) / 64) as usize] |= 1 << (hash(*key) % 64);
        }
        let part = |part: u32| keys.partition_point(|(key, _)| part_of(hash(*key)) < part);
        let parts = (0..=1 << PART_BITS).map(|nth| part(nth).try_into().unwrap_or(u16::MAX)).collect();
        Some(Self { length, bits, keys, parts })
    }

    /// The first place at or behind `from` that has a key of which `is_wanted` is true, and that key.
    fn find(&self, text: &[u8], from: usize, is_wanted: &impl Fn(usize, u32) -> bool) -> Option<(usize, u32)> {
        match self.length {
            1 => self.find_of::<1>(text, from, is_wanted),
            2 => self.find_of::<2>(text, from, is_wanted),
            3 => self.find_of::<3>(text, from, is_wanted),
            _ => self.find_of::<KEY_BYTES>(text, from, is_wanted),
        }
    }

    /// The same for a length that the compiler knows.
    fn find_of<const LENGTH: usize>(
        &self,
        text: &[u8],
        from: usize,
        is_wanted: &impl Fn(usize, u32) -> bool,
    ) -> Option<(usize, u32)> {
        let wanted = |place, key| (self.bit(key) & 1 != 0 && is_wanted(place, key)).then_some((place, key));
        let mut at = from;
        while let Some(block) = text.get(at..).and_then(<[u8]>::first_chunk::<BLOCK_BYTES>) {
            if (0..AT_ONCE).fold(0, |any, nth| any | self.bit(key_at::<LENGTH>(block, nth))) & 1 != 0 {
                let found = (0..AT_ONCE).find_map(|nth| wanted(at + nth, key_at::<LENGTH>(block, nth)));
                if found.is_some() {
                    return found;
                }
            }
            at += AT_ONCE;
        }
        let rest = text.get(at..).unwrap_or_default();
        rest.windows(LENGTH).enumerate().find_map(|(nth, key)| wanted(at + nth, number(key)))
    }

    /// The lowest bit of the answer is set if some window may have this key.
    #[inline]
    fn bit(&self, key: u32) -> u64 {
        let hash = hash(key);
        self.bits[(hash / 64) as usize] >> (hash % 64)
    }

    /// The windows that have this key.
    fn having(&self, key: u32) -> impl Iterator<Item = u32> + '_ {
        let part = part_of(hash(key)) as usize;
        let keys = self.keys.get(usize::from(self.parts[part])..usize::from(self.parts[part + 1])).unwrap_or_default();
        keys.iter().filter(move |(known, _)| *known == key).map(|(_, id)| *id)
    }
}

/// At most four bytes as a number, the first the lowest.
fn number(key: &[u8]) -> u32 {
    key.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

/// The bytes at place `nth` of a block.
#[inline]
fn key_at<const LENGTH: usize>(block: &[u8; BLOCK_BYTES], nth: usize) -> u32 {
    let mut key = [0; KEY_BYTES];
    key[..LENGTH].copy_from_slice(&block[nth..nth + LENGTH]);
    u32::from_le_bytes(key)
}

/// Multiplied by the golden ratio, so that bytes which differ little are far from each other.
#[inline]
fn hash(key: u32) -> u32 {
    key.wrapping_mul(0x9e37_79b1) >> (u32::BITS - HASH_BITS)
}

fn part_of(hash: u32) -> u32 {
    hash >> (HASH_BITS - PART_BITS)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn scan_of(windows: &[&str]) -> Scan {
        Scan::of(windows.iter().map(|window| Window::new(&[], window.as_bytes(), &[])).collect())
    }

    /// The numbers that `windows` have there, of those that are found.
    fn found(windows: &[&str], text: &str) -> Vec<usize> {
        let scan = scan_of(windows);
        let mut found = Vec::new();
        scan.each(text.as_bytes(), |id| {
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
        let joined = Scan::joined(&parts, &[b"x ve"]);
        let hits = |text: &str| joined.cursor(text.as_bytes()).next_from(0);
        for (text, hit) in [
            ("..abcd", Some(2)),
            ("..bcde", Some(2)),
            ("......xy", Some(6)),
            ("a Linux version and more text of it", Some(6)),
            ("a Linux machine and more text of it", None),
        ] {
            assert_eq!(hits(text), hit, "{text}");
        }
        assert_eq!(Scan::joined(&parts[2..], &[b"E\":["]).cursor(b"..E\":[").next_from(0), Some(2));
    }

    proptest! {
        /// What a search for each window by itself finds, wherever it stands and whatever is around it.
        #[test]
        fn as_each_window_alone(windows in prop::collection::vec("[ab]{1,4}", 0..12), text in "[abc]{0,60}") {
            let windows: Vec<&str> = windows.iter().map(String::as_str).collect();
            let scan = scan_of(&windows);
            let mut all = Vec::new();
            scan.each(text.as_bytes(), |id| all.push(scan.windows()[id as usize].to_vec()));
            let occurrences = |window: &Window| {
                text.as_bytes().windows(window.len()).filter(|place| *place == &**window).count()
            };
            for window in scan.windows() {
                prop_assert_eq!(all.iter().filter(|one| **one == **window).count(), occurrences(window));
            }
            let first = scan.windows().iter().filter_map(|window| memchr::memmem::find(text.as_bytes(), window)).min();
            prop_assert_eq!(scan.cursor(text.as_bytes()).next_from(0), first);
        }
    }
}
