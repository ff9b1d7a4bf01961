//! The programs under test, and runs of `nodewell` to their end.

use std::{
    env,
    ffi::OsStr,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::OnceLock,
};

use serde_json::Value;

/// How a run of `nodewell` ended.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Outcome {
    fn from(output: Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        // A signal is no exit code.
        Self { code: output.status.code().unwrap_or(-1), stdout: text(&output.stdout), stderr: text(&output.stderr) }
    }
}

impl Outcome {
    /// Its output as one JSON value.
    ///
    /// # Panics
    /// If it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    /// Its output as JSON values, one a line.
    ///
    /// # Panics
    /// If a line is none.
    #[must_use]
    pub fn json_lines(&self) -> Vec<Value> {
        let parse = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line:?}"));
        self.stdout.lines().map(parse).collect()
    }
}

/// Runs `nodewell` with `args`.
///
/// # Panics
/// If it cannot be run.
#[must_use]
pub fn nodewell<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Outcome {
    run(Command::new(binary("nodewell")).args(args))
}

/// Runs `nodewelld` with `args`, for runs that are to end by themselves.
///
/// # Panics
/// If it cannot be run.
#[must_use]
pub fn nodewelld<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Outcome {
    run(Command::new(binary("nodewelld")).args(args))
}

/// Runs `nodewell-checks` with `args`, for runs that are to end by themselves.
///
/// # Panics
/// If it cannot be run.
#[must_use]
pub fn nodewell_checks<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Outcome {
    run(Command::new(binary("nodewell-checks")).args(args))
}

fn run(command: &mut Command) -> Outcome {
    command.stdin(Stdio::null()).output().unwrap().into()
}

/// One of the programs: in `NODEWELL_BIN_DIR`, or as cargo builds them.
///
/// # Panics
/// If it is not there.
#[must_use]
pub fn binary(name: &str) -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| env::var_os("NODEWELL_BIN_DIR").map_or_else(built, PathBuf::from));
    let path = folder.join(name);
    assert!(path.is_file(), "{} is not there; build it, or set NODEWELL_BIN_DIR", path.display());
    path
}

fn built() -> PathBuf {
    build(&["nodewelld", "nodewell-checks", "nodewell"])
}

/// Builds programs of the workspace; gives the folder that they are in. cargo builds a package's own programs before
/// its tests, but these are another package's: a stale one would be tested.
///
/// # Panics
/// If they do not build.
#[must_use]
pub fn build(programs: &[&str]) -> PathBuf {
    let own = env::current_exe().unwrap();
    let folder = own.ancestors().nth(2).expect("a test binary lies in target/PROFILE/deps").to_owned();
    if env::var_os("CARGO").is_some() {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let mut command = nodewell_kit::cargo(workspace);
        // With the features of the whole workspace, as make builds them.
        command.args(["build", "--quiet", "--workspace"]).args(programs.iter().flat_map(|name| ["--bin", name]));
        command.args(folder.ends_with("release").then_some("--release"));
        let status = command.status().unwrap();
        assert!(status.success(), "{} does not build", programs.join(" or "));
    }
    folder
}
