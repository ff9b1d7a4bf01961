//! What a run is made with: the commit, and the machine.

use std::{
    fmt, fs,
    num::NonZero,
    process::{Command, Stdio},
    thread,
};

const WORKSPACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Figures of two runs are compared by it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// With `-dirty` where files differ from it.
    pub commit: String,
    pub cores: usize,
    /// Its version.
    pub kernel: String,
}

impl Setting {
    pub(super) fn here() -> Self {
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        Self {
            commit: commit().unwrap_or_else(|| "unknown".to_owned()),
            cores: thread::available_parallelism().map_or(1, NonZero::get),
            kernel: kernel.trim().to_owned(),
        }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { commit, cores, kernel } = self;
        write!(f, "commit {commit}, {cores} cores, kernel {kernel}")
    }
}

fn commit() -> Option<String> {
    let head = git(&["rev-parse", "--short", "HEAD"])?;
    let is_dirty = !git(&["status", "--porcelain"])?.is_empty();
    Some(if is_dirty { head + "-dirty" } else { head })
}

/// What it printed. Root asks: the tree may be another user's, and no file of it is to become root's.
fn git(args: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    command.args(["--no-optional-locks", "-c", "safe.directory=*", "-C", WORKSPACE]).args(args);
    let output = command.stdin(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
