//! The command line of `nodewelld`.

use clap::Parser;

use crate::config::Flags;

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
#[command(name = "nodewelld", version, after_help = EXAMPLES)]
pub struct CommandLine {
    #[command(flatten)]
    pub flags: Flags,
}
