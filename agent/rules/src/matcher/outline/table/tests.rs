//! The table is what the shipped patterns parse to, and has no other pattern.

use std::{collections::BTreeMap, fs, path::Path};

use proptest::prelude::*;

use super::*;
use crate::{LoadPlan, RuleSet, load, matcher::Role, pattern::compiled, rule::Format};

const COMMAND: &str = "UPDATE_GOLDEN=1 cargo test -p nodewell-rules --lib outline";

/// Each pattern of the rules, and how many lines its rule looks at.
fn patterns(set: &RuleSet) -> impl Iterator<Item = (&str, usize)> {
    set.rules.iter().flat_map(|rule| {
        let all = Role::ALL.into_iter().flat_map(move |role| role.patterns(rule));
        all.map(move |pattern| (pattern.as_str(), rule.lines))
    })
}

fn parsed(pattern: &str, lines: usize) -> Outline {
    Outline::of(&compiled(Format::Native, pattern).unwrap().1, lines)
}

/// The table of these rules.
fn table_of(set: &RuleSet) -> String {
    let mut lines_by_key = BTreeMap::new();
    for (pattern, lines) in patterns(set) {
        let line = written(&parsed(pattern, lines));
        let (first, _) = lines_by_key.entry(key(pattern, lines)).or_insert((pattern, line));
        assert_eq!(*first, pattern, "these two have one key");
    }
    let head = format!("# The outlines of the shipped patterns. After a change of one: {COMMAND}\n");
    lines_by_key.into_iter().fold(head, |table, (key, (_, line))| format!("{table}{key} {line}\n"))
}

/// What [`read`] reads.
fn written(outline: &Outline) -> String {
    let flags = [(outline.is_multi_line, "n"), (outline.is_anchored, "a")];
    let flags: String = flags.into_iter().filter_map(|(is_set, flag)| is_set.then_some(flag)).collect();
    let groups = outline.groups.map(|group| group.unwrap_or(0).to_string()).join(".");
    let opening = if outline.opening == Opening::ANY { "*".to_owned() } else { format!("{:x}", outline.opening.0) };
    let flags: &str = if flags.is_empty() { "-" } else { &flags };
    let windows = outline.windows.iter().map(|windows| written_windows(windows));
    [flags.to_owned(), groups, opening].into_iter().chain(windows).collect::<Vec<_>>().join(" ")
}

fn written_windows(windows: &[Window]) -> String {
    let alike = windows.chunk_by(|one, other| parts(one)[0] == parts(other)[0] && parts(one)[2] == parts(other)[2]);
    let written = |alike: &[Window]| {
        let [before, _, behind] = parts(&alike[0]);
        let keys: Vec<&str> = alike.iter().map(|window| parts(window)[1]).collect();
        format!("{before}<{}>{behind}/", keys.join("&"))
    };
    alike.map(written).collect()
}

/// What is before the key of a window, the key, and what is behind it.
fn parts(window: &Window) -> [&str; 3] {
    let text = std::str::from_utf8(window).unwrap();
    assert!(!text.contains(['<', '>', '&', '/', '\n']), "{text}");
    let (before, rest) = text.split_at(window.key_at());
    let (key, behind) = rest.split_at(window.key().len());
    [before, key, behind]
}

/// `UPDATE_GOLDEN=1` writes it.
#[test]
fn the_table_is_what_the_shipped_patterns_parse_to() {
    let table = table_of(&load(&LoadPlan::default()).set);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/matcher/outline/shipped.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &table).unwrap();
    }
    let there = fs::read_to_string(&path).unwrap();
    let differing = table.lines().filter(|line| there.lines().all(|other| other != *line)).count();
    assert!(there == table, "{differing} lines of {} are to be written: {COMMAND}", path.display());
}

#[test]
fn each_shipped_pattern_is_found_as_it_parses() {
    let set = load(&LoadPlan::default()).set;
    let table = table_of(&set);
    for (pattern, lines) in patterns(&set) {
        assert_eq!(find(&table, pattern, lines), Some(parsed(pattern, lines)), "{pattern}");
        let other = format!("{pattern}x");
        let is_other = patterns(&set).all(|(known, _)| known != other);
        assert!(!is_other || find(&table, &other, lines).is_none(), "{other}");
    }
}

#[test]
fn how_many_lines_a_rule_looks_at_counts() {
    let [one, several] = [1, 2].map(|lines| parsed(r"Zebra\nQuail", lines));
    assert!(!one.is_multi_line && several.is_multi_line && one.windows != several.windows);
    let line = |lines: usize, outline: &Outline| format!("{} {}\n", key(r"Zebra\nQuail", lines), written(outline));
    assert_eq!(find(&line(2, &several), r"Zebra\nQuail", 1), None);
    assert_eq!(find(&line(2, &several), r"Zebra\nQuail", 3), Some(several));
    assert_eq!(find(&line(1, &one), r"Zebra\nQuail", 1), Some(one));
}

/// All of it is in memory as long as the agent runs.
#[test]
fn the_table_is_small() {
    assert!(SHIPPED.len() < 96 << 10, "{} bytes", SHIPPED.len());
}

#[test]
fn a_line_that_makes_no_sense_is_none() {
    let good = " na 1.0.12 8001 EXT4< err>or/ < [#7& [#8>/";
    let outline = read(good).unwrap();
    assert_eq!((outline.is_multi_line, outline.is_anchored), (true, true));
    assert_eq!((outline.groups, outline.opening), ([Some(1), None, Some(12)], Opening(0x8001)));
    let windows: Vec<Vec<u8>> = outline.windows.iter().flatten().map(|window| window.to_vec()).collect();
    assert_eq!(windows, [&b"EXT4 error"[..], b"  [#7", b"  [#8"]);
    assert_eq!(format!(" {}", written(&outline)), good);
    assert_eq!(read(" - 0.0.0 *").map(|outline| (outline.opening, outline.windows)), Some((Opening::ANY, None)));
    for bad in
        ["", " ", " -", " - 0.0.0", " - x.0.0 *", " - 0.0.0 g", " - 0.0.0 * abcd/", " - 0.0.0 * <abcd/", "- 0.0.0 *"]
    {
        assert_eq!(read(bad), None, "{bad}");
    }
}

proptest! {
    #[test]
    fn each_line_is_found_by_its_key(
        keys in prop::collection::btree_set("[0-9a-f]{3}", 0..60),
        other in "[0-9a-f]{3}",
        has_head: bool,
    ) {
        let head = if has_head { "# What it is.\n" } else { "" };
        let table = keys.iter().fold(head.to_owned(), |table, key| format!("{table}{key} of {key}\n"));
        for key in keys.iter().chain([&other]) {
            let expected = format!(" of {key}");
            prop_assert_eq!(behind(&table, key), keys.contains(key).then_some(expected.as_str()));
        }
    }
}
