//! The flags of `nodewelld`. Each has a key of the same name in the config file, but for those that only `nodewell
//! scan` sets.

use std::path::PathBuf;

use clap::Args;

use super::{Config, MetricsAddress, node_name};

// Not a doc comment: that would be the description of the command that has these flags.
#[derive(Debug, Clone, Default, Args)]
pub struct Flags {
    /// The config file [default: /etc/nodewell/nodewell.toml, if it exists]; FILE.d/*.toml is read after it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Do not talk to any API server
    #[arg(long)]
    pub standalone: bool,
    /// This node's name [default: $NODE_NAME, else the host name in lower case]
    #[arg(long, value_name = "NAME", value_parser = node_name::parse)]
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
    /// Where Prometheus finds /metrics, or "off" [default: 127.0.0.1:20259]
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
    /// End with this process, which started us
    #[arg(long, value_name = "PID", hide = true)]
    pub parent: Option<i32>,
    /// Devices are released beside this socket, not beside ours
    #[arg(long, value_name = "PATH", hide = true)]
    pub releases_of: Option<PathBuf>,
}

impl Flags {
    /// Sets what they name.
    pub(super) fn apply(&self, config: &mut Config) {
        let replace = |paths: &mut Vec<PathBuf>, given: &[PathBuf]| {
            if !given.is_empty() {
                *paths = given.to_vec();
            }
        };
        config.standalone |= self.standalone;
        config.named = self.node_name.clone().or(config.named.take());
        config.kubeconfig = self.kubeconfig.clone().or(config.kubeconfig.take());
        config.state_dir = self.state_dir.clone().or(config.state_dir.take());
        config.metrics_address = self.metrics_address.unwrap_or(config.metrics_address);
        replace(&mut config.rules, &self.rules);
        replace(&mut config.npd_config, &self.npd_config);
        if let Some(path) = &self.socket {
            config.socket.path.clone_from(path);
        }
        if let Some(path) = &self.kmsg {
            config.kmsg.path.clone_from(path);
        }
    }
}
