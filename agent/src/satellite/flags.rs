//! The command line of `nodewelld monitor NAME`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

const EXAMPLES: &str = "\
Examples:
  nodewelld monitor check                    look after read-only filesystems and vanished devices
  nodewelld monitor check --socket /tmp/nodewell.sock
                                             for an agent that listens elsewhere

It waits for the agent however long that is away. Under systemd it is nodewell-NAME.service; without, the agent
starts it by itself (`satellites` in nodewell.toml).

Exit codes: 0 stopped when asked; 64 wrong usage; 69 this version has no such monitors yet; 70 a fault of ours;
78 a mistake in the configuration.";

/// What to run, and where the agent is.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct MonitorFlags {
    /// The group of monitors
    #[arg(value_name = "NAME")]
    pub group: Group,
    /// The config file, for the agent's socket [default: /etc/nodewell/nodewell.toml, if it exists]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The agent's socket; then no config file is read [default: /run/nodewell/nodewell.sock]
    #[arg(long, value_name = "PATH", conflicts_with = "config")]
    pub socket: Option<PathBuf>,
    /// End with this process, which started us
    #[arg(long, value_name = "PID", hide = true)]
    pub parent: Option<i32>,
}

/// Monitors that share a process because they share privileges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Group {
    /// Looks at the host that must be taken outside the agent's sandbox, such as a write to a filesystem
    Check,
    /// SMART, NVMe and arrays (not in this version)
    Disk,
    /// GPUs (not in this version)
    Gpu,
}

impl Group {
    /// Its name on the command line, in unit names and as a problem daemon.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Check => "check",
            Self::Disk => "disk",
            Self::Gpu => "gpu",
        }
    }

    /// What there is of it in this version; the error is for the person who asked.
    pub fn is_there(self) -> Result<(), NotYet> {
        if self == Self::Check { Ok(()) } else { Err(NotYet { group: self.as_str() }) }
    }
}

/// A group whose monitors come with a later version.
#[derive(Debug, thiserror::Error)]
#[error("the {group} monitors come with a later version: nothing was started. Leave nodewell-{group}.service disabled")]
pub struct NotYet {
    group: &'static str,
}
