//! `make run` on a cold machine: its first line says what is being built and how long that takes, before the compiler's
//! own; or that cargo is too old.

#![allow(clippy::unwrap_used)]

use std::{fs, path::Path, process::Command};

use nodewell_kit::write_program;
use tempfile::TempDir;

const FIRST: &str = "Building nodewell; the first build takes some four minutes on two cores.";
const CARGO: &str = "#!/bin/sh
if [ \"$1\" = --version ]; then echo 'cargo 1.100.0 (0123456789 2026-11-21)'; else echo '   Compiling nodewell' >&2; fi
";
const OLD_CARGO: &str = "#!/bin/sh\necho 'cargo 1.63.0'\n";
const RUN: &str = "#!/bin/sh\necho 'it runs' >&2\n";

/// The Makefile as it is, with a compiler and a program that only say so.
fn tree() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for file in ["Makefile", "Cargo.toml"] {
        fs::copy(workspace.join(file), folder.path().join(file)).unwrap();
    }
    fs::create_dir_all(folder.path().join("packaging")).unwrap();
    write_program(&folder.path().join("packaging/run"), 0o755, RUN);
    write_program(&folder.path().join("cargo"), 0o755, CARGO);
    folder
}

/// Whether it worked, and what a person sees, line by line.
fn run(tree: &TempDir) -> (bool, Vec<String>) {
    let mut command = Command::new("make");
    // These tests may be a make's own.
    command.env_remove("MAKEFLAGS").env_remove("MAKELEVEL").env_remove("MFLAGS").current_dir(tree.path());
    let cargo = format!("CARGO={}", tree.path().join("cargo").display());
    let output = command.args(["run", cargo.as_str()]).output().unwrap();
    let printed = String::from_utf8(output.stderr).unwrap();
    assert!(output.stdout.is_empty(), "{printed}");
    (output.status.success(), printed.lines().map(str::to_owned).collect())
}

fn lines(lines: &[&str]) -> (bool, Vec<String>) {
    (true, lines.iter().map(|line| (*line).to_owned()).collect())
}

#[test]
fn the_first_line_of_a_cold_machine_says_what_is_built_and_how_long_it_takes() {
    let tree = tree();
    assert_eq!(run(&tree), lines(&[FIRST, "   Compiling nodewell", "it runs"]));
    fs::create_dir_all(tree.path().join("target/debug")).unwrap();
    write_program(&tree.path().join("target/debug/nodewelld"), 0o755, RUN);
    assert_eq!(run(&tree), lines(&["   Compiling nodewell", "it runs"]), "it was built before");
}

#[test]
fn a_cargo_that_is_too_old_is_named_with_what_is_needed() {
    let tree = tree();
    write_program(&tree.path().join("cargo"), 0o755, OLD_CARGO);
    let (worked, printed) = run(&tree);
    let expected = concat!("cargo is 1.63.0, and nodewell needs Rust ", env!("CARGO_PKG_RUST_VERSION"), ": ");
    assert!(!worked && printed[0].starts_with(expected), "{printed:?}");
}
