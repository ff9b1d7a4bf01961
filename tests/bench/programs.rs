//! Which programs are measured: those that packages ship.

use std::{
    env,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::Command,
};

const VARIABLE: &str = "NODEWELL_BIN_DIR";

/// The folder in which `make bench` builds.
fn folder() -> PathBuf {
    env::var_os(VARIABLE).map_or_else(built, PathBuf::from)
}

fn built() -> PathBuf {
    let own = env::current_exe().unwrap_or_default();
    own.parent().and_then(Path::parent).map(|target| target.join("dist")).unwrap_or_default()
}

pub(crate) fn path(name: &str) -> PathBuf {
    folder().join(name)
}

/// Why there is nothing to measure.
pub(crate) fn unmet() -> Option<String> {
    let missing = ["nodewelld", "nodewell-checks", "nodewell", "nodewell-controller"]
        .map(path)
        .into_iter()
        .find(|path| !path.is_file())?;
    Some(format!("{} is not there: run `make bench`, or set {VARIABLE}", missing.display()))
}

/// The harness takes the folder from the environment, which only a new process image can be given.
pub(crate) fn answer_harness() {
    if env::var_os(VARIABLE).is_none() {
        let own = env::current_exe().unwrap_or_default();
        let error = Command::new(own).args(env::args_os().skip(1)).env(VARIABLE, built()).exec();
        eprintln!("bench: cannot start again with {VARIABLE}: {error}");
    }
}
