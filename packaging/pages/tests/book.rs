//! `packaging/lint/book`: the book as it is passes, and each way in which its pages fall short fails by name.

#![allow(clippy::unwrap_used)]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

/// The pages, what they are held to, and what they link to.
const PARTS: [&str; 18] = [
    "docs",
    "packaging",
    "agent/rules/shipped",
    "agent/src/cli.rs",
    "controller/src/cli.rs",
    "controller/kubectl/src/cli.rs",
    "controller/README.md",
    "controller/approver/Cargo.toml",
    "controller/forecast/Cargo.toml",
    "controller/power/Cargo.toml",
    "controller/reaper/Cargo.toml",
    "controller/reconcile/Cargo.toml",
    "controller/remediation/Cargo.toml",
    "tests/sim/Cargo.toml",
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
];

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

/// What it prints, and whether it is content.
fn check(tree: &TempDir) -> (bool, String) {
    let output = Command::new(tree.path().join("packaging/lint/book")).output().unwrap();
    (output.status.success(), String::from_utf8(output.stderr).unwrap())
}

/// Whether there is what the check is written in.
fn has_python(case: &str) -> bool {
    let has = Command::new("python3").arg("--version").output().is_ok();
    if !has {
        eprintln!("SKIP {case}: needs python3");
    }
    has
}

#[test]
fn the_book_is_as_it_is_to_be() {
    if has_python("the_book_is_as_it_is_to_be") {
        let (is_content, printed) = check(&tree());
        assert!(is_content, "{printed}");
    }
}

const LONG: &str = "The service runs now, and it goes on while the network is away, while the disk is full, while the container \
                    runtime hangs, while the kubelet is stopped, and while a person looks at what it shows of the node.";

/// The file, what of it is replaced by what, and what the check says of it.
const BREAKS: [(&str, &str, &str, &str); 15] = [
    ("docs/start.md", "(install.md)", "(instal.md)", "instal.md leads to docs/instal.md, which is not there"),
    ("docs/start.md", "(connect.md#a-grant)", "(connect.md#rights)", "docs/connect.md has no heading #rights"),
    ("docs/install.md", "(release.md)", "(../README.md)", "../README.md leads out of docs/"),
    ("docs/SUMMARY.md", "- [Write a rule](rules.md)\n", "", "docs/rules.md is not in docs/SUMMARY.md"),
    ("docs/rules.md", "**Afterwards:**", "Afterwards:", "docs/rules.md: its first lines are not"),
    ("docs/reference/metrics.md", "**For:**", "For:", "docs/reference/metrics.md: its first lines are not"),
    ("docs/start.md", "The service runs now.", LONG, "a sentence of 40 words: The service runs now, and it goes on"),
    ("docs/connect.md", "```python\n", "```\n", "the code block has no language"),
    ("docs/conditions.md", "`XfsShutdown`", "`XfsShutDown`", "docs/conditions.md says nothing of XfsShutdown"),
    ("docs/reference/conditions.md", "## XfsShutdown", "## Xfs", "reference/conditions.md says nothing of XfsShutdown"),
    ("docs/reference/cli.md", "### nodewell scan", "### scan", "docs/reference/cli.md says nothing of nodewell scan"),
    ("docs/reference/socket.md", "## GET /v1/daemons", "## Daemons", "socket.md says nothing of GET /v1/daemons"),
    ("packaging/crds/remediationpolicies.yaml", " without a break.", ".", "docs/reference/crds.md is old"),
    ("packaging/lint/book", "WORDS = 25_000", "WORDS = 20_000", "words outside of its part Reference, more than 20000"),
    ("packaging/lint/book", "BY_HAND = ", "BY_HAND = 0 * ", "words by hand within its part Reference, more than 0:"),
];

#[test]
fn each_way_in_which_a_page_falls_short_fails() {
    if !has_python("each_way_in_which_a_page_falls_short_fails") {
        return;
    }
    let tree = tree();
    for (file, from, to, expected) in BREAKS {
        let path = tree.path().join(file);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{file} has no {from}");
        fs::write(&path, text.replacen(from, to, 1)).unwrap();
        let (is_content, printed) = check(&tree);
        assert!(!is_content && printed.contains(expected), "{expected} is not in: {printed}");
        fs::write(&path, text).unwrap();
    }
}
