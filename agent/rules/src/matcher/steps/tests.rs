//! Steps find what a regex finds, and its groups.

use proptest::prelude::*;
use regex::bytes::Regex;

use super::*;
use crate::{
    LoadPlan, load,
    pattern::{build, compiled},
    rule::{Format, Reader},
};

/// Where a match and its subject are; `None` where there is no match.
type Places = Option<Option<Range<usize>>>;

/// A pattern both ways.
struct Both {
    regex: Regex,
    steps: Option<Steps>,
}

impl Both {
    fn of(pattern: &str) -> Self {
        let (source, hir) = compiled(Format::Native, pattern).unwrap();
        let regex = build(&source).unwrap();
        let subject = regex.capture_names().position(|name| name == Some("subject"));
        let steps = Steps::of(&hir, [None, subject, None]);
        Self { regex, steps }
    }

    fn by_regex(&self, text: &[u8]) -> Places {
        let captures = self.regex.captures(text)?;
        Some(captures.name("subject").map(|subject| subject.range()))
    }
}

fn steps(pattern: &str) -> Option<Steps> {
    Both::of(pattern).steps
}

fn by_steps(steps: &Steps, text: &[u8]) -> Result<Places, TooLong> {
    let found = steps.find(text, &mut Vec::new())?;
    Ok(found.map(|marks| {
        let [_, _, begin, end, ..] = marks.0;
        assert_eq!(marks.group(text, 1), text.get(begin..end));
        (begin != NOWHERE).then_some(begin..end)
    }))
}

/// Patterns in which one way overlaps with another, so that it matters which is tried first.
fn pattern() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        4 => prop::sample::select(&["a", "b", "ab", "ba", "aab", ":", " "][..]),
        3 => prop::sample::select(&["[ab]", "[^a]", "[^:]", ".", r"\w", r"\S", "(?s:.)", r"\xff", "(?i:A)"][..]),
        1 => prop::sample::select(&["^", "$", r"\b", r"\B", "(?m:^)", "(?m:$)", ""][..]),
    ];
    leaf.prop_map(str::to_owned).prop_recursive(4, 24, 4, |inner| {
        let times = ["?", "*", "+", "{2}", "{1,3}", "{0,2}", "{2,}", "??", "*?", "+?", "{1,3}?", "{0,2}?"];
        prop_oneof![
            4 => prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| parts.concat()),
            2 => prop::collection::vec(inner.clone(), 2..4).prop_map(|parts| format!("(?:{})", parts.join("|"))),
            2 => (inner, prop::sample::select(times.to_vec())).prop_map(|(inner, times)| format!("(?:{inner}){times}")),
        ]
    })
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop::sample::select(b"aaabbb:: \n_\xff".to_vec());
    prop::collection::vec(byte, 0..24)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn as_a_regex(
        before in pattern(),
        subject in pattern(),
        behind in pattern(),
        form in 0..4_usize,
        texts in prop::collection::vec(text(), 1..6),
    ) {
        let pattern = match form {
            0 => format!("{before}(?P<subject>{subject}){behind}"),
            1 => format!("^{before}(?P<subject>{subject}){behind}"),
            2 => format!("{before}(?:(?P<subject>{subject}){behind})?"),
            _ => format!("{before}(?:{behind}|(?P<subject>{subject}))+"),
        };
        let both = Both::of(&pattern);
        for text in &texts {
            if let Some(Ok(found)) = both.steps.as_ref().map(|steps| by_steps(steps, text)) {
                prop_assert_eq!(found, both.by_regex(text), "{:?} in {:?}", pattern, text);
            }
        }
    }
}

#[test]
fn the_first_way_that_leads_to_a_match_is_taken() {
    for (pattern, text, expected) in [
        ("^(?P<subject>[^:]+): (?:down|up)$", "eth0: up", Some(Some(0..4))),
        (r"^(?P<subject>\S+): down", "a:b: down: down", Some(Some(0..3))),
        (r"^(?P<subject>\S+?)(?:-8)?\.$", "sda1-8.", Some(Some(0..4))),
        ("(?P<subject>a|ab)", "xab", Some(Some(1..2))),
        ("(?P<subject>ab|a)", "xab", Some(Some(1..3))),
        ("^(?:x(?P<subject>a))?b", "b", Some(None)),
        (r"link is down\b", "link is downs, link is down", Some(None)),
        (r"link is down\b", "link is downs", None),
        ("^(?P<subject>a{2,3})a$", "aaa", Some(Some(0..2))),
        ("^(?P<subject>a{2,3}):", "aaaa:", None),
        ("(?P<subject>a{2,3}):", "aaaa:", Some(Some(1..4))),
        ("", "", Some(None)),
    ] {
        let both = Both::of(pattern);
        assert_eq!(both.by_regex(text.as_bytes()), expected, "{pattern:?} in {text:?}");
        let found = by_steps(&both.steps.unwrap(), text.as_bytes());
        assert_eq!(found, Ok(expected), "{pattern:?} in {text:?}");
    }
}

#[test]
fn what_only_a_regex_can_do_is_left_to_it() {
    for pattern in ["(?u:[ä-ü])", "(?:a*)*", "(?:a|b?){2,}", r"(?u:\b)a", "(?:ab[cd]){600}"] {
        assert!(steps(pattern).is_none(), "{pattern}");
    }
}

#[test]
fn a_text_with_too_many_ways_is_left_to_a_regex() {
    let endless = steps("^(?:a|aa|[ab])*c").unwrap();
    let text = "a".repeat(64);
    assert_eq!(by_steps(&endless, text.as_bytes()), Err(TooLong));
    assert_eq!(by_steps(&endless, b"aac"), Ok(Some(None)));
    // A long run is no way, and a long line has room in proportion.
    let run = steps("^[^:]*: down").unwrap();
    let text = format!("{}: down", "a".repeat(1 << 20));
    assert_eq!(by_steps(&run, text.as_bytes()), Ok(Some(None)));
    // Each byte is a way to go back to: more than are kept.
    let ways = steps(r#"^(?:[^"\\]|\\.)*""#).unwrap();
    let text = format!("{}\"", "a".repeat(1 << 20));
    assert_eq!(by_steps(&ways, text.as_bytes()), Err(TooLong));
}

/// The examples of each rule, whole and as each of their lines, by its own patterns.
#[test]
fn every_shipped_pattern_has_steps_that_find_the_same_in_its_examples() {
    let set = load(&LoadPlan::default()).set;
    for rule in &set.rules {
        let examples = rule.examples.matches.iter().chain(&rule.examples.ignores).chain(&rule.examples.recovers);
        let texts: Vec<&str> =
            examples.flat_map(|example| [&*example.text].into_iter().chain(example.text.lines())).collect();
        for pattern in rule.patterns.iter().chain(&rule.clears.patterns) {
            let both = Both::of(pattern);
            let steps = both.steps.as_ref().unwrap_or_else(|| panic!("{pattern} has no steps"));
            for text in &texts {
                match by_steps(steps, text.as_bytes()) {
                    Ok(found) => assert_eq!(found, both.by_regex(text.as_bytes()), "{pattern} in {text}"),
                    // A message of a program is long, and what it quotes has many ways.
                    Err(TooLong) if rule.lines > 1 || set.readers[rule.reader] != Reader::Kmsg => {}
                    Err(TooLong) => panic!("{pattern} has too many ways in {text}"),
                }
            }
        }
    }
}
