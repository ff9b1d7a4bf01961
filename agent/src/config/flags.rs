//! The flags of `nodewelld`. Each has a key of the same name in the config file.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::{
    check_process::{MonitorFlags, WorkerFlags},
    config::settings::{MetricsAddress, Settings, SocketSettings},
    identity::IdentityFlags,
    pstore_collector::PstoreCollectorFlags,
    repair::RepairFlags,
};

const EXAMPLES: &str = "\
Examples:
  nodewelld --standalone                     watch this machine, report on the socket only
  nodewelld --kubeconfig /etc/kubernetes/kubelet.conf
                                             keep this node's conditions and events true
  nodewelld --npd-config kernel-monitor.json run Node Problem Detector's file beside the shipped rules

Exit codes: 0 stopped when asked; 64 wrong usage; 70 a fault of ours; 78 a mistake in the configuration.
SIGHUP reloads the rules; SIGTERM and SIGINT stop.";

/// The node health agent: reads this machine's logs, tracks its health, and reports it to Kubernetes.
#[derive(Debug, Clone, Default, Parser)]
#[command(name = "nodewelld", version, after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub struct Flags {
    #[command(subcommand)]
    pub command: Option<Command>,
    /// The config file [default: /etc/nodewell/nodewell.toml, if it exists]; FILE.d/*.toml is read after it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Do not talk to any API server
    #[arg(long)]
    pub standalone: bool,
    /// This node's name [default: $NODE_NAME, else the host name in lower case]
    #[arg(long, value_name = "NAME")]
    pub node_name: Option<String>,
    /// How to reach the API server, and as which user
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The local socket [default: /run/nodewell/nodewell.sock]
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// Where state is stored [default: $STATE_DIRECTORY, else /var/lib/nodewell if it can be written, else nowhere]
    #[arg(long, value_name = "DIR")]
    pub state_dir: Option<PathBuf>,
    /// Where Prometheus finds /metrics, or "off" [default: 127.0.0.1:20257]
    #[arg(long, value_name = "ADDR")]
    pub metrics_address: Option<MetricsAddress>,
    /// A folder of rule files; replaces the shipped rules and /etc/nodewell/rules.d. May be given several times
    #[arg(long, value_name = "DIR")]
    pub rules: Vec<PathBuf>,
    /// A Node Problem Detector config to load as well. May be given several times
    #[arg(long, value_name = "FILE")]
    pub npd_config: Vec<PathBuf>,
    /// The kernel log [default: /dev/kmsg]
    #[arg(long, value_name = "PATH")]
    pub kmsg: Option<PathBuf>,
}

/// What `nodewelld` can be besides the agent.
#[derive(Debug, Clone, Subcommand)]
pub enum Command {
    /// Run a group of monitors in this process; they report to the agent over its socket
    Monitor(MonitorFlags),
    /// Call devices for a check process, which starts it; a call may never return
    #[command(hide = true)]
    Worker(WorkerFlags),
    /// Copy what the last boot's kernel left in pstore to where the agent may read it; runs as root
    CollectPstore(PstoreCollectorFlags),
    /// Find or renew this node's credentials and hand them to the agent; done by root, to the end
    Identity(IdentityFlags),
    /// Restart units of a fixed list while they are broken, and not too often; off unless configured, runs as root
    Repair(RepairFlags),
}

impl Flags {
    /// The flags of the command line, as settings.
    #[must_use]
    pub fn settings(&self) -> Settings {
        let said = |paths: &[PathBuf]| (!paths.is_empty()).then(|| paths.to_vec());
        Settings {
            node_name: self.node_name.clone(),
            standalone: self.standalone.then_some(true),
            kubeconfig: self.kubeconfig.clone(),
            socket: SocketSettings { path: self.socket.clone(), ..SocketSettings::default() },
            state_dir: self.state_dir.clone(),
            metrics_address: self.metrics_address,
            rules: said(&self.rules),
            npd_config: said(&self.npd_config),
            kmsg_path: self.kmsg.clone(),
            ..Settings::default()
        }
    }
}
