//! `run`: the controller itself.

use clap::Args;

use super::{Acting, CommandError, Global};
use crate::daemon;

/// Run the controller; this is what it does without a command.
#[derive(Debug, Args, Default)]
#[command(after_help = EXAMPLES)]
pub(super) struct Run {
    #[command(flatten)]
    pub(super) acting: Acting,
}

const EXAMPLES: &str = "\
Examples:
  nodewell-controller run --dry-run          watch and report what would be done
  nodewell-controller run --no-dry-run       act where policies are Enforce
  nodewell-controller run --kubeconfig /etc/nodewell/controller.kubeconfig

Several may run; one of them leads. Exit codes: 0 it was asked to stop; 70 it
cannot run; 78 errors in the configuration.";

impl Run {
    pub(super) async fn run(self, global: &Global) -> Result<(), CommandError> {
        let config = global.config()?;
        nodewell_journal::init("nodewell-controller", &config.log_level);
        daemon::run(config).await.map_err(|fatal| {
            daemon::failed(&fatal);
            fatal.into()
        })
    }
}
