//! `make run` on a cold machine: its first line says what is being built and how long that takes, before the compiler's
//! own.

#![allow(clippy::unwrap_used)]

use std::{fs, path::Path, process::Command};

use nodewell_kit::write_program;
use tempfile::TempDir;

const FIRST: &str = "Building nodewell; the first build takes some four minutes on two cores.";
const CARGO: &str = "#!/bin/sh\necho '   Compiling nodewell' >&2\n";
const RUN: &str = "#!/bin/sh\necho 'it runs' >&2\n";

/// The Makefile as it is, with a compiler and a program that only say so.
fn tree() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let makefile = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Makefile");
    fs::copy(makefile, folder.path().join("Makefile")).unwrap();
    fs::create_dir_all(folder.path().join("packaging")).unwrap();
    write_program(&folder.path().join("packaging/run"), 0o755, RUN);
    write_program(&folder.path().join("cargo"), 0o755, CARGO);
    folder
}

/// What a person sees, line by line.
fn run(tree: &TempDir) -> Vec<String> {
    let mut command = Command::new("make");
    // These tests may be a make's own.
    command.env_remove("MAKEFLAGS").env_remove("MAKELEVEL").env_remove("MFLAGS").current_dir(tree.path());
    let cargo = format!("CARGO={}", tree.path().join("cargo").display());
    let output = command.args(["run", cargo.as_str()]).output().unwrap();
    let printed = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && output.stdout.is_empty(), "{printed}");
    printed.lines().map(str::to_owned).collect()
}

#[test]
fn the_first_line_of_a_cold_machine_says_what_is_built_and_how_long_it_takes() {
    let tree = tree();
    assert_eq!(run(&tree), [FIRST, "   Compiling nodewell", "it runs"]);
    fs::create_dir_all(tree.path().join("target/debug")).unwrap();
    write_program(&tree.path().join("target/debug/nodewelld"), 0o755, RUN);
    assert_eq!(run(&tree), ["   Compiling nodewell", "it runs"], "it was built before");
}
