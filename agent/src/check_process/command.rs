//! The command line of `nodewell-checks`.

use clap::{Parser, Subcommand};
use nodewell_checks::systemd::SYSTEM_BUS;

use super::flags::{RunFlags, WorkerFlags};
use crate::repair::RepairFlags;

const EXAMPLES: &str = "\
Examples:
  nodewell-checks run disk                   what nodewell-disk.service runs: ask disks how they are
  nodewell-checks repair --dry-run           what the repairs of [repair] would do now

Exit codes: 0 stopped when asked; 64 wrong usage; 70 a fault of ours; 78 an error in the configuration.";

/// What the node health agent does beside its core: asks devices, runs plug-ins, restarts units.
#[derive(Debug, Clone, Parser)]
#[command(name = "nodewell-checks", version, after_help = EXAMPLES, disable_help_subcommand = true)]
pub struct ChecksCommandLine {
    #[command(subcommand)]
    pub command: ChecksCommand,
}

/// What a process of `nodewell-checks` can be.
#[derive(Debug, Clone, Subcommand)]
pub enum ChecksCommand {
    /// Run a group of checks; they report to the agent over its socket
    Run(Box<RunFlags>),
    /// Call devices for a check process, which starts it; a call may never return
    #[command(hide = true)]
    Worker(WorkerFlags),
    /// Print `yes` if the whole system shuts down, else `no`; the agent asks when it is stopped
    #[command(hide = true)]
    SystemStops {
        /// Where systemd is asked
        #[arg(long, value_name = "ADDRESS", default_value = SYSTEM_BUS)]
        bus: String,
    },
    /// Make the device through which RAID cards are asked, which the kernel makes not by itself; runs as root
    #[command(hide = true)]
    RaidNode,
    /// Make the service's cgroup one that systemd can start it in again, after its main process was killed
    #[command(hide = true)]
    UndivideCgroup,
    /// Restart units of a fixed list while they are broken, and not too often; off unless configured, runs as root
    Repair(RepairFlags),
}
