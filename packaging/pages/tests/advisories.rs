//! `packaging/advisories`, with a database of two made-up advisories, and with an index in which one crate is yanked.

#![allow(clippy::unwrap_used)]

use std::{
    env, fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use nodewell_kit::write_program;
use tempfile::TempDir;

/// A crate that is surely in Cargo.lock, and stays there as long as there is TLS.
const CRATE: &str = "ring";

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn cargo_home() -> PathBuf {
    env::var_os("CARGO_HOME").map_or_else(|| Path::new(&env::var_os("HOME").unwrap()).join(".cargo"), PathBuf::from)
}

/// Whether this machine can run it at all; the reason is printed.
fn can_run(test: &str) -> bool {
    let is_there = Command::new("cargo-deny").arg("--version").output().is_ok_and(|output| output.status.success());
    if !is_there {
        eprintln!("SKIP {test}: cargo-deny is not installed");
    }
    is_there
}

fn advisories(database: &Path, home: Option<&Path>) -> Output {
    let mut command = Command::new(workspace().join("packaging/advisories"));
    command.env("NODEWELL_ADVISORY_DB", database);
    let home = home.map_or_else(cargo_home, Path::to_owned);
    command.env("CARGO_HOME", home).output().unwrap()
}

fn both(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Two advisories: of a crate that is nowhere here, and of one that is, mended in `patched`.
fn database(patched: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (id, name, patched) in [("RUSTSEC-2000-0001", "made-up-crate", ""), ("RUSTSEC-2000-0002", CRATE, patched)] {
        let text = format!(
            "```toml\n[advisory]\nid = \"{id}\"\npackage = \"{name}\"\ndate = \"2000-01-01\"\n\n[versions]\n\
             patched = [{patched}]\n```\n\n# Made up for a test\n\nIt does not exist.\n"
        );
        fs::create_dir_all(folder.path().join("crates").join(name)).unwrap();
        fs::write(folder.path().join("crates").join(name).join(format!("{id}.md")), text).unwrap();
    }
    folder
}

#[test]
fn without_a_database_it_is_skipped_by_name() {
    let nowhere = tempfile::tempdir().unwrap();
    let output = advisories(&nowhere.path().join("none"), Some(nowhere.path()));
    assert!(output.status.success() && both(&output).starts_with("SKIP advisories: no database"), "{}", both(&output));
}

#[test]
fn an_advisory_of_a_crate_that_is_linked_fails() {
    if !can_run("an_advisory_of_a_crate_that_is_linked_fails") {
        return;
    }
    let output = advisories(database("").path(), None);
    let printed = both(&output);
    assert!(!output.status.success() && printed.contains("RUSTSEC-2000-0002"), "{printed}");
    assert!(!printed.contains("RUSTSEC-2000-0001"), "{printed}");
    let mended = advisories(database("\">= 0.0.1\"").path(), None);
    assert!(mended.status.success() && both(&mended).contains("none of 2 applies"), "{}", both(&mended));
}

/// cargo's copy of the index, but for what it has of one crate.
#[test]
fn a_yanked_crate_fails() {
    if !can_run("a_yanked_crate_fails") {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let registry = home.path().join("registry");
    fs::create_dir(&registry).unwrap();
    for part in ["cache", "src"] {
        symlink(cargo_home().join("registry").join(part), registry.join(part)).unwrap();
    }
    let copied = Command::new("cp").arg("-R").arg(cargo_home().join("registry/index")).arg(&registry).status().unwrap();
    assert!(copied.success());
    yank(&registry.join("index"));
    let output = advisories(database("\">= 0.0.1\"").path(), Some(home.path()));
    let printed = both(&output);
    assert!(!output.status.success() && printed.contains("detected yanked crate"), "{printed}");
    assert!(printed.contains(&format!("cargo update -p {CRATE}")), "{printed}");
}

/// A cargo-deny that finds nothing, and reports this of the index.
fn advisories_by_a_double(warning: &str) -> Output {
    let tools = tempfile::tempdir().unwrap();
    write_program(&tools.path().join("cargo-deny"), 0o755, &format!("#!/bin/sh\necho '{warning}' >&2\n"));
    let path =
        env::join_paths([tools.path().to_owned()].into_iter().chain(env::split_paths(&env::var_os("PATH").unwrap())));
    let mut command = Command::new(workspace().join("packaging/advisories"));
    let database = database("");
    command.env("NODEWELL_ADVISORY_DB", database.path()).env("PATH", path.unwrap()).output().unwrap()
}

#[test]
fn what_is_not_known_of_yanked_crates_is_not_said_of_them() {
    let known = both(&advisories_by_a_double(""));
    assert!(known.contains("none of 2 applies, and no crate was yanked (") && !known.contains("SKIP"), "{known}");
    let unknown = both(&advisories_by_a_double("warning[index-failure]: unable to check for yanked crates"));
    assert!(unknown.contains("SKIP advisories/yanked: ") && unknown.contains("none of 2 applies ("), "{unknown}");
    assert!(!unknown.contains("no crate was yanked"), "{unknown}");
}

/// As long as it was: the index' files are found by their bytes.
fn yank(index: &Path) {
    let entries = fs::read_dir(index).unwrap().map(|entry| entry.unwrap().path().join(".cache/ri/ng").join(CRATE));
    let file = entries.into_iter().find(|file| file.is_file()).unwrap();
    let text = fs::read(&file).unwrap();
    let of_version = |entry: &[u8]| {
        let text = String::from_utf8_lossy(entry).replace("\"yanked\": false", "\"yanked\": true ");
        text.replace("\"yanked\":false", "\"yanked\":true ").into_bytes()
    };
    let entries = text
        .split(|byte| *byte == 0)
        .map(|entry| if entry.starts_with(b"{") { of_version(entry) } else { entry.to_vec() });
    fs::write(&file, entries.collect::<Vec<_>>().join(&0)).unwrap();
}
