//! `packaging/lint/hidden`: the tree as it is passes; one more use of the standard library's answer, and a line of the
//! list that stands for nothing, fail by name.

#![allow(clippy::unwrap_used)]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

const PARTS: [&str; 2] = ["packaging/lint", "*.rs"];
/// In two parts, or this file would be one that uses it.
const REFUSED: &str = concat!("char::is_", "control");

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn git(folder: &Path, args: &[&str]) -> String {
    let output = Command::new("git").current_dir(folder).args(args).output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// What the check looks at, as it is here, in a repository of its own.
fn tree() -> TempDir {
    let (folder, from) = (tempfile::tempdir().unwrap(), workspace());
    let listed = [&["ls-files", "--cached", "--others", "--exclude-standard"], &PARTS[..]].concat();
    for file in git(&from, &listed).lines().filter(|file| from.join(file).is_file()) {
        let to = folder.path().join(file);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from.join(file), to).unwrap();
    }
    git(folder.path(), &["init", "--quiet"]);
    folder
}

/// Whether it is content, and what it prints.
fn check(tree: &TempDir) -> (bool, String) {
    git(tree.path(), &["add", "--all"]);
    let output = Command::new(tree.path().join("packaging/lint/hidden")).output().unwrap();
    (output.status.success(), String::from_utf8(output.stderr).unwrap())
}

fn append(tree: &TempDir, file: &str, text: &str) {
    let path = tree.path().join(file);
    let before = fs::read_to_string(&path).unwrap_or_default();
    fs::write(path, before + text).unwrap();
}

#[test]
fn text_from_outside_is_held_to_one_answer() {
    let tree = tree();
    assert_eq!(check(&tree), (true, String::new()));
    append(
        &tree,
        "agent/src/lib.rs",
        &format!("fn is_clean(text: &str) -> bool {{\n    !text.contains({REFUSED})\n}}\n"),
    );
    let (is_content, printed) = check(&tree);
    assert!(!is_content && printed.contains(REFUSED) && printed.contains("agent/src/lib.rs:"), "{printed}");
}

#[test]
fn names_that_only_begin_so_are_no_matter() {
    let tree = tree();
    append(&tree, "agent/src/lib.rs", "fn is_control_plane() -> bool {\n    is_controller()\n}\n");
    assert_eq!(check(&tree), (true, String::new()));
}

#[test]
fn what_may_use_it_and_does_not_is_named() {
    let tree = tree();
    append(&tree, "packaging/lint/hidden.allow", "agent/src/lib.rs it did once\n");
    let (is_content, printed) = check(&tree);
    assert!(!is_content && printed.contains("agent/src/lib.rs uses none of"), "{printed}");
}
