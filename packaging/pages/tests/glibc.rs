//! `packaging/glibc` looks at every program that it is given.

#![allow(clippy::unwrap_used)]

use std::{path::Path, process::Command};

/// The program under test itself: it needs some glibc, and surely not one of the future.
#[test]
fn a_program_that_needs_a_newer_glibc_fails_wherever_it_stands() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../glibc");
    let program = std::env::current_exe().unwrap();
    let check = |limit: &str| Command::new(&script).arg(limit).args([&program, &program]).output().unwrap();
    let fine = check("9.99");
    assert!(fine.status.success());
    assert_eq!(String::from_utf8_lossy(&fine.stdout).matches("needs glibc").count(), 2);
    let old = check("2.0");
    assert!(!old.status.success() && String::from_utf8_lossy(&old.stderr).contains("may need 2.0 at most"));
}
