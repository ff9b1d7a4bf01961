//! The command line of `nodewelld`, as a table of its flags. The agent reads it by clap's lexer: it is kept in memory
//! whole, and all of clap would be much for a few flags. What makes man pages and completions has a clap command of it.

mod flag;
mod help;
mod read;
#[cfg(test)]
mod tests;

use crate::config::{Flags, node_name};
use flag::Flag;

pub use read::{Instead, read};

const NAME: &str = "nodewelld";
const VERSION: &str = env!("CARGO_PKG_VERSION");
const ABOUT: &str = "The node health agent: reads this machine's logs, tracks its health, and reports it to Kubernetes";
const EXAMPLES: &str = "\
Examples:
  nodewelld --standalone                     watch this machine, report on the socket only
  nodewelld --kubeconfig /etc/kubernetes/kubelet.conf
                                             keep this node's conditions and events true
  nodewelld --npd-config kernel-monitor.json run Node Problem Detector's file beside the shipped rules

Exit codes: 0 stopped when asked; 64 wrong usage; 70 a fault of ours; 78 an error in the configuration.
SIGHUP reloads the rules; SIGTERM and SIGINT stop.";

/// In the order of the help.
const FLAGS: &[Flag] = &[
    Flag::path(
        "config",
        "FILE",
        "The config file [default: /etc/nodewell/nodewell.toml, if it exists]; FILE.d/*.toml is read after it",
        |flags| &mut flags.config,
    ),
    Flag::switch("standalone", "Do not talk to any API server", |flags| &mut flags.standalone),
    Flag::text(
        "node-name",
        "NAME",
        "This node's name [default: $NODE_NAME, else the host name in lower case]",
        |flags, name| node_name::parse(name).map(|name| flags.node_name = Some(name)),
    ),
    Flag::path("kubeconfig", "FILE", "How to reach the API server, and as which user", |flags| &mut flags.kubeconfig),
    Flag::path("socket", "PATH", "The local socket [default: /run/nodewell/nodewell.sock]", |flags| &mut flags.socket),
    Flag::path(
        "state-dir",
        "DIR",
        "Where state is stored [default: $STATE_DIRECTORY, else /var/lib/nodewell if it can be written, else nowhere]",
        |flags| &mut flags.state_dir,
    ),
    Flag::text(
        "metrics-address",
        "ADDR",
        "Where Prometheus finds /metrics, or \"off\" [default: 127.0.0.1:20259]",
        |flags, address| address.parse().map(|address| flags.metrics_address = Some(address)),
    ),
    Flag::paths(
        "rules",
        "DIR",
        "A folder of rule files; replaces the shipped rules and /etc/nodewell/rules.d. May be given several times",
        |flags| &mut flags.rules,
    ),
    Flag::paths(
        "npd-config",
        "FILE",
        "A Node Problem Detector config to load as well. May be given several times",
        |flags| &mut flags.npd_config,
    ),
    Flag::path("kmsg", "PATH", "The kernel log [default: /dev/kmsg]", |flags| &mut flags.kmsg),
    Flag::text("parent", "PID", "End with this process, which started us", parent).hidden(),
    Flag::path("releases-of", "PATH", "Devices are released beside this socket, not beside ours", |flags| {
        &mut flags.releases_of
    })
    .hidden(),
];

fn parent(flags: &mut Flags, pid: &str) -> Result<(), String> {
    flags.parent = Some(pid.parse::<i32>().map_err(|error| error.to_string())?);
    Ok(())
}

/// The same for what makes man pages and completions.
#[must_use]
pub fn command() -> clap::Command {
    let flags = FLAGS.iter().map(Flag::described);
    clap::Command::new(NAME).version(VERSION).about(ABOUT).after_help(EXAMPLES).args(flags)
}
