//! The command lines of `nodewell-checks run NAME` and `nodewell-checks worker`.

use std::{path::PathBuf, time::Duration};

use clap::{
    Args, ValueEnum,
    builder::{PossibleValuesParser, TypedValueParser},
};
use nodewell_checks::{WorkerGroup, probe::Roots};
use nodewell_settings::duration;

use crate::config::Flags;

const EXAMPLES: &str = "\
Examples:
  nodewell-checks run check                  look after the host: filesystems, limits, services, plug-ins
  nodewell-checks run disk                   ask disks how they are; as root, or with the unit's capabilities
  nodewell-checks run check --socket /tmp/nodewell.sock
                                             for an agent that listens elsewhere

It waits for the agent however long that is away. Under systemd it is nodewell-NAME.service; without, the agent
starts it by itself (`check-processes` in nodewell.toml).

Exit codes: 0 stopped when asked; 64 wrong usage; 70 a fault of ours; 78 an error in the configuration.";

/// Which check process to run, and where the agent is.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct RunFlags {
    /// The group of checks
    #[arg(value_name = "NAME")]
    pub group: Group,
    /// The config file, for the agent's socket and the parts [disk], [gpu] and so on [default:
    /// /etc/nodewell/nodewell.toml, if it exists]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The agent's socket [default: the config's, else /run/nodewell/nodewell.sock]
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// Where it stores what has to outlive a restart [default: $STATE_DIRECTORY, else nowhere]
    #[arg(long, value_name = "DIR")]
    pub state_dir: Option<PathBuf>,
    /// A folder of rule files, as set for the agent; their plug-ins are run by `check`
    #[arg(long, value_name = "DIR")]
    pub rules: Vec<PathBuf>,
    /// A Node Problem Detector config, as set for the agent; its plug-ins are run by `check`
    #[arg(long, value_name = "FILE")]
    pub npd_config: Vec<PathBuf>,
    /// This node's name, as set for the agent
    #[arg(long, value_name = "NAME")]
    pub node_name: Option<String>,
    #[command(flatten)]
    pub test_flags: TestFlags,
    /// End with this process, which started us
    #[arg(long, value_name = "PID", hide = true)]
    pub parent: Option<i32>,
    /// Devices are released beside this socket, not beside the agent's
    #[arg(long, value_name = "PATH", hide = true)]
    pub releases_of: Option<PathBuf>,
}

impl RunFlags {
    /// The flags that the agent has too, as it was given them.
    #[must_use]
    pub fn as_the_agent(&self) -> Flags {
        Flags {
            config: self.config.clone(),
            rules: self.rules.clone(),
            npd_config: self.npd_config.clone(),
            node_name: self.node_name.clone(),
            ..Flags::default()
        }
    }
}

/// Another machine than the one we are on, and another timing: for tests.
#[derive(Debug, Clone, Default, Args)]
pub struct TestFlags {
    #[arg(long, value_name = "DIR", hide = true)]
    pub proc: Option<PathBuf>,
    #[arg(long, value_name = "DIR", hide = true)]
    pub sys: Option<PathBuf>,
    #[arg(long, value_name = "DIR", hide = true)]
    pub dev: Option<PathBuf>,
    #[arg(long, value_name = "DIR", hide = true)]
    pub run: Option<PathBuf>,
    #[arg(long, value_name = "DIR", hide = true)]
    pub tracing: Option<PathBuf>,
    /// Between two rounds of any check
    #[arg(long, value_name = "TIME", hide = true, value_parser = duration::parse)]
    pub interval: Option<Duration>,
    /// For one device of any check
    #[arg(long, value_name = "TIME", hide = true, value_parser = duration::parse)]
    pub deadline: Option<Duration>,
}

impl TestFlags {
    /// Where the readers look.
    #[must_use]
    pub fn roots(&self) -> Roots {
        let usual = Roots::default();
        let or = |given: &Option<PathBuf>, usual| given.clone().unwrap_or(usual);
        Roots {
            proc: or(&self.proc, usual.proc),
            sys: or(&self.sys, usual.sys),
            dev: or(&self.dev, usual.dev),
            run: or(&self.run, usual.run),
            tracing: or(&self.tracing, usual.tracing),
        }
    }
}

/// One check process: checks that share a process because they share privileges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Group {
    /// What has to be read outside the agent's sandbox: writes to filesystems, memory, CPUs, PCI
    /// Express, fabrics
    Check,
    /// Disks and arrays: SMART, NVMe
    Disk,
    /// GPUs
    Gpu,
}

impl Group {
    /// Its name on the command line and in unit names, and the name under which it reports (`source`).
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Check => "check",
            Self::Disk => "disk",
            Self::Gpu => "gpu",
        }
    }

    /// The worker group of the same name.
    #[must_use]
    pub fn worker_group(self) -> WorkerGroup {
        match self {
            Self::Check => WorkerGroup::Check,
            Self::Disk => WorkerGroup::Disk,
            Self::Gpu => WorkerGroup::Gpu,
        }
    }

    /// The one whose devices a worker of `worker_group` reads.
    pub(super) fn of(worker_group: WorkerGroup) -> Option<Self> {
        Self::value_variants().iter().copied().find(|group| group.worker_group() == worker_group)
    }

    /// The group of mounts, which has a worker of its own.
    #[must_use]
    pub fn mounts_group(self) -> Option<WorkerGroup> {
        (self == Self::Check).then_some(WorkerGroup::Mounts)
    }
}

/// The command line of `nodewell-checks worker GROUP`.
#[derive(Debug, Clone, Args)]
pub struct WorkerFlags {
    /// The worker group, for people who look at processes
    #[arg(value_parser = worker_groups())]
    pub worker_group: WorkerGroup,
    /// End with this process, which started us
    #[arg(long, value_name = "PID")]
    pub parent: i32,
    /// The socket beside which its devices are released
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
}

fn worker_groups() -> impl TypedValueParser<Value = WorkerGroup> {
    let names = PossibleValuesParser::new(WorkerGroup::ALL.map(WorkerGroup::as_str));
    names.try_map(|name| WorkerGroup::named(&name).ok_or("there is no such group"))
}
