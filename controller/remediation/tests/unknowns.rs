//! Unknown is never permission. Every default that stands for something unread, and every arm for "anything else", in
//! what guards, fences, decides and performs is in `unknowns.txt` with its reason. What is new there is not done before
//! its author has asked what it does with an unread, missing or new value.

#![allow(clippy::unwrap_used)]

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// Crates, and which of their modules.
const WATCHED: [(&str, &[&str]); 2] = [("remediation", &["guard", "fence", "decide"]), ("reconcile", &["executor"])];
/// A value where there was none, a failure that becomes nothing, an answer for all variants that are not named.
const DEFAULTS: [&str; 6] = ["map_or", "unwrap_or", "is_none_or(", ".ok()", "matches!(", "else { return "];
/// The message that asks for what stands beside an occurrence.
const WHAT_TO_DO: &str = "Ask of each: what does an unread, missing or new value do here? It must never move a node toward \
    power off, a reap, a release or an eviction, nor take a blocker away. Where an enum is matched, name its variants, so that \
    the compiler asks again when there is a new one. Else write `file | line | reason` into \
    controller/remediation/tests/unknowns.txt.";

/// File and line text.
type Occurrence = (String, String);

fn controller() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Production files of a module: `name.rs` and all below `name/`, without tests.
fn files(path: &Path, found: &mut Vec<PathBuf>) {
    let stem = path.file_stem().unwrap().to_str().unwrap();
    if stem == "tests" {
        return;
    }
    if path.is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| files(&entry.unwrap().path(), found));
    } else if path.extension().is_some_and(|extension| extension == "rs") {
        found.push(path.to_owned());
    }
}

fn watched() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for (of, modules) in WATCHED {
        let source = controller().join(of).join("src");
        for entry in fs::read_dir(source).unwrap().map(|entry| entry.unwrap().path()) {
            let stem = entry.file_stem().unwrap().to_str().unwrap().to_owned();
            if modules.iter().any(|module| stem.starts_with(module)) {
                files(&entry, &mut found);
            }
        }
    }
    found.sort();
    found
}

/// Lines of code, trimmed: no comments, and nothing of `#[cfg(test)]`.
fn production(text: &str) -> Vec<&str> {
    let mut lines = text.lines();
    let mut code = Vec::new();
    while let Some(line) = lines.next() {
        if line == "#[cfg(test)]" {
            let item = lines.next().unwrap();
            if item.ends_with('{') {
                lines.by_ref().find(|line| *line == "}").unwrap();
            }
        } else if !line.trim_start().starts_with("//") {
            code.push(line.trim());
        }
    }
    code
}

/// Whether an arm takes what is not named: `_`, `_` as a part of a tuple, or a name that binds anything.
fn is_wildcard(line: &str) -> bool {
    let Some((pattern, _)) = line.split_once(" =>") else { return false };
    let pattern = pattern.split(" if ").next().unwrap();
    let is_name = |part: &str| {
        let word = part.chars().all(|letter| letter == '_' || letter.is_ascii_lowercase());
        word && !part.is_empty() && !["true", "false"].contains(&part)
    };
    let tuple = pattern.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    is_name(pattern.trim_start_matches("| ")) || tuple.is_some_and(|tuple| top(tuple).into_iter().any(is_name))
}

/// Parts of a tuple, by the commas that are in no bracket of it.
fn top(tuple: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (at, letter) in tuple.char_indices() {
        match letter {
            '(' | '{' | '[' => depth += 1,
            ')' | '}' | ']' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(tuple[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(tuple[start..].trim());
    parts
}

/// To go away with nothing is no value that is invented.
fn is_default(line: &str) -> bool {
    let leaves = ["else { return }", "else { return None }", "else { return;", "else { return wait("];
    let invents =
        |mark: &&str| line.contains(*mark) && !(mark.starts_with("else") && leaves.iter().any(|l| line.contains(l)));
    DEFAULTS.iter().any(invents)
}

fn occurrences() -> Vec<Occurrence> {
    let mut all = Vec::new();
    for file in watched() {
        let text = fs::read_to_string(&file).unwrap();
        let name = file.strip_prefix(controller()).unwrap().to_str().unwrap().replace("/src/", "/");
        let lines = production(&text).into_iter().filter(|line| is_default(line) || is_wildcard(line));
        all.extend(lines.map(|line| (name.clone(), line.to_owned())));
    }
    all
}

/// `file | line | reason`; a line may have bars of its own.
fn entry(line: &str) -> (Occurrence, &str) {
    let (file, rest) = line.split_once(" | ").unwrap_or_else(|| panic!("no file: {line}"));
    let (text, reason) = rest.rsplit_once(" | ").unwrap_or_else(|| panic!("no reason: {line}"));
    assert!(reason.split_whitespace().count() > 2, "no reason: {line}");
    ((file.to_owned(), text.to_owned()), reason)
}

fn counted(all: impl IntoIterator<Item = Occurrence>) -> BTreeMap<Occurrence, usize> {
    let mut counts = BTreeMap::new();
    all.into_iter().for_each(|one| *counts.entry(one).or_default() += 1);
    counts
}

/// Those that `of` has more often than `other`.
fn surplus(of: &BTreeMap<Occurrence, usize>, other: &BTreeMap<Occurrence, usize>) -> Vec<String> {
    let more = of.iter().filter(|(one, count)| other.get(*one).is_none_or(|known| known < *count));
    more.map(|((file, line), _)| format!("{file} | {line}")).collect()
}

#[test]
fn every_default_and_every_wildcard_has_its_reason() {
    let listed = include_str!("unknowns.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let (found, listed) = (counted(occurrences()), counted(listed.map(|line| entry(line).0)));
    assert!(found.len() > 50, "the sources were not found");
    let new = surplus(&found, &listed);
    assert!(new.is_empty(), "not in the list:\n{}\n\n{WHAT_TO_DO}", new.join("\n"));
    let gone = surplus(&listed, &found);
    assert!(gone.is_empty(), "in the list and not in the code; take these away:\n{}", gone.join("\n"));
}

#[test]
fn what_takes_anything_is_seen_and_what_names_its_cases_is_not() {
    for line in
        ["_ => act(case),", "_ if late => {}", "(Some(_), _) => off(),", "(_, state) => off(),", "other => other,"]
    {
        assert!(is_wildcard(line), "{line}");
    }
    for line in ["Some(_) => on(),", "(Some(a), None) => on(),", "true => on(),", "Phase::Closed | Phase::Failed => {}"]
    {
        assert!(!is_wildcard(line), "{line}");
    }
    for line in ["let n = pods.map_or(0, Vec::len);", "age.unwrap_or_default()", "let Some(x) = y else { return 0 };"] {
        assert!(is_default(line), "{line}");
    }
    assert!(!is_default("let Some(x) = y else { return None };"));
}

#[test]
fn what_is_only_a_test_or_a_comment_is_not_read() {
    let text = "a\n#[cfg(test)]\nmod tests;\n// b\nc\n#[cfg(test)]\nmod tests {\n    d\n}\ne\n";
    assert_eq!(production(text), ["a", "c", "e"]);
}
