//! The command line of `nodewelld`: the agent, or one of its helpers.

use clap::{Parser, Subcommand};

use crate::{
    check_process::{MonitorFlags, WorkerFlags},
    config::Flags,
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

Exit codes: 0 stopped when asked; 64 wrong usage; 70 a fault of ours; 78 an error in the configuration.
SIGHUP reloads the rules; SIGTERM and SIGINT stop.";

/// The node health agent: reads this machine's logs, tracks its health, and reports it to Kubernetes.
#[derive(Debug, Clone, Default, Parser)]
#[command(name = "nodewelld", version, after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub struct CommandLine {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub flags: Flags,
}

/// What `nodewelld` can be besides the agent.
#[derive(Debug, Clone, Subcommand)]
pub enum Command {
    /// Run a group of monitors in this process; they report to the agent over its socket
    Monitor(Box<MonitorFlags>),
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
