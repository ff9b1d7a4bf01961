//! `run`: the controller itself.

use clap::Args;

use super::{Failure, Global};
use crate::{daemon, logging};

/// Run the controller; this is what it does without a command.
#[derive(Debug, Args, Default)]
#[command(after_help = EXAMPLES)]
pub(super) struct Run {}

const EXAMPLES: &str = "\
Examples:
  nodewell-controller run --dry-run          watch and say what would be done
  nodewell-controller run --no-dry-run --kubeconfig /etc/nodewell/controller.kubeconfig

Several may run; one of them leads.";

impl Run {
    pub(super) async fn run(self, global: &Global) -> Result<(), Failure> {
        let config = global.config()?;
        logging::init(&config.log_level);
        Ok(daemon::run(config).await?)
    }
}
