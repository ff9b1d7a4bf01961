//! The one pass: finds the windows of all rules in a block of text at once.
//!
//! Four bytes at every second place of the text are hashed and looked up in tables that stay in the processor's first
//! cache; what they let through is compared, with all of the text around it. That costs the same for a thousand windows
//! as for ten.

mod pairs;
mod readings;
mod short;
mod usual;

use pairs::{LEAST_BYTES, Pairs};
use readings::Readings;
use short::Short;

use super::literal::Window;

/// Searches for a set of windows.
#[derive(Default)]
pub(crate) struct Scan {
    /// Each once, in order.
    windows: Vec<Window>,
    /// Where none has fewer than four bytes, one.
    tables: Vec<Table>,
}

/// The windows that one pass finds.
enum Table {
    Pairs(Pairs),
    Short(Short),
}

impl Scan {
    /// A scan for `windows`, each known by its index in [`Self::windows`].
    pub(super) fn of(mut windows: Vec<Window>) -> Self {
        windows.sort_unstable();
        windows.dedup();
        windows.shrink_to_fit();
        let short = (1..LEAST_BYTES).filter_map(|key_bytes| Short::of(&windows, key_bytes).map(Table::Short));
        let tables = Pairs::of(&windows).map(Table::Pairs).into_iter().chain(short).collect();
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

    /// Calls `found` for every window in `text` that begins at `from` or behind it, more than once if it is there more
    /// than once; and for all that begin before it, if `from` is the first place in `text` at which a cursor stops.
    pub(crate) fn each(&self, text: &[u8], from: usize, mut found: impl FnMut(u32)) {
        self.each_place(text, from, |_, window| found(window));
    }

    /// The same with a place in the window.
    pub(crate) fn each_place(&self, text: &[u8], from: usize, mut found: impl FnMut(usize, u32)) {
        for table in &self.tables {
            let mut pass = |place, hash| {
                self.at(table, text, place, hash).for_each(|window| found(place, window));
                // So the pass goes on, up to the end.
                false
            };
            table.find(text, from, &mut pass);
        }
    }

    /// Whether the places come in order: each table has a pass of its own.
    pub(crate) fn is_in_order(&self) -> bool {
        self.tables.len() < 2
    }

    /// Walks over the hits in `block`.
    pub(crate) fn cursor<'a>(&'a self, block: &'a [u8]) -> Cursor<'a> {
        Cursor { scan: self, block, next: vec![Some(0); self.tables.len()], fresh: false }
    }

    /// The windows that are there whole, of those of which this is read at `place`.
    fn at<'a>(&'a self, table: &'a Table, text: &'a [u8], place: usize, hash: u32) -> impl Iterator<Item = u32> + 'a {
        table.readings().whole(&self.windows, text, place, hash)
    }

    fn is_any(&self, table: &Table, text: &[u8], place: usize, hash: u32) -> bool {
        self.at(table, text, place, hash).next().is_some()
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
    /// A place in the first window that begins at `from` or behind it; or in one that begins before it and reaches
    /// there. `from` must not go back.
    pub(crate) fn next_from(&mut self, from: usize) -> Option<usize> {
        for (table, next) in self.scan.tables.iter().zip(&mut self.next) {
            if next.is_some_and(|at| at < from || !self.fresh) {
                let mut is_any = |place, hash| self.scan.is_any(table, self.block, place, hash);
                *next = table.find(self.block, from, &mut is_any);
            }
        }
        self.fresh = true;
        self.next.iter().copied().flatten().min()
    }
}

impl Table {
    /// The first place that is looked at, at `from` or behind it, where something is read of which `is_wanted` is true.
    fn find(&self, text: &[u8], from: usize, is_wanted: &mut impl FnMut(usize, u32) -> bool) -> Option<usize> {
        match self {
            Self::Pairs(pairs) => pairs.find(text, from, is_wanted),
            Self::Short(short) => short.find(text, from, is_wanted),
        }
    }

    fn readings(&self) -> &Readings {
        match self {
            Self::Pairs(pairs) => &pairs.readings,
            Self::Short(short) => &short.readings,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::{prelude::*, sample::Index};

    use super::*;
    use crate::{
        LoadPlan, load,
        matcher::{Matcher, frequency::ORDINARY},
    };

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
        assert_eq!(cursor.next_from(12), Some(14));
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

    #[test]
    fn a_window_is_found_wherever_it_stands() {
        let letters = b"abcdefghijklmnopqrstuvwx";
        for (length, key_at) in (1..=letters.len()).flat_map(|length| (0..length.min(12)).map(move |at| (length, at))) {
            let (before, rest) = letters[..length].split_at(key_at);
            let (key, behind) = rest.split_at(rest.len().min(4));
            let scan = Scan::of(vec![Window::new(before, key, behind)]);
            for (before, behind) in (0..24).flat_map(|before| (0..6).map(move |behind| (before, behind))) {
                let text = [&b"-".repeat(before)[..], &letters[..length], &b"x".repeat(behind)].concat();
                let mut found = 0;
                scan.each(&text, 0, |_| found += 1);
                assert_eq!(found, 1, "a key at {key_at} of {length}, {before} bytes before it, {behind} behind");
                scan.each(&text[..before + length - 1], 0, |_| found += 1);
                assert_eq!(found, 1, "cut off: a key at {key_at} of {length}, {before} bytes before it");
            }
        }
    }

    /// Each place that is compared costs as much as dozens that are not.
    #[test]
    fn few_places_of_ordinary_lines_are_compared() {
        let matcher = Matcher::new(&load(&LoadPlan::default()).set, 0).unwrap();
        let (mut compared, places) = (0, ORDINARY.len() / 2);
        let mut compare = |_: usize, _: u32| {
            compared += 1;
            false
        };
        for table in &matcher.scan().tables {
            table.find(ORDINARY.as_bytes(), 0, &mut compare);
        }
        assert!(matcher.scan().tables.len() == 1 && compared * 33 < places, "{compared} of {places}");
    }

    /// Of lines that nodes write all day, and of such as they never do: what is read of their windows is at any place.
    const PIECES: &[&[u8]] = &[
        b"EXT4-fs (dm-0): ",
        b"mounted filesystem ",
        b"overlayfs: ",
        b"usable",
        b"(-5)",
        b"=-5)",
        b" UE ",
        b"zqjwxk",
        b"QZ",
        b"a",
        b"ab",
        b"aaaa",
    ];

    fn piece() -> impl Strategy<Value = Vec<u8>> {
        prop::sample::select(PIECES).prop_map(<[u8]>::to_vec)
    }

    fn window() -> impl Strategy<Value = Window> {
        let places = (any::<Index>(), any::<Index>(), 1..=24_usize);
        (prop::collection::vec(piece(), 1..4), places).prop_map(|(pieces, (begin, key_at, length))| {
            let text = pieces.concat();
            let text = &text[begin.index(text.len())..];
            let text = &text[..length.min(text.len())];
            let (before, rest) = text.split_at(key_at.index(text.len()));
            let (key, behind) = rest.split_at(rest.len().min(4));
            Window::new(before, key, behind)
        })
    }

    /// Lines that have them whole, and without one of their bytes, and any bytes around them.
    fn with_lines(windows: Vec<Window>) -> impl Strategy<Value = (Vec<Window>, Vec<Vec<u8>>)> {
        let whole = prop::sample::select(windows.clone()).prop_map(|window| window.to_vec());
        let torn = (prop::sample::select(windows.clone()), any::<Index>()).prop_map(|(window, at)| {
            let mut bytes = window.to_vec();
            bytes.remove(at.index(bytes.len()));
            bytes
        });
        let noise = prop::collection::vec(any::<u8>(), 0..4);
        let part = prop_oneof![3 => whole, 2 => torn, 2 => piece(), 3 => noise];
        let line = prop::collection::vec(part, 0..6).prop_map(|parts| {
            let bytes = parts.concat();
            bytes.into_iter().filter(|byte| *byte != b'\n').collect::<Vec<u8>>()
        });
        (Just(windows), prop::collection::vec(line, 1..8))
    }

    proptest! {
        /// From hit to hit, each line from its first hit on, and in one go, as a replay goes over a part of a block.
        #[test]
        fn a_walk_from_hit_to_hit_passes_over_no_window(
            (windows, lines) in prop::collection::vec(window(), 1..8).prop_flat_map(with_lines),
        ) {
            let (scan, block) = (Scan::of(windows), lines.join(&b'\n'));
            let (mut cursor, mut at, mut walked) = (scan.cursor(&block), 0, Vec::new());
            while let Some(hit) = (at < block.len()).then(|| cursor.next_from(at)).flatten() {
                let begin = memchr::memrchr(b'\n', &block[at..hit]).map_or(at, |newline| at + newline + 1);
                let end = memchr::memchr(b'\n', &block[hit..]).map_or(block.len(), |newline| hit + newline);
                let mut found = Vec::new();
                scan.each(&block[begin..end], hit - begin, |id| found.push(id));
                found.sort_unstable();
                found.dedup();
                walked.push((begin, found));
                at = end + 1;
            }
            let (mut expected, mut begin) = (Vec::new(), 0);
            for line in &lines {
                let numbered = (0_u32..).zip(scan.windows());
                let there = numbered.filter(|(_, window)| memchr::memmem::find(line, window).is_some());
                let there: Vec<u32> = there.map(|(id, _)| id).collect();
                expected.extend((!there.is_empty()).then_some((begin, there)));
                begin += line.len() + 1;
            }
            let mut places = Vec::new();
            scan.each_place(&block, 0, |place, id| places.push((place, id)));
            let begin_of = |place: usize| memchr::memrchr(b'\n', &block[..place]).map_or(0, |newline| newline + 1);
            let mut whole: Vec<(usize, u32)> = places.iter().map(|(place, id)| (begin_of(*place), *id)).collect();
            prop_assert!(!scan.is_in_order() || places.is_sorted_by_key(|(place, _)| *place), "{:?}", places);
            whole.sort_unstable();
            whole.dedup();
            let of_line = |(begin, ids): &(usize, Vec<u32>)| ids.iter().map(|id| (*begin, *id)).collect::<Vec<_>>();
            prop_assert_eq!(whole, expected.iter().flat_map(of_line).collect::<Vec<_>>());
            prop_assert_eq!(walked, expected);
        }

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
            scan.each(text, from, |id| found[id as usize] = true);
            let begin_behind = |window: &Window, from: usize| {
                memchr::memmem::find(&text[from..], window).map(|begin| from + begin)
            };
            for (window, found) in scan.windows().iter().zip(&found) {
                // One that begins before `from` and reaches there is found or not.
                let reaches = begin_behind(window, from.saturating_sub(window.len() - 1)).is_some();
                let is_right = if *found { reaches } else { begin_behind(window, from).is_none() };
                prop_assert!(is_right, "{:?}", window);
            }

            // A cursor stops in a window, and passes over none.
            let at = scan.cursor(text).next_from(from);
            let ends = scan.windows().iter().filter_map(|window| Some(begin_behind(window, from)? + window.len()));
            prop_assert!(ends.min().is_none_or(|end| at.is_some_and(|at| at < end)));
            let covers = |window: &Window, at: usize| {
                (0..window.len().min(at + 1)).any(|back| text[at - back..].starts_with(window))
            };
            prop_assert!(at.is_none_or(|at| at >= from && scan.windows().iter().any(|window| covers(window, at))));

            // Where it stops first, nothing of what is before is missed.
            if let Some(at) = scan.cursor(text).next_from(0) {
                let (mut all, mut behind) = (vec![false; found.len()], vec![false; found.len()]);
                scan.each(text, 0, |id| all[id as usize] = true);
                scan.each(text, at, |id| behind[id as usize] = true);
                prop_assert_eq!(behind, all);
            }
        }
    }
}
