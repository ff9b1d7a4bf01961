//! What a text must contain for a pattern to match: short byte windows, taken from the pattern's syntax tree.

mod bytes;
mod place;
mod window;

use bytes::Bytes;
use place::Candidate;
use regex_syntax::hir::{Class, Hir, HirKind, Repetition};
pub(super) use window::{KEY_BYTES, Window};

/// Windows that one pattern may ask for; a longer list of alternatives is better off in the slow lane.
const WINDOWS_LIMIT: usize = 32;
/// Past this many atoms the rest of a pattern is not looked at.
const ATOMS_LIMIT: usize = 1024;
/// One short window makes a table of its own, a second pass over everything: it is taken only where longer ones would select
/// this many more lines.
const SHORT_COST: f64 = 0.05 / 110.0;
/// A key in a line costs a comparison, so much of what it costs to judge the line.
const COMPARISON: f64 = 0.02;
/// A window that would select one line of 110 bytes in three is no help.
const EXPECTED_LIMIT: f64 = 0.3 / 110.0;

/// Which part of a match the windows have to lie in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// Anywhere in the match.
    Match,
    /// Behind the last newline that the match can hold: a match that ends in the newest record has it there.
    LastLine,
}

/// Every match holds at least one of the windows.
#[derive(Clone)]
pub(super) struct Required {
    pub(super) windows: Vec<Window>,
    /// Expected occurrences for each byte of ordinary log, and those of their keys.
    expected: f64,
    expected_keys: f64,
}

impl Required {
    /// What searching costs: lines that are selected in vain, and what is compared in vain. How many windows there are
    /// costs nothing.
    fn cost(&self) -> f64 {
        let is_short = self.windows.iter().any(|window| window.key().len() < KEY_BYTES);
        cost(self.expected, self.expected_keys, is_short)
    }

    fn or_cheaper(self, other: Self) -> Self {
        if other.cost() < self.cost() { other } else { self }
    }
}

fn cost(expected: f64, expected_keys: f64, is_short: bool) -> f64 {
    expected + expected_keys * COMPARISON + if is_short { SHORT_COST } else { 0.0 }
}

/// One step of a pattern read from left to right.
enum Atom {
    /// Exactly one byte, one of these.
    Byte(Bytes),
    /// Something that breaks a run of bytes; it may itself require a window.
    Gap(Option<Required>),
    /// What the bytes that follow require as whole words. It breaks no run.
    Words(Option<Required>),
    /// Something that may hold a newline. What stands before it is not in the last line.
    Newline,
}

/// Whether a match of `hir` can hold a newline.
pub(super) fn can_match_newline(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Literal(literal) => literal.0.contains(&b'\n'),
        HirKind::Class(Class::Bytes(class)) => class.ranges().iter().any(|r| r.start() <= b'\n' && r.end() >= b'\n'),
        HirKind::Class(Class::Unicode(class)) => class.ranges().iter().any(|r| r.start() <= '\n' && r.end() >= '\n'),
        _ => hir.kind().subs().iter().any(can_match_newline),
    }
}

/// The windows one of which every match of `hir` must hold, the rarest that there are; nothing if none are worth searching
/// for.
pub(super) fn required(hir: &Hir, scope: Scope) -> Option<Required> {
    best(hir, scope).filter(|set| set.expected <= EXPECTED_LIMIT)
}

/// What the parts of a pattern require that are more than a run of bytes.
fn within(atoms: &[Atom]) -> impl Iterator<Item = Required> {
    atoms.iter().filter_map(|atom| match atom {
        Atom::Gap(required) | Atom::Words(required) => required.clone(),
        Atom::Byte(_) | Atom::Newline => None,
    })
}

fn atoms(hir: &Hir, scope: Scope) -> Vec<Atom> {
    let mut atoms = Vec::new();
    flatten(hir, scope, &mut atoms);
    if let Some(last) = atoms.iter().rposition(|atom| matches!(atom, Atom::Newline)) {
        atoms.drain(..=last);
    }
    atoms
}

fn best(hir: &Hir, scope: Scope) -> Option<Required> {
    let atoms = atoms(hir, scope);
    let mut best = None;
    for run in runs(&atoms) {
        best = cheapest_of(&run, best);
    }
    best.into_iter().chain(within(&atoms)).reduce(Required::or_cheaper)
}

fn flatten(hir: &Hir, scope: Scope, atoms: &mut Vec<Atom>) {
    if atoms.len() > ATOMS_LIMIT {
        return atoms.push(gap(hir, scope));
    }
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => atoms.extend(literal.0.iter().map(|byte| byte_atom(Bytes::one(*byte), scope))),
        HirKind::Class(class) => atoms.push(match Bytes::of_class(class) {
            Some(bytes) => byte_atom(bytes, scope),
            None => gap(hir, scope),
        }),
        HirKind::Repetition(repetition) => flatten_repetition(hir, repetition, scope, atoms),
        HirKind::Capture(capture) => flatten(&capture.sub, scope, atoms),
        HirKind::Concat(parts) => parts.iter().for_each(|part| flatten(part, scope, atoms)),
        HirKind::Alternation(branches) => flatten_alternation(hir, branches, scope, atoms),
    }
}

/// `(?:Tx|tx)` is a run of two bytes as well, which goes on beside it.
fn flatten_alternation(hir: &Hir, branches: &[Hir], scope: Scope, atoms: &mut Vec<Atom>) {
    let required = any_of(branches, scope);
    match columns(branches).filter(|_| scope == Scope::Match || !can_match_newline(hir)) {
        Some(columns) => {
            atoms.push(Atom::Words(required));
            atoms.extend(columns.into_iter().map(|bytes| byte_atom(bytes, scope)));
        }
        None => atoms.extend([gap(hir, scope), Atom::Gap(required)]),
    }
}

fn word(hir: &Hir) -> Option<&[u8]> {
    if let HirKind::Literal(literal) = hir.kind() { Some(&*literal.0) } else { None }
}

/// What may stand at each place of words of one length, if that is not too much.
fn columns(branches: &[Hir]) -> Option<Vec<Bytes>> {
    let words: Vec<&[u8]> = branches.iter().map(word).collect::<Option<_>>()?;
    let length = words.first()?.len();
    let is_even = words.iter().all(|word| word.len() == length);
    let column = |place: usize| Bytes::any(words.iter().map(|word| word[place]).collect());
    if is_even { (0..length).map(column).collect() } else { None }
}

fn flatten_repetition(hir: &Hir, repetition: &Repetition, scope: Scope, atoms: &mut Vec<Atom>) {
    let sub = &repetition.sub;
    if repetition.min == 0 {
        return atoms.push(gap(hir, scope));
    }
    if scope == Scope::LastLine && can_match_newline(sub) {
        return atoms.extend([Atom::Newline, Atom::Gap(best(sub, scope))]);
    }
    // `x{2,}` begins and ends with an x; copies of anything but a byte are not worth their number.
    let simple = matches!(sub.kind(), HirKind::Literal(_) | HirKind::Class(_));
    let copies = if simple { repetition.min.min(4) } else { 1 };
    (0..copies).for_each(|_| flatten(sub, scope, atoms));
    if repetition.max != Some(copies) {
        atoms.push(Atom::Gap(None));
    }
}

fn gap(hir: &Hir, scope: Scope) -> Atom {
    if scope == Scope::LastLine && can_match_newline(hir) { Atom::Newline } else { Atom::Gap(None) }
}

fn byte_atom(bytes: Bytes, scope: Scope) -> Atom {
    if bytes.are_plain() {
        Atom::Byte(bytes)
    } else if scope == Scope::LastLine && bytes.as_slice().contains(&b'\n') {
        Atom::Newline
    } else {
        Atom::Gap(None)
    }
}

fn any_of(branches: &[Hir], scope: Scope) -> Option<Required> {
    let mut union = Required { windows: Vec::new(), expected: 0.0, expected_keys: 0.0 };
    for branch in branches {
        let required = best(branch, scope)?;
        union.expected += required.expected;
        union.expected_keys += required.expected_keys;
        union.windows.extend(required.windows);
    }
    union.windows.sort();
    union.windows.dedup();
    (union.windows.len() <= WINDOWS_LIMIT).then_some(union)
}

/// The unbroken runs of byte atoms.
fn runs(atoms: &[Atom]) -> Vec<Vec<&[u8]>> {
    let mut runs = vec![Vec::new()];
    for atom in atoms {
        match atom {
            Atom::Byte(bytes) => runs.last_mut().expect("never empty").push(bytes.as_slice()),
            Atom::Gap(_) | Atom::Newline => runs.push(Vec::new()),
            Atom::Words(_) => {}
        }
    }
    runs
}

/// The cheapest window with a key of two to [`KEY_BYTES`] in a run, if it is cheaper than `best`; the longest are
/// looked at first.
fn cheapest_of(run: &[&[u8]], mut best: Option<Required>) -> Option<Required> {
    for length in (2..=KEY_BYTES).rev() {
        if length < KEY_BYTES && best.as_ref().is_some_and(|best| best.cost() <= SHORT_COST) {
            break;
        }
        for at in 0..(run.len() + 1).saturating_sub(length) {
            let place = Candidate::of(run, at, length);
            let cheaper = place.and_then(|place| place.below(best.as_ref().map_or(f64::INFINITY, Required::cost)));
            best = cheaper.or(best);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(pattern: &str, scope: Scope) -> Option<Vec<String>> {
        let (_, hir) = crate::pattern::compiled(crate::rule::Format::Native, pattern).unwrap();
        let text = |window: Window| String::from_utf8(window.to_vec()).unwrap();
        required(&hir, scope).map(|r| r.windows.into_iter().map(text).collect())
    }

    #[test]
    fn a_literal_is_known_by_all_of_it() {
        assert_eq!(windows("^EXT4-fs error", Scope::Match), Some(vec!["EXT4-fs error".to_owned()]));
    }

    #[test]
    fn an_alternation_needs_a_window_of_each_branch() {
        assert_eq!(windows("(?:Zebra|Quail)", Scope::Match).map(|w| w.len()), Some(2));
        assert_eq!(windows(r"(?:Zebra|\d+)", Scope::Match), None);
    }

    #[test]
    fn words_of_one_length_are_a_part_of_what_is_around_them() {
        let all = windows("(?:Tx|tx) timeout", Scope::Match).unwrap();
        assert!(all.iter().all(|window| window.ends_with("x timeout")), "{all:?}");
        assert_eq!(windows("(?:up|on)(?:up|on)", Scope::Match).map(|w| w.len()), Some(16));
        assert_eq!(windows("(?:Quail|Zebra)s", Scope::Match).unwrap(), ["Quail", "Zebra"]);
    }

    #[test]
    fn what_may_be_missing_is_not_required() {
        for pattern in ["(?:Zebra)?", "(?:Zebra)*", r"\w+", "", "^$", "[a-z]Z", r"\x00\x01\x02"] {
            assert_eq!(windows(pattern, Scope::Match), None, "{pattern}");
        }
        assert!(windows("(?:Zebra)+", Scope::Match).is_some());
        assert!(windows("(?:Zebra){2,9}", Scope::Match).is_some());
    }

    #[test]
    fn case_is_folded_into_spellings() {
        assert_eq!(windows("(?i)zqx", Scope::Match).map(|w| w.len()), Some(8));
    }

    #[test]
    fn a_short_run_is_made_longer_by_the_digit_beside_it() {
        let longer = windows(r"(?:divide error|int3): [0-9a-f]{4} \[#\d+\]", Scope::Match).unwrap();
        assert_eq!((longer.len(), longer[7].as_str()), (10, " [#7"));
    }

    #[test]
    fn a_multi_line_pattern_is_known_by_its_last_line() {
        assert_eq!(windows(r"Zebra\nQuail", Scope::LastLine), Some(vec!["Quail".to_owned()]));
        assert_eq!(windows(r"Zebra\n(?:.*\n)?Quail", Scope::LastLine), Some(vec!["Quail".to_owned()]));
        for pattern in [r"(?s)Zebra.*", r"Zebra(?:\nQuail)?", r"Zebra\s+\d", r"(?:Zebra\n|Quail)x?"] {
            assert_eq!(windows(pattern, Scope::LastLine), None, "{pattern}");
        }
        assert_eq!(windows(r"(?:A\nZebra|Quail)\z", Scope::LastLine).map(|w| w.len()), Some(2));
        assert_eq!(windows(r"(?:A\nZebra)+\z", Scope::LastLine).map(|w| w.len()), Some(1));
    }

    #[test]
    fn deep_patterns_are_cheap() {
        let deep = format!("{}Zebra^{}", "(?:".repeat(60), "){2,4}".repeat(60));
        let hir = regex_syntax::parse(&deep).unwrap();
        assert!(required(&hir, Scope::Match).is_some());
    }
}
