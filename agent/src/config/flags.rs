//! What the flags of `nodewelld` set ([`crate::command`] reads them). Each has a key of the same name in the config
//! file, but for those that only `nodewell scan` sets.

use std::path::PathBuf;

use super::{Config, MetricsAddress};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Flags {
    pub config: Option<PathBuf>,
    pub standalone: bool,
    pub node_name: Option<String>,
    pub kubeconfig: Option<PathBuf>,
    pub socket: Option<PathBuf>,
    pub state_dir: Option<PathBuf>,
    pub metrics_address: Option<MetricsAddress>,
    pub rules: Vec<PathBuf>,
    pub npd_config: Vec<PathBuf>,
    pub kmsg: Option<PathBuf>,
    /// The process with which this one ends.
    pub parent: Option<i32>,
    /// The socket beside which devices are released.
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
