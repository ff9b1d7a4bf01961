//! Starting a program. Its file may lie on a disk that does not answer: this runs on a thread of its own.

use std::{
    os::fd::OwnedFd,
    path::PathBuf,
    process::{Command, Stdio},
};

use nodewell_checks::plugin::{Program, RunEnd};
use nodewell_sys::contain::{Containment, Rlimits, contain};
use tokio::process::Child;

/// All that a start needs.
pub(super) struct Start {
    pub(super) path: PathBuf,
    pub(super) args: Vec<String>,
    pub(super) environment: Vec<(&'static str, String)>,
    pub(super) rlimits: Rlimits,
    /// The entrance of its cgroup.
    pub(super) cgroup: Option<OwnedFd>,
}

impl Start {
    /// The program at work, or why it is not. Must be called within a runtime.
    pub(super) fn run(self) -> Result<Child, RunEnd> {
        let program = Program::open(&self.path).map_err(|refused| RunEnd::Refused(refused.to_string()))?;
        let mut command = Command::new(program.executable());
        std::os::unix::process::CommandExt::arg0(&mut command, &self.path);
        command.args(&self.args).env_clear().envs(self.environment).current_dir("/");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        contain(&mut command, Containment { rlimits: self.rlimits, cgroup: self.cgroup });
        let child = tokio::process::Command::from(command).kill_on_drop(true).spawn();
        child.map_err(|error| RunEnd::NotStarted(error.to_string()))
    }
}
