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
    /// The command and its arguments; one word with spaces in it is a line for the machine's shell
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    command: Vec<String>,
}

impl Exec {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let leader = request::ask("leader", &self.name)?;
        let leader: u32 = leader.parse().map_err(|_| format!("{leader:?} is no number of a process"))?;
        Err(Failure::Failed(format!("nsenter: {}", machine::as_root(leader, &argv(&self.command)).exec())))
    }
}

/// As ssh has it: what is one word and no program's name goes to a shell.
fn argv(command: &[String]) -> Vec<String> {
    match command {
        [line] if line.contains(char::is_whitespace) => ["sh", "-c", line].map(str::to_owned).to_vec(),
        words => words.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_the_shells_and_words_are_the_commands() {
        let argv = |words: &[&str]| argv(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        assert_eq!(argv(&["echo a=b > f"]), ["sh", "-c", "echo a=b > f"]);
        assert_eq!(argv(&["echo", "a=b c"]), ["echo", "a=b c"]);
        assert_eq!(argv(&["hostname"]), ["hostname"]);
    }
}
