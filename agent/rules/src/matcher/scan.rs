//! The one pass: finds the windows of all rules in a block of text at once.

use std::collections::HashMap;

use super::choice::{Choice, PATTERNS_LIMIT};
use aho_corasick::{AhoCorasick, MatchKind, Span, packed};

/// Searches for a set of windows.
#[derive(Default)]
pub(crate) struct Scan {
    windows: Vec<Vec<u8>>,
    groups: Vec<Group>,
    /// For each window the others that can begin at the same place: its prefixes and extensions.
    kin: Vec<Vec<u32>>,
}

/// One searcher and the window that each of its patterns is.
struct Group {
    engine: Engine,
    ids: Vec<u32>,
}

enum Engine {
    /// Vector instructions (Teddy).
    Packed(Box<packed::Searcher>),
    /// Where the processor has none that the packed searcher can use.
    Automaton(AhoCorasick),
}

impl Scan {
    /// A scan for the windows that were chosen, each known by its index.
    pub(super) fn of(choice: Choice) -> Self {
        let Choice { windows, groups, .. } = choice;
        let groups = groups.into_iter().map(|ids| Group::new(&windows, ids)).collect();
        let kin = kin(&windows);
        Self { windows, groups, kin }
    }

    /// One scan that hits wherever any of `scans` does, or any of `more`. Each keeps the buckets that were chosen for it.
    pub(crate) fn joined<'a>(scans: impl IntoIterator<Item = &'a Self>, more: &[&[u8]]) -> Self {
        let (mut windows, mut groups) = (Vec::new(), Vec::new());
        let mut number = |window: &[u8]| {
            windows.push(window.to_vec());
            u32::try_from(windows.len() - 1).expect("rule files are smaller than 4 GiB")
        };
        for scan in scans {
            let numbers: Vec<u32> = scan.windows.iter().map(|window| number(window)).collect();
            groups.extend(scan.groups.iter().map(|group| group.ids.iter().map(|id| numbers[*id as usize]).collect()));
        }
        let more: Vec<u32> = more.iter().map(|window| number(window)).collect();
        match groups.first_mut().filter(|group: &&mut Vec<u32>| group.len() + more.len() <= PATTERNS_LIMIT) {
            Some(group) => group.extend(more),
            None => groups.extend((!more.is_empty()).then_some(more)),
        }
        Self::of(Choice { windows, groups, by_pattern: Vec::new() })
    }

    /// The windows, by index.
    #[cfg(test)]
    pub(crate) fn windows(&self) -> &[Vec<u8>] {
        &self.windows
    }

    /// Calls `found` for every window that occurs in `text`, more than once if it does so more than once.
    pub(crate) fn each(&self, text: &[u8], mut found: impl FnMut(u32)) {
        for group in &self.groups {
            let mut at = 0;
            while let Some((start, id)) = group.find(text, at) {
                found(id);
                for other in &self.kin[id as usize] {
                    if text[start..].starts_with(&self.windows[*other as usize]) {
                        found(*other);
                    }
                }
                at = start + 1;
            }
        }
    }

    /// Walks over the hits in `block`.
    pub(crate) fn cursor<'a>(&'a self, block: &'a [u8]) -> Cursor<'a> {
        Cursor { scan: self, block, next: vec![Some(0); self.groups.len()], fresh: false }
    }
}

/// A place in a block, for each searcher its next hit behind it.
pub(crate) struct Cursor<'a> {
    scan: &'a Scan,
    block: &'a [u8],
    next: Vec<Option<usize>>,
    fresh: bool,
}

impl Cursor<'_> {
    /// Where the first window at or behind `from` begins. `from` must not go back.
    pub(crate) fn next_from(&mut self, from: usize) -> Option<usize> {
        for (group, next) in self.scan.groups.iter().zip(&mut self.next) {
            if next.is_some_and(|at| at < from || !self.fresh) {
                *next = group.find(self.block, from).map(|(start, _)| start);
            }
        }
        self.fresh = true;
        self.next.iter().copied().flatten().min()
    }
}

impl Group {
    fn new(windows: &[Vec<u8>], ids: Vec<u32>) -> Self {
        let patterns = || ids.iter().map(|id| windows[*id as usize].as_slice());
        let mut config = packed::Config::new();
        // Eight buckets and twice the text at once: where windows are chosen to fit, sixteen only halve the speed.
        config.heuristic_pattern_limits(false).only_teddy_fat(Some(false));
        let engine = match config.builder().extend(patterns()).build() {
            Some(searcher) => Engine::Packed(Box::new(searcher)),
            None => Engine::Automaton(automaton(patterns())),
        };
        Self { engine, ids }
    }

    fn find(&self, text: &[u8], from: usize) -> Option<(usize, u32)> {
        let span = Span::from(from..text.len());
        let found = match &self.engine {
            Engine::Packed(searcher) => searcher.find_in(text, span),
            Engine::Automaton(automaton) => automaton.find(aho_corasick::Input::new(text).span(span)),
        };
        found.map(|found| (found.start(), self.ids[found.pattern().as_usize()]))
    }
}

fn automaton<'a>(patterns: impl Iterator<Item = &'a [u8]>) -> AhoCorasick {
    AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostFirst)
        .build(patterns)
        .expect("a hundred windows of four bytes are far below every limit")
}

/// For each window its prefixes and extensions.
fn kin(windows: &[Vec<u8>]) -> Vec<Vec<u32>> {
    let ids: HashMap<&[u8], u32> = windows.iter().map(Vec::as_slice).zip(0..).collect();
    let mut kin = vec![Vec::new(); windows.len()];
    for (window, id) in windows.iter().zip(0_u32..) {
        for prefix in (1..window.len()).filter_map(|end| ids.get(&window[..end])) {
            kin[id as usize].push(*prefix);
            kin[*prefix as usize].push(id);
        }
    }
    kin
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matcher::{choice, literal::Required};

    fn scan_of(windows: &[&str]) -> Scan {
        let alone = |window: &&str| vec![Required::any(vec![window.as_bytes().to_vec()])];
        Scan::of(choice::choose(&windows.iter().map(alone).collect::<Vec<_>>()))
    }

    /// The numbers that `windows` have there, of those that are found.
    fn found(windows: &[&str], text: &str) -> Vec<usize> {
        let scan = scan_of(windows);
        let mut found = Vec::new();
        scan.each(text.as_bytes(), |id| {
            let window = &scan.windows()[id as usize];
            found.extend(windows.iter().position(|known| known.as_bytes() == window.as_slice()));
        });
        found.sort_unstable();
        found.dedup();
        found
    }

    #[test]
    fn overlapping_and_nested_windows_are_all_found() {
        assert_eq!(found(&["abcd", "bcde", "ab", "abc", "zzzz"], "xxabcdexx"), [0, 1, 2, 3]);
        assert_eq!(found(&["aaaa"], "aaa"), [0; 0]);
        assert_eq!(found(&[], "abc"), [0; 0]);
    }

    #[test]
    fn more_windows_than_one_searcher_takes_are_found() {
        let windows: Vec<String> = (0..300).map(|n| format!("w{n:03}")).collect();
        let windows: Vec<&str> = windows.iter().map(String::as_str).collect();
        assert_eq!(found(&windows, "w000 w127w128 w299 w300 padding of a line that is long"), [0, 127, 128, 299]);
        let all = windows.concat();
        assert_eq!(found(&windows, &all).len(), 300);
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
    }

    #[test]
    fn a_joined_scan_hits_where_any_of_its_parts_does() {
        let parts = [scan_of(&["abcd", "xy"]), scan_of(&["abcd", "bcde"]), scan_of(&[])];
        let joined = Scan::joined(&parts, &[b"Linux version", b"abc"]);
        let hits = |text: &str| joined.cursor(text.as_bytes()).next_from(0);
        for (text, hit) in [
            ("..abcd", Some(2)),
            ("..bcde", Some(2)),
            ("......xy", Some(6)),
            ("a Linux version and more text of it", Some(2)),
            ("a Linux machine and more text of it", None),
            ("..abc.", Some(2)),
        ] {
            assert_eq!(hits(text), hit, "{text}");
        }
        assert_eq!(Scan::joined(&parts[2..], &[b"E"]).cursor(b"..E").next_from(0), Some(2));
    }

    #[test]
    fn the_automaton_finds_what_the_packed_searcher_finds() {
        let windows = [b"abcd".as_slice(), b"bcde"];
        let group = Group { engine: Engine::Automaton(automaton(windows.into_iter())), ids: vec![0, 1] };
        assert_eq!(group.find(b"xxabcde", 0), Some((2, 0)));
        assert_eq!(group.find(b"xxabcde", 3), Some((3, 1)));
    }
}
