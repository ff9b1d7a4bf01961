//! `exec`: runs a command in a machine, in place of this process.

use std::{os::unix::process::CommandExt, process::Command};

use clap::Args;

use super::{Failure, request};

#[derive(Debug, Args)]
pub(super) struct Exec {
    /// w1, c1, …
    #[arg(value_name = "MACHINE")]
    name: String,
    /// The command and its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    command: Vec<String>,
}

impl Exec {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let leader = request::ask("leader", &self.name)?;
        let mut command = Command::new("nsenter");
        command.args(["--all", "--target", &leader, "--"]).args(&self.command);
        command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        Err(Failure::Failed(format!("nsenter: {}", command.exec())))
    }
}
