//! `exec`: runs a command in a machine, in place of this process.

use std::os::unix::process::CommandExt;

use clap::Args;
use nodewell_tests::machine;

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
        let leader: u32 = leader.parse().map_err(|_| format!("{leader:?} is no number of a process"))?;
        Err(Failure::Failed(format!("nsenter: {}", machine::as_root(leader, &self.command).exec())))
    }
}
