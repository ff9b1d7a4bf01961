//! What the newest line has to begin with for a pattern of several lines to match: that is looked at before the lines
//! before it are even read.

use std::slice::from_ref;

use regex_syntax::hir::{Hir, HirKind, Look};

use super::{
    literal::can_match_newline,
    steps::{GROUPS, Steps, Way, walk_in},
};

/// What of a match is behind its last newline. A match that reaches into the newest record has that at the start of the
/// record, or behind a newline in it.
pub(super) struct Tail(Steps);

impl Tail {
    /// `None`: nothing is known of where the last line of a match begins.
    pub(super) fn of(hir: &Hir) -> Option<Self> {
        Steps::of(&last_line(hir)?, [None; GROUPS]).map(Self)
    }

    /// False if no match reaches into a newest record with this text. A text of very many lines is walked no further
    /// than one line of its length.
    pub(super) fn may_be_in(&self, text: &[u8], ways: &mut Vec<Way>) -> bool {
        let mut left = walk_in(text.len());
        let behind_newlines = memchr::memchr_iter(b'\n', text).map(|newline| newline + 1);
        let mut starts = std::iter::once(0).chain(behind_newlines);
        starts.any(|start| !matches!(self.0.find_within(&text[start..], &mut left, ways), Ok(None)))
    }
}

/// The part of `hir` that follows the last newline of every match, as a pattern for a text that begins with it.
fn last_line(hir: &Hir) -> Option<Hir> {
    let HirKind::Concat(parts) = hir.kind() else { return None };
    let last = parts.iter().rposition(can_match_newline)?;
    let mut line = vec![Hir::look(Look::Start)];
    match parts[last].kind() {
        HirKind::Literal(literal) => {
            let behind = memchr::memrchr(b'\n', &literal.0)? + 1;
            line.push(Hir::literal(&literal.0[behind..]));
        }
        _ if ends_in_newline(&parts[..=last]) => {}
        _ => return None,
    }
    line.extend_from_slice(&parts[last + 1..]);
    Some(Hir::concat(line))
}

/// Whether the last byte of every match of `parts`, one behind the other, is a newline.
fn ends_in_newline(parts: &[Hir]) -> bool {
    let Some((last, before)) = parts.split_last() else { return false };
    match last.kind() {
        HirKind::Empty | HirKind::Look(_) => ends_in_newline(before),
        HirKind::Literal(literal) => literal.0.ends_with(b"\n"),
        HirKind::Class(_) => false,
        HirKind::Repetition(repetition) => {
            ends_in_newline(from_ref(repetition.sub.as_ref())) && (repetition.min > 0 || ends_in_newline(before))
        }
        HirKind::Capture(capture) => ends_in_newline(from_ref(capture.sub.as_ref())),
        HirKind::Concat(parts) => ends_in_newline(parts),
        HirKind::Alternation(branches) => branches.iter().all(|branch| ends_in_newline(from_ref(branch))),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        LoadPlan, load,
        matcher::literal::{Scope, required},
        pattern::{build, compiled},
        rule::Format,
    };

    fn tail(pattern: &str) -> Option<Tail> {
        Tail::of(&compiled(Format::Native, pattern).unwrap().1)
    }

    #[test]
    fn the_newest_line_has_to_begin_with_what_follows_the_last_newline() {
        for (pattern, lines, others) in [
            (r"^Oops\nIP: \[<", &["IP: [<", "IP: [<x", "x\nIP: [<"][..], &["x IP: [<", "IP", "x\nIP", ""][..]),
            (r"a\n(?:[^\n]*\n)?(?:b: )?c$", &["c", "b: c", "x\nc"], &["x", "b: ", "cc", "c\n"]),
            (r"a(?:x?\n){1,3}b", &["b", "bb"], &["ab", "", "x"]),
            (r"^a\n", &["", "x"], &[]),
        ] {
            let tail = tail(pattern).unwrap();
            for (text, expected) in lines.iter().map(|line| (line, true)).chain(others.iter().map(|line| (line, false)))
            {
                assert_eq!(tail.may_be_in(text.as_bytes(), &mut Vec::new()), expected, "{pattern} in {text:?}");
            }
        }
    }

    #[test]
    fn a_last_line_that_may_begin_anywhere_is_not_known() {
        for pattern in ["a", r"a\nb|c", r"(?s)a.*b", r"a(?:\nb)?c", r"a\n?b", r"a(?:b\n)?c", r"a\n(?:b|\nc)d", r"a\s+b"]
        {
            assert!(tail(pattern).is_none(), "{pattern}");
        }
    }

    #[test]
    fn many_lines_with_many_ways_are_left_to_a_regex() {
        let tail = tail(r"a\n[^\n]*b[^\n]*b[^\n]*c$").unwrap();
        let lines = |count: usize| vec!["b".repeat(24); count].join("\n");
        assert!(!tail.may_be_in(lines(1).as_bytes(), &mut Vec::new()));
        assert!(tail.may_be_in(lines(1000).as_bytes(), &mut Vec::new()));
    }

    #[test]
    fn the_shipped_patterns_of_several_lines_have_one() {
        let set = load(&LoadPlan::default()).set;
        let of_several = set.rules.iter().filter(|rule| rule.lines > 1).flat_map(|rule| &rule.patterns);
        let of_several = of_several.filter(|pattern| can_match_newline(&compiled(Format::Native, pattern).unwrap().1));
        let without: Vec<&String> = of_several.filter(|pattern| tail(pattern).is_none()).collect();
        // Those two may have anything before what they end with.
        assert!(without.iter().all(|pattern| pattern.starts_with("(?s)^NVRM: ")), "{without:#?}");
    }

    /// With newlines that have to be there and such as may be, in all places.
    const PARTS: [&str; 20] = [
        "Z",
        "Q",
        "ZQ",
        "QZ",
        ".",
        "[ZQ]*",
        "[^\n]*",
        "Z?",
        "(?:ZQ|QZ)+",
        "(?P<subject>ZQ)",
        "\n",
        "\n",
        "ZQ\nQZ",
        "(?:Z?\n)",
        "(?:Q\n)?",
        "(?:ZQ\n|Q?\n)",
        "(?:\n[ZQ]?){1,2}",
        "(?m:^)",
        "$",
        r"\b",
    ];

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

        /// A match that reaches into the newest record has the tail there, and one of its windows.
        #[test]
        fn no_match_is_lost(
            parts in prop::collection::vec(prop::sample::select(PARTS.to_vec()), 1..6),
            records in prop::collection::vec("[ZQ]{0,3}(\n[ZQ]{0,3})?", 1..4),
        ) {
            // A group may be there once.
            let Ok((source, hir)) = compiled(Format::Native, &parts.concat()) else { return Ok(()) };
            let regex = build(&source).unwrap();
            let newest = records[records.len() - 1].as_bytes();
            let is_in = |records: &[String]| {
                let joined = records.join("\n");
                let begin = joined.len() - newest.len();
                let reaches = |end: usize| end > begin || end == joined.len() || records.len() == 1;
                regex.find_iter(joined.as_bytes()).any(|found| reaches(found.end()))
            };
            if (0..records.len()).any(|first| is_in(&records[first..])) {
                prop_assert!(Tail::of(&hir).is_none_or(|tail| tail.may_be_in(newest, &mut Vec::new())), "{:?}", source);
                let is_there = |window: &[u8]| memchr::memmem::find(newest, window).is_some();
                let windows = required(&hir, Scope::LastLine).map(|required| required.windows);
                prop_assert!(
                    windows.is_none_or(|windows| windows.iter().any(|window| is_there(window))),
                    "the windows of {:?}",
                    source
                );
            }
        }
    }
}
