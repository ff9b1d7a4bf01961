//! cargo, run by a test.

use std::{env, ffi::OsStr, path::Path, process::Command};

/// What `cargo test` sets for the tests of a package.
const OF_A_PACKAGE: [&str; 4] = ["CARGO_MANIFEST_", "CARGO_PKG_", "CARGO_CRATE_", "CARGO_BIN_"];

/// cargo in the workspace of `folder`.
#[must_use]
pub fn cargo(folder: &Path) -> Command {
    calling_cargo(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()), folder)
}

/// `program`, which calls cargo, in the environment in which a person runs it. Build scripts that depend on
/// `CARGO_MANIFEST_DIR` or the like (ring's) would run again with those of the test, and all that depends on them be
/// compiled again, now and at the next command.
#[must_use]
pub fn calling_cargo(program: impl AsRef<OsStr>, folder: &Path) -> Command {
    let mut command = Command::new(program);
    let names = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    for name in names.filter(|name| OF_A_PACKAGE.iter().any(|prefix| name.starts_with(prefix))) {
        command.env_remove(name);
    }
    command.current_dir(folder);
    command
}
