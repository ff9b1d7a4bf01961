//! `nodewell completion`: what a shell needs to complete our command line.

use clap::Args;
use clap_complete::{Shell, generate};

use super::{error::CommandError, out::Out};

/// Print a shell's completions of this command; packages install them.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nodewell completion bash > ~/.local/share/bash-completion/completions/nodewell
  nodewell completion zsh > ~/.zfunc/_nodewell
  nodewell completion fish > ~/.config/fish/completions/nodewell.fish")]
pub(super) struct Completion {
    /// The shell.
    shell: Shell,
}

impl Completion {
    pub(super) fn run(self, out: &mut Out) -> Result<(), CommandError> {
        let mut script = Vec::new();
        generate(self.shell, &mut super::command(), "nodewell", &mut script);
        Ok(out.text(&String::from_utf8_lossy(&script))?)
    }
}
