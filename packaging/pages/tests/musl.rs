//! A build of the agent for musl ends with the reason. Without it there would be a program that finds neither the
//! journal nor GPUs, and that says so on a node alone.

#![allow(clippy::unwrap_used)]

use std::{env, path::Path, process::Command};

const MUSL: &str = "x86_64-unknown-linux-musl";
const REASON: &str = "is not built for musl";

fn rustc() -> Command {
    Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
}

/// What the compiler has against the crate that opens the libraries. No dependency is given to it: what it cannot find
/// it reports besides.
fn errors(target: &[&str]) -> String {
    let (folder, mut command) = (tempfile::tempdir().unwrap(), rustc());
    command.args(["--edition", "2024", "--crate-type", "lib", "--emit", "metadata", "--out-dir"]).arg(folder.path());
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../agent/sys/src/lib.rs");
    let output = command.args(target).arg(source).output().unwrap();
    assert!(!output.status.success(), "its dependencies were not there");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Whether the compiler has a standard library for musl.
fn is_installed() -> bool {
    let output = rustc().args(["--print", "target-libdir", "--target", MUSL]).output().unwrap();
    Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir()
}

#[test]
fn a_build_of_the_agent_for_musl_names_what_it_opens() {
    assert!(!errors(&[]).contains(REASON), "glibc is what it is built for");
    if !is_installed() {
        eprintln!("SKIP a_build_of_the_agent_for_musl_names_what_it_opens: needs `rustup target add {MUSL}`");
        return;
    }
    let errors = errors(&["--target", MUSL]);
    assert!([REASON, "libsystemd", "NVML", "glibc"].iter().all(|part| errors.contains(part)), "{errors}");
}
