//! `packaging/notices`: on the tree as it is, and on a made-up workspace with vendored crates.

#![allow(clippy::unwrap_used)]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use nodewell_kit::calling_cargo;

const TARGET: &str = "x86_64-unknown-linux-gnu";

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn run(mut command: Command, package: &str) -> Output {
    command.args([package, TARGET]).env("CARGO_NET_OFFLINE", "true").output().unwrap()
}

fn notices(folder: &Path, package: &str) -> String {
    let output = run(calling_cargo(workspace().join("packaging/notices"), folder), package);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// `name version` of each crate, as the list at the top has them.
fn named(notices: &str) -> Vec<(String, String)> {
    let list = notices.split("\n\n").nth(1).unwrap();
    let titles = list.lines().map(|line| line.split_once(": ").unwrap().0.split_once(' ').unwrap());
    titles.map(|(name, version)| (name.to_owned(), version.to_owned())).collect()
}

#[test]
fn every_linked_crate_of_the_lock_file_is_named() {
    let lock = fs::read_to_string(workspace().join("Cargo.lock")).unwrap();
    for (package, ours) in [
        ("nodewell-agent", ["rustls", "ring", "hyper", "libsqlite3-sys", "regex-automata", "libc"]),
        ("nodewell-controller", ["rustls", "ring", "kube", "cel", "antlr4rust", "roxmltree"]),
    ] {
        let notices = notices(&workspace(), package);
        let named = named(&notices);
        for name in ours {
            assert!(named.iter().any(|(known, _)| known == name), "{package} is linked with {name}");
        }
        for (name, version) in named.iter().filter(|(name, _)| name != "std") {
            assert!(lock.contains(&format!("name = \"{name}\"\nversion = \"{version}\"\n")), "{name} {version}");
            let title = format!("{name} {version}");
            let below = notices.split_once(&"-".repeat(100)).unwrap().1;
            assert!(below.contains(&title), "no text is {title}'s");
        }
        let linked = linked(package);
        assert_eq!(named.len(), linked + 1, "{package} is linked with {linked} crates, and with std");
        for name in ["serde_derive", "cc", "proptest", "libtest-mimic"] {
            assert!(!named.iter().any(|(known, _)| known == name), "{name} is in no program of {package}");
        }
    }
}

/// How many crates of others cargo links with it.
fn linked(package: &str) -> usize {
    let mut command = calling_cargo("cargo", &workspace());
    command.args(["tree", "--locked", "--offline", "--package", package, "--target", TARGET, "--prefix", "none"]);
    let output = command.args(["--edges", "normal,no-proc-macro", "--format", "{p}"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut crates: Vec<_> =
        text.lines().filter(|line| !line.contains("(/")).map(|line| line.trim_end_matches(" (*)")).collect();
    crates.sort_unstable();
    crates.dedup();
    crates.len()
}

/// A vendored crate with these files.
fn vendor(folder: &Path, name: &str, more: &str, files: &[(&str, &str)]) {
    let at = folder.join("vendor").join(name);
    fs::create_dir_all(at.join("src")).unwrap();
    fs::write(at.join("src/lib.rs"), "").unwrap();
    fs::write(
        at.join(".cargo-checksum.json"),
        r#"{"files":{},"package":"0000000000000000000000000000000000000000000000000000000000000000"}"#,
    )
    .unwrap();
    fs::write(
        at.join("Cargo.toml"),
        format!("[package]\nname = \"{name}\"\nversion = \"1.2.3\"\nauthors = [\"A. Uthor\"]\n{more}"),
    )
    .unwrap();
    files.iter().for_each(|(file, text)| fs::write(at.join(file), text).unwrap());
}

/// A workspace whose package needs one crate of each kind.
fn made_up() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    vendor(
        at,
        "with-file",
        "license = \"BSD-3-Clause\"\n",
        &[("LICENSE", "Three clauses.\n"), ("NOTICE", "Of A. Uthor.\n")],
    );
    vendor(at, "same-file", "license = \"BSD-3-Clause\"\n", &[("LICENSE.md", "Three clauses.  \n\n")]);
    vendor(at, "odd-file", "license = \"BSD-2-Clause\"\n", &[("BSD-LICENSE", "Two clauses.\n")]);
    vendor(at, "no-file", "license = \"MIT\"\n", &[]);
    vendor(at, "choice", "license = \"Zlib OR Apache-2.0\"\n", &[]);
    vendor(at, "build-only", "license = \"MIT\"\n", &[]);
    vendor(at, "test-only", "license = \"MIT\"\n", &[]);
    vendor(at, "a-macro", "license = \"MIT\"\n[lib]\nproc-macro = true\n", &[]);
    vendor(at, "elsewhere", "license = \"MIT\"\n", &[]);
    fs::create_dir_all(at.join(".cargo")).unwrap();
    let source = "[source.crates-io]\nreplace-with = \"vendored\"\n[source.vendored]\ndirectory = \"vendor\"\n";
    fs::write(at.join(".cargo/config.toml"), source).unwrap();
    fs::create_dir(at.join("src")).unwrap();
    fs::write(at.join("src/lib.rs"), "").unwrap();
    let manifest = "[package]\nname = \"product\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[dependencies]\n\
        with-file = \"1\"\nodd-file = \"1\"\nsame-file = \"1\"\nno-file = \"1\"\nchoice = \"1\"\na-macro = \"1\"\n\
        [build-dependencies]\nbuild-only = \"1\"\n\
        [dev-dependencies]\ntest-only = \"1\"\n[target.'cfg(windows)'.dependencies]\nelsewhere = \"1\"\n";
    fs::write(at.join("Cargo.toml"), manifest).unwrap();
    lock(at);
    folder
}

fn lock(folder: &Path) {
    let output = calling_cargo("cargo", folder).args(["generate-lockfile", "--offline"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn what_is_linked_is_named_with_its_text_and_nothing_else_is() {
    let folder = made_up();
    let notices = notices(folder.path(), "product");
    let named: Vec<String> = named(&notices).into_iter().map(|(name, _)| name).collect();
    assert_eq!(named, ["std", "choice", "no-file", "odd-file", "same-file", "with-file"]);
    assert_eq!(notices.matches("Three clauses.").count(), 1, "a text is there once\n{notices}");
    assert!(notices.contains("same-file 1.2.3, with-file 1.2.3\n\nThree clauses.") && notices.contains("Of A. Uthor."));
    assert!(notices.contains("odd-file 1.2.3\n\nTwo clauses."), "{notices}");
    assert!(notices.contains("no-file 1.2.3\n\nCopyright A. Uthor\n\nPermission is hereby granted"), "{notices}");
    assert!(notices.contains("std ") && notices.contains("choice 1.2.3") && notices.contains("Apache License"));
}

#[test]
fn a_crate_whose_licence_has_no_text_here_fails() {
    let folder = made_up();
    // Of the second there are texts here, but neither is enough.
    for licence in ["BSD-3-Clause", "(MIT OR Apache-2.0) AND BSD-3-Clause"] {
        vendor(folder.path(), "no-file", &format!("license = \"{licence}\"\n"), &[]);
        let output = run(calling_cargo(workspace().join("packaging/notices"), folder.path()), "product");
        assert!(!output.status.success() && output.stdout.is_empty(), "{licence}");
        let error = String::from_utf8(output.stderr).unwrap();
        let expected = format!("no-file 1.2.3 has no licence file, and the text of {licence} is not here");
        assert!(error.contains(&expected), "{error}");
    }
}
