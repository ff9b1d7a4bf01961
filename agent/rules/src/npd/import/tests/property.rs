//! A pattern finds as a native rule what it finds in Node Problem Detector's file.

use proptest::prelude::*;

use super::*;
use crate::testing;

/// Patterns of a few shared pieces, as the stock files are made.
fn written() -> impl Strategy<Value = String> {
    let atoms = [
        "task",
        "error",
        "I/O error",
        r"\d+",
        r"\w+",
        ".*",
        ".",
        r"\S+",
        "[a-c]",
        "(?i:OoP)",
        r"\[#\d+\]",
        "(a|b.)",
        " ",
        r"\.",
        "é",
        "x?",
        r"\b",
    ];
    let ends = ["", "", "", "$", ".*", ".", r"\z"];
    let parts = prop::collection::vec(proptest::sample::select(atoms.to_vec()), 1..5);
    let starts = proptest::sample::select(vec!["", "", "^", "(?m)^"]);
    (starts, parts, proptest::sample::select(ends.to_vec()))
        .prop_map(|(start, parts, end)| format!("{start}{}{end}", parts.concat()))
}

fn text() -> impl Strategy<Value = String> {
    let words = ["task", "error", "I/O error", "42", "oop", "[#7]", "a", "bc", "x", " ", ".", "é", "\n", "ab"];
    let text = prop::collection::vec(proptest::sample::select(words.to_vec()), 1..8);
    text.prop_map(|words| words.concat().trim().to_owned()).prop_filter("no record is empty", |text| !text.is_empty())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    /// As it is and as a native rule a pattern finds the same records, alone and over several lines.
    #[test]
    fn a_native_pattern_finds_the_same(
        patterns in prop::collection::vec(written(), 1..3),
        joined in prop::collection::vec(written(), 2..4),
        texts in prop::collection::vec(text(), 1..6),
        lines in 2_usize..4,
    ) {
        let single = patterns.join("|");
        let several = joined.join(r"\n");
        for (written, lines) in [(single, 1), (several, lines)] {
            let Ok(native) = pattern::native(&written, lines) else { continue };
            let npd = testing::npd("R", &written, lines);
            let ours = Rule { lines, ..testing::rule("R", &native) };
            let (mut npd, mut ours) = (testing::detector(vec![npd]), testing::detector(vec![ours]));
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let counts = |found: Vec<Vec<nodewell_model::Finding>>| found.iter().map(Vec::len).collect::<Vec<_>>();
            let (before, after) = (testing::push_all(&mut npd, &texts), testing::push_all(&mut ours, &texts));
            prop_assert_eq!(counts(before), counts(after), "{} as {} on {:?}", written, native, texts);
        }
    }

    /// A line that is made of a pattern is found by it.
    #[test]
    fn a_sample_is_found(written in written()) {
        let Ok(native) = pattern::native(&written, 1) else { return Ok(()) };
        if let Some(line) = pattern::sample(&native) {
            let npd = testing::npd("R", &written, 1);
            let found = testing::push_all(&mut testing::detector(vec![npd]), &[line.trim()]);
            prop_assert!(!found[0].is_empty() || line.trim() != line, "{written} does not find {line:?}");
        }
    }
}
