//! docs/invariants.md and docs/safety.md speak of what there is: each invariant that the simulation asks, files, functions and
//! tests that exist.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

const PAGE: &str = concat!(include_str!("../../../docs/invariants.md"), include_str!("../../../docs/safety.md"));
const ORACLE: &str = include_str!("../../../tests/sim/src/oracle.rs");
const MUTATIONS: &str = include_str!("../../../tests/sim/tests/sim/mutations.rs");
/// Where what the page names is stored.
const FOLDERS: [&str; 7] = ["agent", "controller", "docs", "packaging", "systemd", "tests/cases", "tests/sim"];
/// Between the attribute of a test and its name there may be others.
const ATTRIBUTES: usize = 4;

/// Every file below the folders, as a path from the root of the repository.
fn files() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut open: Vec<PathBuf> = FOLDERS.iter().map(|folder| root.join(folder)).collect();
    let mut files = Vec::new();
    while let Some(folder) = open.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                open.push(path);
            } else {
                files.push(path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    files
}

/// The one file whose path ends so; the page leaves out what is before it.
fn file(files: &[String], path: &str) -> Result<String, String> {
    let end = format!("/{path}");
    let found: Vec<&String> = files.iter().filter(|file| format!("/{file}").ends_with(&end)).collect();
    match found[..] {
        [one] => Ok(fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(one)).unwrap()),
        [] => Err(format!("there is no file {path}")),
        _ => Err(format!("{path} is more than one file: {found:?}")),
    }
}

/// What stands in code font.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

fn is_path(word: &str) -> bool {
    !word.contains([' ', '*', '{'])
        && !word.starts_with('/')
        && [".rs", ".yaml", ".toml", ".txt", ".service"].iter().any(|end| word.ends_with(end))
}

fn is_function(text: &str, name: &str) -> bool {
    ["(", "<"].iter().any(|end| text.contains(&format!("fn {name}{end}")))
}

/// By its attribute, or by its name in a list of cases.
fn is_test(text: &str, name: &str) -> bool {
    let lines: Vec<&str> = text.lines().collect();
    let has_attribute = |line: usize| {
        lines[line.saturating_sub(ATTRIBUTES)..line].iter().any(|line| {
            let line = line.trim();
            line == "#[test]" || line.starts_with("#[tokio::test")
        })
    };
    let begins = |line: &str| ["(", "<"].iter().any(|end| line.contains(&format!("fn {name}{end}")));
    let is_listed = text.contains(&format!("\"{name}\""))
        || text
            .split("cases![")
            .skip(1)
            .any(|list| list.split(']').next().unwrap_or_default().split(',').any(|case| case.trim() == name));
    is_listed || (0..lines.len()).any(|line| begins(lines[line]) && has_attribute(line))
}

/// `I7` and the like.
fn invariants(text: &str) -> BTreeSet<u32> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric());
    words.filter_map(|word| word.strip_prefix('I')?.parse().ok()).collect()
}

/// The chapter of each invariant, by its heading `### I7: …`.
fn chapters() -> Vec<(u32, &'static str)> {
    let chapters = PAGE.split("\n### ").skip(1);
    let chapters = chapters.map(|chapter| chapter.split("\n## ").next().unwrap_or_default());
    chapters
        .filter_map(|chapter| Some((chapter.split_once(':')?.0.strip_prefix('I')?.parse().ok()?, chapter)))
        .collect()
}

/// The line of a chapter that begins so, to the next one.
fn part<'a>(chapter: &'a str, begin: &str) -> Option<&'a str> {
    chapter.split("\n- ").find_map(|part| part.strip_prefix(begin))
}

#[test]
fn every_invariant_that_is_asked_has_a_chapter_and_no_other() {
    let asked = invariants(ORACLE);
    assert!(asked.len() > 20, "{asked:?}");
    let documented: BTreeSet<u32> = chapters().into_iter().map(|(number, _)| number).collect();
    let missing: Vec<_> = asked.difference(&documented).collect();
    assert!(
        missing.is_empty(),
        "docs/invariants.md has no chapter of the invariants {missing:?} of tests/sim/src/oracle.rs"
    );
    let surplus: Vec<u32> = invariants(PAGE).difference(&asked).copied().collect();
    assert!(
        surplus.is_empty(),
        "docs/invariants.md names the invariants {surplus:?}, tests/sim/src/oracle.rs does not"
    );
}

#[test]
fn every_file_and_function_on_the_page_exists() {
    let files = files();
    let wrong: Vec<String> = code(PAGE)
        .filter_map(|word| {
            let (path, name) = word.split_once("::").map_or((word, None), |(path, name)| (path, Some(name)));
            if !is_path(path) {
                return None;
            }
            let text = file(&files, path).map_err(|why| format!("{why} (`{word}`)"));
            let has = |text: String| match name {
                Some(name) if !is_function(&text, name) && !is_test(&text, name) => {
                    Some(format!("no function `{word}`"))
                }
                _ => None,
            };
            text.map_or_else(Some, has)
        })
        .collect();
    assert!(wrong.is_empty(), "docs/invariants.md, docs/safety.md: {}", wrong.join("\n"));
}

#[test]
fn every_chapter_names_a_guard_and_tests_that_are_run() {
    let files = files();
    for (number, chapter) in chapters() {
        let guards = part(chapter, "**Guards:**").unwrap_or_default();
        assert!(code(guards).any(|word| is_path(word.split("::").next().unwrap())), "I{number} names no guard");
        let tests: Vec<&str> =
            code(part(chapter, "**Tests:**").unwrap_or_default()).filter(|word| word.contains("::")).collect();
        assert!(!tests.is_empty(), "I{number} names no test");
        for test in tests {
            let (path, name) = test.split_once("::").unwrap();
            let text = file(&files, path).unwrap_or_else(|why| panic!("I{number}: {why}"));
            assert!(is_test(&text, name), "I{number}: `{test}` is no test");
        }
    }
}

/// `sim_i7_…` proves that the oracle of I7 notices: it belongs into that chapter.
#[test]
fn every_mutation_is_in_the_chapter_of_its_invariant() {
    let chapters = chapters();
    let names = MUTATIONS.split("\nfn sim_i").skip(1).filter_map(|after| after.split_once('('));
    let names: Vec<String> = names.map(|(name, _)| format!("sim_i{name}")).collect();
    assert!(names.len() > 20, "{names:?}");
    for name in names {
        let number: u32 = name["sim_i".len()..].split('_').next().unwrap().parse().unwrap();
        let chapter = chapters.iter().find(|(other, _)| *other == number).map(|(_, chapter)| *chapter);
        let is_named = chapter.is_some_and(|chapter| chapter.contains(&format!("mutations.rs::{name}`")));
        assert!(is_named, "docs/invariants.md, I{number}: `mutations.rs::{name}` is missing");
    }
}
