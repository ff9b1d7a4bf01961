//! What CHANGELOG.md may begin with, and how its version gets a day: `packaging/lint/changelog` and
//! `packaging/release/changelog`.

#![allow(clippy::unwrap_used)]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use tempfile::TempDir;

const SCRIPTS: [&str; 2] = ["packaging/lint/changelog", "packaging/release/changelog"];
const BELOW: &str = "\n\n### Added\n- One.\n\n## 0.1.0 - 2026-01-02\n\n### Added\n- Another.\n";

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A checkout at version 0.2.0, whose change log begins with `heading`.
fn tree(heading: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for script in SCRIPTS {
        let copy = folder.path().join(script);
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::copy(workspace().join(script), copy).unwrap();
    }
    fs::write(folder.path().join("Cargo.toml"), "[workspace.package]\nversion = \"0.2.0\"\n").unwrap();
    fs::write(folder.path().join("CHANGELOG.md"), format!("# Changes\n\n{heading}{BELOW}")).unwrap();
    folder
}

fn run(tree: &TempDir, script: &str, arguments: &[&str]) -> Output {
    // By its interpreter: a copy may be written still while another test starts a process.
    Command::new("bash").arg(tree.path().join(script)).args(arguments).output().unwrap()
}

fn message(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn what_has_no_day_comes_first_and_is_the_version_of_the_source() {
    for right in ["## Unreleased", "## 0.2.0 - Unreleased", "## 0.2.0 - 2026-02-03", "## 0.1.1 - 2026-02-03"] {
        let output = run(&tree(right), SCRIPTS[0], &[]);
        assert!(output.status.success(), "{right}: {}", message(&output));
    }
    for (wrong, why) in [
        ("## 0.3.0 - Unreleased", "CHANGELOG.md:3: the version of Cargo.toml is 0.2.0"),
        ("## 0.2.0", "CHANGELOG.md:3: a heading is Unreleased, or as in"),
        ("## 0.2.0 - soon", "CHANGELOG.md:3: a heading is Unreleased, or as in"),
        ("## 0.3.0 - 2026-02-03", "a version is newer than that of Cargo.toml"),
        ("## 0.2.0 - 2026-02-03\n\n## Unreleased", "CHANGELOG.md:5: Unreleased comes first"),
        ("## 0.2.0 - 2026-02-03\n\n## 0.2.0 - Unreleased", "CHANGELOG.md:5: Unreleased comes first"),
    ] {
        let output = run(&tree(wrong), SCRIPTS[0], &[]);
        assert!(!output.status.success() && message(&output).contains(why), "{wrong}: {}", message(&output));
    }
}

#[test]
fn the_version_gets_its_day_and_nothing_else_is_changed() {
    for heading in ["## Unreleased", "## 0.2.0 - Unreleased"] {
        let tree = tree(heading);
        let output = run(&tree, SCRIPTS[1], &["2026-11-30"]);
        assert!(output.status.success(), "{}", message(&output));
        let text = fs::read_to_string(tree.path().join("CHANGELOG.md")).unwrap();
        assert_eq!(text, format!("# Changes\n\n## 0.2.0 - 2026-11-30{BELOW}"));
        let again = run(&tree, SCRIPTS[1], &["2026-12-01"]);
        assert!(!again.status.success() && message(&again).contains("has its day already"), "{}", message(&again));
        assert_eq!(fs::read_to_string(tree.path().join("CHANGELOG.md")).unwrap(), text);
    }
}

#[test]
fn what_is_no_day_or_another_version_changes_nothing() {
    for (heading, day, why) in [
        ("## Unreleased", "2026-02-31", "is no day"),
        ("## Unreleased", "tomorrow", "is no day"),
        ("## 0.3.0 - Unreleased", "2026-11-30", "write \"## 0.2.0 - Unreleased\""),
    ] {
        let tree = tree(heading);
        let before = fs::read_to_string(tree.path().join("CHANGELOG.md")).unwrap();
        let output = run(&tree, SCRIPTS[1], &[day]);
        assert!(!output.status.success() && message(&output).contains(why), "{day}: {}", message(&output));
        assert_eq!(fs::read_to_string(tree.path().join("CHANGELOG.md")).unwrap(), before);
    }
}

/// What is published is the first version, with nothing above it.
#[test]
fn the_change_log_begins_with_the_version_of_the_source() {
    let text = fs::read_to_string(workspace().join("CHANGELOG.md")).unwrap();
    let heading = text.lines().find(|line| line.starts_with("## ")).unwrap();
    let version = format!("## {} - ", env!("CARGO_PKG_VERSION"));
    assert!(heading.starts_with(&version) || heading == "## Unreleased", "{heading}");
}
