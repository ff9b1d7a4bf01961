//! Steps find what a regex finds, and its groups.

use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};
use regex::bytes::Regex;

use super::*;
use crate::{
    LoadPlan, load,
    pattern::{build, compiled},
    rule::{Format, Reader},
};

/// Where the groups of a match are; `None` where there is no match.
type Places = Option<[Option<Range<usize>>; GROUPS]>;

const NAMES: [&str; GROUPS] = ["subject", "pid", "pod"];

/// A pattern both ways.
struct Both {
    regex: Regex,
    steps: Option<Steps>,
}

impl Both {
    fn of(pattern: &str) -> Self {
        Self::read(Format::Native, pattern).unwrap()
    }

    /// `None` for what the format does not have.
    fn read(format: Format, pattern: &str) -> Option<Self> {
        let (source, hir) = compiled(format, pattern).ok()?;
        let regex = build(&source).unwrap();
        let groups = NAMES.map(|wanted| regex.capture_names().position(|name| name == Some(wanted)));
        let steps = Steps::of(&hir, groups);
        Some(Self { regex, steps })
    }

    fn by_regex(&self, text: &[u8]) -> Places {
        let captures = self.regex.captures(text)?;
        Some(NAMES.map(|name| captures.name(name).map(|group| group.range())))
    }
}

fn steps(pattern: &str) -> Option<Steps> {
    Both::of(pattern).steps
}

fn by_steps(steps: &Steps, text: &[u8]) -> Result<Places, TooLong> {
    let found = steps.find(text, &mut Vec::new())?;
    let place = |marks: &Marks, nth: usize| {
        let (begin, end) = (marks.0[2 * nth], marks.0[2 * nth + 1]);
        assert_eq!(marks.group(text, nth), text.get(begin..end));
        (begin != NOWHERE).then_some(begin..end)
    };
    Ok(found.map(|marks| std::array::from_fn(|nth| place(&marks, nth))))
}

/// Of a match, where its subject is.
fn subject(places: Places) -> Option<Option<Range<usize>>> {
    places.map(|[subject, ..]| subject)
}

/// Patterns in which one way overlaps with another, so that it matters which is tried first.
fn pattern() -> impl Strategy<Value = String> {
    let literals = ["a", "b", "ab", "ba", "aab", ":", " ", "A", "9", r"\n", "é"];
    let sets = [
        "[ab]",
        "[^a]",
        r"[^:\n]",
        ".",
        r"\w",
        r"\W",
        r"\S",
        r"\d",
        "(?s:.)",
        r"\xff",
        r"[\x80-\xff]",
        "(?i:A)",
        "(?i:bA)",
        "(?u:[a-b])",
    ];
    let others = ["^", "$", r"\A", r"\z", r"\b", r"\B", "(?m:^)", "(?m:$)", ""];
    let leaf = prop_oneof![
        4 => prop::sample::select(literals.to_vec()),
        3 => prop::sample::select(sets.to_vec()),
        1 => prop::sample::select(others.to_vec()),
    ];
    leaf.prop_map(str::to_owned).prop_recursive(4, 64, 4, |inner| {
        let times =
            ["?", "*", "+", "{0}", "{2}", "{1,3}", "{0,2}", "{2,}", "??", "*?", "+?", "{1,3}?", "{0,2}?", "{2,}?"];
        prop_oneof![
            4 => prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| parts.concat()),
            2 => prop::collection::vec(inner.clone(), 2..4).prop_map(|parts| format!("(?:{})", parts.join("|"))),
            2 => (inner, prop::sample::select(times.to_vec())).prop_map(|(inner, times)| repeated(&inner, times)),
        ]
    })
}

/// `inner` so many times; what may be nothing once at most, as only a regex repeats that.
fn repeated(inner: &str, times: &str) -> String {
    let length = compiled(Format::Native, inner).ok().and_then(|(_, hir)| hir.properties().minimum_len());
    let may_be_empty = length.is_none_or(|bytes| bytes == 0);
    let is_lazy = times.len() > 1 && times.ends_with('?');
    let once = if is_lazy { "??" } else { "?" };
    format!("(?:{inner}){}", if may_be_empty { once } else { times })
}

/// Three patterns with the groups around them, in six ways.
fn grouped(form: usize, before: &str, subject: &str, behind: &str) -> String {
    match form {
        0 => format!("{before}(?P<subject>{subject}){behind}"),
        1 => format!("^{before}(?P<subject>{subject}){behind}"),
        2 => format!("{before}(?:(?P<subject>{subject}){behind})?"),
        3 => format!("(?:a{before}|[ab](?P<subject>{subject}))+{behind}"),
        4 => format!("(?P<pod>(?P<pid>{before})(?P<subject>{subject})?){behind}$"),
        _ => format!("(?:(?P<pid>a{before})|(?P<pod>b(?P<subject>{subject})?)){{2,}}?{behind}"),
    }
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    let bytes = |size: Range<usize>| {
        prop::collection::vec(prop::sample::select(b"aaaabbbbA::  9\n\r\0_\xff\xc3\xa9".to_vec()), size)
    };
    let long =
        (bytes(1..4), 50..200_usize, bytes(0..4)).prop_map(|(unit, times, end)| [unit.repeat(times), end].concat());
    prop_oneof![12 => bytes(0..24), 1 => long]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn as_a_regex(
        (before, subject, behind) in (pattern(), pattern(), pattern()),
        form in 0..6_usize,
        npd in any::<bool>(),
        texts in prop::collection::vec(text(), 1..6),
    ) {
        let pattern = grouped(form, &before, &subject, &behind);
        let both = Both::read(if npd { Format::Npd } else { Format::Native }, &pattern);
        let steps = both.as_ref().and_then(|both| both.steps.as_ref());
        for (both, steps) in both.iter().zip(steps) {
            for text in &texts {
                if let Ok(found) = by_steps(steps, text) {
                    prop_assert_eq!(found, both.by_regex(text), "{:?} in {:?}", pattern, text);
                }
            }
        }
    }
}

/// Else the property above would say little.
#[test]
fn nearly_all_of_these_patterns_have_steps_that_tell() {
    let mut runner = TestRunner::deterministic();
    let (mut have, mut tell) = (0, 0);
    for form in (0..6).cycle().take(300) {
        let mut drawn = || pattern().new_tree(&mut runner).unwrap().current();
        let pattern = grouped(form, &drawn(), &drawn(), &drawn());
        let Some(Both { steps: Some(steps), .. }) = Both::read(Format::Native, &pattern) else { continue };
        have += 1;
        tell += u32::from(by_steps(&steps, b"aab: A9\n_\xff ab").is_ok());
    }
    assert!(have > 250 && tell > 180, "of 300 patterns {have} have steps, and {tell} of them tell");
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
        ("(?:(?P<subject>a)|b)+", "ab", Some(Some(0..1))),
        ("(?P<subject>ab){2,}", "ababab", Some(Some(4..6))),
        ("(?P<subject>(?:ab){2,}?)", "ababab", Some(Some(0..4))),
        ("^(?P<subject>b)$", "a\nb\nc", None),
        ("(?m)^(?P<subject>b)$", "a\nb\nc", Some(Some(2..3))),
        ("(?P<subject>b)$", "b\n", None),
        ("^(?P<subject>.*)", "a\nb", Some(Some(0..1))),
        ("^(?P<subject>[^:]*):", "\u{e9}:", Some(Some(0..2))),
        ("(?i)^(?P<subject>k)", "\u{212a}", None),
        (r"a[^\x00-\xff]|(?P<subject>b)", "ab", Some(Some(1..2))),
        ("", "", Some(None)),
    ] {
        let both = Both::of(pattern);
        assert_eq!(subject(both.by_regex(text.as_bytes())), expected, "{pattern:?} in {text:?}");
        let found = by_steps(&both.steps.unwrap(), text.as_bytes());
        assert_eq!(found.map(subject), Ok(expected), "{pattern:?} in {text:?}");
    }
}

#[test]
fn what_only_a_regex_can_do_is_left_to_it() {
    for pattern in
        ["(?u:[ä-ü])", "(?u:.)", "(?iu:k)", "(?:a*)*", "(?:a|b?){2,}", r"(?u:\b)a", "(?Rm:^)a", "(?:ab[cd]){2000}"]
    {
        assert!(steps(pattern).is_none(), "{pattern}");
    }
}

#[test]
fn a_text_with_too_many_ways_is_left_to_a_regex() {
    let endless = steps("^(?:a|aa|[ab])*c").unwrap();
    let text = "a".repeat(64);
    assert_eq!(by_steps(&endless, text.as_bytes()), Err(TooLong));
    assert_eq!(by_steps(&endless, b"aac").map(subject), Ok(Some(None)));
    // A long run is no way, and a long line has room in proportion.
    let run = steps("^[^:]*: down").unwrap();
    let text = format!("{}: down", "a".repeat(1 << 20));
    assert_eq!(by_steps(&run, text.as_bytes()).map(subject), Ok(Some(None)));
    // Where a run of any length has led nowhere, no match begins within it.
    for pattern in [".*foo.*bar", r"(?P<subject>\w+) is down", r"\w*?: down"] {
        let run = steps(pattern).unwrap();
        let text = format!("{} foo", "a".repeat(1000));
        assert_eq!(by_steps(&run, text.as_bytes()), Ok(None), "{pattern}");
    }
    // Each byte is a way to go back to: more than are kept.
    let ways = steps(r#"^(?:[^"\\]|\\.)*a""#).unwrap();
    let text = format!("{}\"", "a".repeat(1 << 20));
    assert_eq!(by_steps(&ways, text.as_bytes()), Err(TooLong));
}

#[test]
fn a_place_with_another_byte_is_no_way() {
    let error = steps(r"^overlayfs: .{1,300}(?:\(-(?:5|117)\)|err=-(?:5|117)\)|\(errno: (?:5|117)\))").unwrap();
    let text = b"overlayfs: upperdir is in-use as upperdir/workdir of another mount, accessing files is undefined.";
    // The run is walked once, and at each `e` of it three steps.
    assert_eq!(error.find_within(text, &mut 150, &mut Vec::new()).map(|found| found.is_none()), Ok(true));
    // A text in quotes has one way, however long it is.
    let quoted = steps(r#"^msg="(?:[^"\\]|\\.)*" err="#).unwrap();
    let (text, mut ways) = (format!("msg=\"{}\" err=1", r"a\n".repeat(200)), Vec::new());
    assert!(quoted.find(text.as_bytes(), &mut ways).is_ok_and(|found| found.is_some()));
    assert!(ways.is_empty());
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
