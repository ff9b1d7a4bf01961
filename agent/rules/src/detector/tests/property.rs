//! The one-pass engine finds exactly what a naive one finds, which runs every regex on every record.

use proptest::prelude::*;
use regex::bytes::RegexBuilder;

use crate::{
    rule::{Format, Rule},
    testing::*,
};

/// Patterns built from a few shared words, so that texts hit them, nearly hit them and overlap.
fn pattern() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        6 => proptest::sample::select(WORDS).prop_map(str::to_owned),
        2 => proptest::sample::select(&[r"\d+", r"\w", ".", ".*", r"\s", "[a-c]", r"\S+", r"\x00", r"\xff", "(?i:OoP)"][..])
            .prop_map(str::to_owned),
        1 => proptest::sample::select(&["^", "$", r"\b", r"\n", r"\z", "(?m:^)"][..]).prop_map(str::to_owned),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            4 => prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| parts.concat()),
            2 => prop::collection::vec(inner.clone(), 2..4).prop_map(|parts| format!("(?:{})", parts.join("|"))),
            1 => (inner.clone(), proptest::sample::select(&["?", "*", "+", "{2}", "{1,3}"][..]))
                .prop_map(|(inner, times)| format!("(?:{inner}){times}")),
            1 => inner.prop_map(|inner| format!("(?i:{inner})")),
        ]
    })
}

const WORDS: &[&str] = &[
    "EXT4-fs",
    "EXT4",
    "T4-f",
    "error",
    "I/O error",
    "task",
    "oops",
    "Oops:",
    "ab",
    "abcd",
    "bcde",
    "cdef",
    " ",
    "a\nb",
    "Out of memory",
    "of mem",
    "\nQuail",
    "é",
];

fn text() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        5 => proptest::sample::select(WORDS).prop_map(|word| word.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..4),
        1 => proptest::sample::select(WORDS).prop_map(|word| word.to_uppercase().into_bytes()),
        1 => (proptest::sample::select(WORDS), any::<prop::sample::Index>()).prop_map(|(word, at)| {
            let mut word = word.as_bytes().to_vec();
            word.remove(at.index(word.len()));
            word
        }),
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

fn rules() -> impl Strategy<Value = Vec<Rule>> {
    // Few, and more than are read for those of few.
    let lines = prop_oneof![4 => 1..5_usize, 1 => 9..12_usize];
    let one = (prop::collection::vec(pattern(), 1..3), lines, any::<bool>());
    prop::collection::vec(one, 1..12).prop_map(|rules| {
        let rules = rules.into_iter().enumerate().map(|(n, (patterns, lines, native))| Rule {
            format: if native { Format::Native } else { Format::Npd },
            lines,
            patterns,
            ..rule(&format!("R{n}"), "")
        });
        rules.collect()
    })
}

/// The index of the rule and the records of the match, for each rule that matches the newest of `texts`.
fn naive(rules: &[Rule], texts: &[Vec<u8>]) -> Vec<(String, String)> {
    rules.iter().filter_map(|rule| Some((rule.reason.to_string(), naive_message(rule, texts)?))).collect()
}

fn naive_message(rule: &Rule, texts: &[Vec<u8>]) -> Option<String> {
    let window = &texts[texts.len().saturating_sub(rule.lines)..];
    let window: Vec<&[u8]> = window
        .iter()
        .map(|text| if rule.format == Format::Npd { text.trim_ascii() } else { text.as_slice() })
        .collect();
    rule.patterns.iter().find_map(|pattern| {
        let lengths = 1..=window.len();
        let lengths: Vec<usize> = if rule.format == Format::Npd { lengths.rev().collect() } else { lengths.collect() };
        lengths.into_iter().find_map(|length| naive_match(rule.format, pattern, &window[window.len() - length..]))
    })
}

fn naive_match(format: Format, pattern: &str, window: &[&[u8]]) -> Option<String> {
    let source = match format {
        // RE2's classes are not quite Rust's: `\s` has no vertical tab there.
        Format::Npd => format!(r"{}\z", crate::npd::translate_re2(pattern).unwrap()),
        Format::Native => pattern.to_owned(),
    };
    let regex = RegexBuilder::new(&source).unicode(false).build().unwrap();
    let joined = window.join(&b'\n');
    let newest = joined.len() - window.last()?.len();
    let reaches = |end: usize| end > newest || end == joined.len() || window.len() == 1;
    let found = regex.find_iter(&joined).find(|found| reaches(found.end()))?;
    let mut at = 0;
    let first = window.iter().position(|line| {
        at += line.len() + 1;
        found.start() < at
    })?;
    Some(nodewell_model::text::message(&window[first..].join(&b'\n')))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn one_pass_equals_naive(rules in rules(), texts in prop::collection::vec(text(), 1..14)) {
        let mut detector = detector(rules.clone());
        for newest in 0..texts.len() {
            let mut out = Vec::new();
            detector.push(&record(&texts[newest], 1), &mut out);
            let found: Vec<_> = out.into_iter().map(|f| (f.reason.to_string(), f.message)).collect();
            prop_assert_eq!(found, naive(&rules, &texts[..=newest]));
        }
    }
}
