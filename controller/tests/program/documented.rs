//! The runbook has every reason that the controller gives, and the catalogue every message that the code asks for.

use std::{collections::BTreeSet, fs, path::Path};

use nodewell_message::{Catalogue, Entry};
use nodewell_remediation::message::messages;

const RUNBOOK: &str = include_str!("../../../docs/runbook.md");
/// What blocks; the other files are of Events and conditions.
const BLOCKERS: [&str; 2] =
    [include_str!("../../remediation/messages/guards.toml"), include_str!("../../remediation/messages/fence.toml")];
const FOLDERS: [&str; 7] =
    ["remediation/src", "forecast/src", "reconcile/src", "approver/src", "power/src", "reaper/src", "src"];
/// Calls that take the key of a message first.
const CALLS: [&str; 8] = [
    "Message::plain(\"",
    "Message::of(\"",
    "Blocker::plain(\"",
    "Blocker::of(\"",
    "because(\"",
    "with_state(\"",
    "again(draft, \"",
    "blocked(input, \"",
];

/// All code but tests, which make up keys of their own.
fn code(folder: &Path, found: &mut String) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        let is_test = path.to_string_lossy().contains("tests");
        if path.is_dir() && !is_test {
            code(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") && !is_test {
            let text = fs::read_to_string(&path).unwrap();
            found.push_str(text.split("#[cfg(test)]").next().unwrap_or_default());
        }
    }
}

fn all_code() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = String::new();
    FOLDERS.iter().for_each(|folder| code(&root.join(folder), &mut found));
    found
}

fn is_key(text: &str) -> bool {
    let is_word = |word: &str| !word.is_empty() && word.chars().all(|letter| letter.is_ascii_alphanumeric());
    text.starts_with(|letter: char| letter.is_ascii_uppercase()) && text.split('/').all(is_word)
}

/// Keys that stand in the code: first arguments of [`CALLS`], and everything of the form `Reason/variant`.
fn asked_for(code: &str) -> BTreeSet<String> {
    let after = |mark: &'static str| code.split(mark).skip(1).filter_map(|rest| rest.split('"').next());
    let of_calls = CALLS.into_iter().flat_map(after);
    let literals = code.split('"').filter(|text| text.contains('/'));
    of_calls.chain(literals).filter(|text| is_key(text)).map(str::to_owned).collect()
}

#[test]
fn every_reason_is_in_the_runbook() {
    let catalogue = Catalogue::read(&BLOCKERS);
    let reasons: BTreeSet<&str> = catalogue.entries().map(Entry::reason).collect();
    assert!(reasons.len() > 40, "{reasons:?}");
    let is_missing = |reason: &&&str| !RUNBOOK.contains(&format!("**`{reason}`**"));
    let missing: Vec<_> = reasons.iter().filter(is_missing).collect();
    assert!(missing.is_empty(), "docs/runbook.md does not name {missing:?}");
}

#[test]
fn every_message_that_the_code_asks_for_is_in_the_catalogue() {
    let keys: BTreeSet<String> = messages().entries().map(|entry| entry.key.clone()).collect();
    let asked_for = asked_for(&all_code());
    assert!(asked_for.len() > 100, "{asked_for:?}");
    let missing: Vec<_> = asked_for.difference(&keys).collect();
    assert!(missing.is_empty(), "no catalogue has {missing:?}");
}

#[test]
fn every_message_of_the_catalogue_is_asked_for() {
    let code = all_code();
    // A budget's message is that of its reason and of what is exceeded.
    let composed = |key: &str| key.starts_with("Budget") && (key.ends_with("/living") || key.ends_with("/dead"));
    let is_unused = |key: &&String| !composed(key) && !code.contains(&format!("\"{key}\""));
    let keys: Vec<String> = messages().entries().map(|entry| entry.key.clone()).collect();
    let unused: Vec<_> = keys.iter().filter(is_unused).collect();
    assert!(unused.is_empty(), "nothing gives {unused:?}");
}
