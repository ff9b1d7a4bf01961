//! The runbook has every reason that the controller gives.

use std::{fs, path::Path};

const RUNBOOK: &str = include_str!("../../../docs/remediation.md");

/// The reasons of `Blocker::new("Reason"` and of the guards' list, in all that decides or performs.
fn reasons(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        let is_test = path.to_string_lossy().contains("tests");
        if path.is_dir() && !is_test {
            reasons(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") && !is_test {
            // Tests at the end of a file make up reasons of their own.
            let text = fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap_or_default().to_owned();
            let marks: &[&str] = if path.ends_with("guard/reason.rs") { &["&str = \""] } else { &["Blocker::new(\""] };
            found.extend(marks.iter().flat_map(|mark| code.split(mark).skip(1)).filter_map(reason));
        }
    }
}

fn reason(after: &str) -> Option<String> {
    let reason = after.split('"').next()?;
    (reason.starts_with(|letter: char| letter.is_ascii_uppercase()) && !reason.contains(' ')).then(|| reason.to_owned())
}

#[test]
fn every_reason_is_in_the_runbook() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    for folder in ["remediation/src", "reconcile/src", "power/src"] {
        reasons(&root.join(folder), &mut found);
    }
    assert!(found.len() > 20, "{found:?}");
    let missing: Vec<String> =
        found.into_iter().filter(|reason| !RUNBOOK.contains(&format!("**`{reason}`**"))).collect();
    assert!(missing.is_empty(), "docs/remediation.md does not name {missing:?}");
}
