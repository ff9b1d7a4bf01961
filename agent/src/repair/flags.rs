//! The command line of `nodewell-checks repair`.

use std::path::PathBuf;

use clap::Args;

const EXAMPLES: &str = "\
Examples:
  nodewell-checks repair                           what nodewell-repair.service runs, as root
  nodewell-checks repair --dry-run                 what would be done now, and why not; nothing is done

It does nothing unless the configuration says `[repair] enabled = true`, and touches no unit but those it lists there.

Exit codes: 0 stopped when asked; 64 wrong usage; 70 a fault of ours; 78 an error in the configuration.";

/// Which configuration, and where the agent is.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct RepairFlags {
    /// The config file, for [repair] and the agent's socket [default: /etc/nodewell/nodewell.toml, if it exists]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The agent's socket [default: the config's, else /run/nodewell/nodewell.sock]
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// Where repairs are counted, and what was collected before each [default: $STATE_DIRECTORY]
    #[arg(long, value_name = "DIR")]
    pub state_dir: Option<PathBuf>,
    /// Print what would be done now, for each unit, and do nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Another system bus: for tests
    #[arg(long, value_name = "ADDRESS", hide = true)]
    pub bus: Option<String>,
    /// Another journal: for tests
    #[arg(long, value_name = "DIR", hide = true)]
    pub journal: Option<PathBuf>,
}
